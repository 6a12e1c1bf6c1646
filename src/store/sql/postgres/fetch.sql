-- $1 destination, $2 shard, $3 of how many, $4 after this outbox id, $5 rows at most, $6 bytes of payload at most
--
-- The window is cut before the shard is looked at: its cost is bounded, and all up to its end has been read. A payload
-- outside of its row is read only when it comes along: its size as it is stored (compressed, and less 4 bytes of header
-- never more than it is) is known without reading it, and bounds how many are read to know how long they are.
--
-- `offset 0` keeps the planner from turning a look-up by key around, however few rows it believes the table to have.
with state as materialized (
    select exists (
        select 1 from aftercommit.destination_state where destination = $1 and paused_at is not null
    ) as paused
),
seen as materialized (
    select *
    from aftercommit.owed
    where destination = $1 and outbox_id > $4 and not (select paused from state)
    order by outbox_id
    limit $5
),
mine as materialized (
    select
        seen.*, topic, row_key, row_version, generation, op, payload, headers, created_at,
        sum(pg_column_size(payload) - 4) over (order by outbox_id) - pg_column_size(payload) as stored_before
    from seen
    cross join lateral (select * from aftercommit.outbox where outbox.id = seen.outbox_id offset 0) as outbox
    where seen.slot % $3 = $2
),
measured as materialized (
    select
        outbox_id, attempts, excused, key_epoch, due_at, owed_at, unknown_since, cancel_at, rendering,
        topic, row_key, row_version, generation, op, payload::text as payload, headers::text as headers, created_at,
        sum(octet_length(payload::text)) over (order by outbox_id) as bytes,
        row_number() over (order by outbox_id) as place
    from mine
    where stored_before < $6
),
brought as materialized (
    select * from measured where bytes <= $6 or place = 1
),
reach as materialized (
    select
        (select count(*) from brought) < (select count(*) from mine) as cut,
        (select max(outbox_id) from brought) as last_brought,
        (select max(outbox_id) from seen) as last_seen,
        (select count(*) from seen) as seen
)
select
    now() as now, state.paused,
    case when reach.cut then reach.last_brought else coalesce(reach.last_seen, $4) end as upto,
    reach.cut or reach.seen >= $5 as more,
    brought.*,
    -- The version of the row just before this one, if that is owed too. It can have come into sight after the cursor had
    -- passed its id, or wait where there was no route: whoever sends this one must know of it first.
    (
        select older.outbox_id from aftercommit.owed as older
        where older.destination in ($1, '') and older.outbox_id = (
            select max(id) from aftercommit.outbox
            where topic = brought.topic and row_key = brought.row_key and id < brought.outbox_id
        )
        limit 1
    ) as behind
from state
cross join reach
left join brought on true
order by brought.outbox_id
