-- $1 destination, $2 topic, $3 row key, $4 from this outbox id on, $5 ids at most
select version.id as outbox_id
from outbox as version
cross join owed on owed.destination = $1 and owed.outbox_id = version.id
where version.topic = $2 and version.row_key = $3 and version.id >= $4
order by version.id
limit $5
