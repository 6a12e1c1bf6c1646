-- Outbox rows of a topic since a moment, each with the payload that its row had before.
-- $1 topic, $2 the last outbox id of that moment, $3 rows at most
select
    row_key, payload,
    (
        select earlier.payload
        from aftercommit.outbox as earlier
        where earlier.topic = outbox.topic and earlier.row_key = outbox.row_key and earlier.id < outbox.id
        order by earlier.id desc
        limit 1
    ) as payload_before
from aftercommit.outbox
where id > $2 and topic = $1
order by id
limit $3
