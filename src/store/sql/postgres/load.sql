-- $1 destination, $2 shard, $3 of how many, $4 outbox ids, $5 rows at most, $6 bytes of payload at most
--
-- What `offset 0` is for, see `fetch`. Only ids and sizes are sorted; payloads are read of what comes along.
with mine as materialized (
    select owed.*, sum(payload_bytes) over (order by outbox_id rows unbounded preceding) as bytes, payload_bytes
    from unnest($4::bigint[]) as wanted (id)
    cross join lateral (
        select * from aftercommit.owed where destination = $1 and outbox_id = wanted.id and slot % $3 = $2 offset 0
    ) as owed
    cross join lateral (
        select payload_bytes from aftercommit.outbox where outbox.id = wanted.id offset 0
    ) as outbox
    order by outbox_id
    limit $5
)
select
    mine.outbox_id, attempts, excused, key_epoch, due_at, owed_at, unknown_since, cancel_at, rendering,
    topic, row_key, row_version, generation, op, payload, headers, created_at
from mine
cross join lateral (select * from aftercommit.outbox where outbox.id = mine.outbox_id offset 0) as outbox
where bytes <= $6 or bytes = mine.payload_bytes
order by mine.outbox_id
