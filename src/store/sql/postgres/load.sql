-- $1 destination, $2 shard, $3 outbox ids, $4 rows at most, $5 bytes of payload at most; how it is cut, see `fetch`
with mine as materialized (
    select
        owed.outbox_id, attempts, excused, key_epoch, due_at, owed_at, unknown_since, cancel_at, rendering,
        topic, row_key, row_version, generation, op, payload, headers, created_at,
        sum(pg_column_size(payload)) over (order by outbox_id) - pg_column_size(payload) as stored_before
    from unnest($3::bigint[]) as wanted (id)
    join aftercommit.owed on owed.destination = $1 and owed.outbox_id = wanted.id
    join aftercommit.outbox on outbox.id = wanted.id
    where owed.shard = $2
    order by owed.outbox_id
    limit $4
),
measured as materialized (
    select
        outbox_id, attempts, excused, key_epoch, due_at, owed_at, unknown_since, cancel_at, rendering,
        topic, row_key, row_version, generation, op, payload::text as payload, headers::text as headers, created_at,
        sum(octet_length(payload::text)) over (order by outbox_id) as bytes,
        row_number() over (order by outbox_id) as place
    from mine
    where stored_before < $5
)
select * from measured where bytes <= $5 or place = 1 order by outbox_id
