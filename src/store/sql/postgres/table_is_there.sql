select to_regclass($1) is not null as is_there
