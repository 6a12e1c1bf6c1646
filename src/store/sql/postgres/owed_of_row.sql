-- $1 destination, $2 topic, $3 row key, $4 from this outbox id on, $5 ids at most. What `offset 0` is for, see `fetch`.
select version.id as outbox_id
from aftercommit.outbox as version
cross join lateral (
    select 1 from aftercommit.owed where destination = $1 and outbox_id = version.id offset 0
) as owed
where version.topic = $2 and version.row_key = $3 and version.id >= $4
order by version.id
limit $5
