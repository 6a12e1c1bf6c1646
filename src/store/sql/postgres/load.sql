-- $1 destination, $2 shard, $3 of how many, $4 outbox ids, $5 rows at most, $6 bytes of payload at most
--
-- How it is cut, and what `offset 0` is for, see `fetch`.
with mine as materialized (
    select
        owed.*, topic, row_key, row_version, generation, op, payload, headers, created_at,
        sum(pg_column_size(payload) - 4) over (order by outbox_id) - pg_column_size(payload) as stored_before
    from unnest($4::bigint[]) as wanted (id)
    cross join lateral (
        select * from aftercommit.owed where destination = $1 and outbox_id = wanted.id and slot % $3 = $2 offset 0
    ) as owed
    cross join lateral (select * from aftercommit.outbox where outbox.id = wanted.id offset 0) as outbox
    order by outbox_id
    limit $5
),
measured as materialized (
    select
        outbox_id, attempts, excused, key_epoch, due_at, owed_at, unknown_since, cancel_at, rendering,
        topic, row_key, row_version, generation, op, payload::text as payload, headers::text as headers, created_at,
        sum(octet_length(payload::text)) over (order by outbox_id) as bytes,
        row_number() over (order by outbox_id) as place
    from mine
    where stored_before < $6
)
select * from measured where bytes <= $6 or place = 1 order by outbox_id
