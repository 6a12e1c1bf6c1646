select exists (select 1 from pragma_table_xinfo($1)) as is_there
