-- The source of a topic, and whether it is there now: what has been attached may have gone.
select relation, query is not null or exists (select 1 from pragma_table_xinfo(relation)) as is_there
from source
where topic = $1
