-- $1 destination, $2 shard, $3 of how many, $4 outbox ids, $5 rows at most, $6 bytes of payload at most
with mine as materialized (
    select owed.*
    from json_each($4) as wanted
    cross join owed on owed.destination = $1 and owed.outbox_id = wanted.value
    where owed.slot % $3 = $2
    order by owed.outbox_id
    limit $5
),
measured as materialized (
    select
        id,
        sum(octet_length(payload)) over (order by id) as bytes,
        row_number() over (order by id) as place
    from mine
    cross join outbox on outbox.id = mine.outbox_id
)
select
    mine.outbox_id, attempts, excused, key_epoch, due_at, owed_at, unknown_since, cancel_at, rendering,
    topic, row_key, row_version, generation, op, payload, headers, created_at
from measured
cross join mine on mine.outbox_id = measured.id
cross join outbox on outbox.id = measured.id
where bytes <= $6 or place = 1
order by mine.outbox_id
