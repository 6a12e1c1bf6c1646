-- The source of a topic, and whether it is there now: what has been attached may have gone.
select relation, query is not null or to_regclass(relation) is not null as is_there
from aftercommit.source
where topic = $1
