-- How far a page may look: $2 entries from $1 down.
select min(id) as edge, count(*) as entries
from (select id from aftercommit.audit where id < $1 order by id desc limit $2) as looked_at
