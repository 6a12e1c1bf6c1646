-- $1 destination, $2 shard, $3 of how many, $4 after this outbox id, $5 rows at most, $6 bytes of payload at most
--
-- The window is cut before the shard is looked at: its cost is bounded, and all up to its end has been read. It is walked
-- twice: for how far it reaches, and for what it brings. Each walk is in the order of the key, so nothing is sorted and
-- no payload is copied on the way.
--
-- `offset 0` keeps the planner from turning a look-up by key around, however few rows it believes the table to have.
with state as materialized (
    select exists (
        select 1 from aftercommit.destination_state where destination = $1 and paused_at is not null
    ) as paused
),
reach as materialized (
    select count(*) as seen, max(outbox_id) as last_seen, count(*) filter (where slot % $3 = $2) as mine
    from (
        select outbox_id, slot
        from aftercommit.owed
        where destination = $1 and outbox_id > $4 and not (select paused from state)
        order by outbox_id
        limit $5
    ) as seen
)
select
    now() as now, state.paused, reach.seen, reach.last_seen, reach.mine,
    brought.outbox_id, attempts, excused, key_epoch, due_at, owed_at, unknown_since, cancel_at, rendering,
    topic, row_key, row_version, generation, op, payload, headers, created_at,
    -- The version of the row just before this one, if that is owed too. It can have come into sight after the cursor had
    -- passed its id, or wait where there was no route: whoever sends this one must know of it first. The first version of
    -- a row has none before it.
    case when op = 'event' or generation > 1 then (
        select older.outbox_id
        from (
            select id
            from aftercommit.outbox
            where topic = brought.topic and row_key = brought.row_key and id < brought.outbox_id
            order by id desc
            limit 1
        ) as before
        cross join lateral (
            select outbox_id from aftercommit.owed where destination = $1 and outbox_id = before.id
            union all
            select outbox_id from aftercommit.owed where destination = '' and outbox_id = before.id
            limit 1
        ) as older
    ) end as behind
from state
cross join reach
left join lateral (
    select *
    from (
        select
            seen.*, topic, row_key, row_version, generation, op, payload, headers, created_at, payload_bytes,
            sum(payload_bytes) over (order by seen.outbox_id rows unbounded preceding) as bytes
        from (
            select *
            from aftercommit.owed
            where destination = $1 and outbox_id > $4 and not (select paused from state)
            order by outbox_id
            limit $5
        ) as seen
        cross join lateral (select * from aftercommit.outbox where outbox.id = seen.outbox_id offset 0) as outbox
        where seen.slot % $3 = $2
    ) as measured
    -- The first comes whatever its size.
    where bytes <= $6 or bytes = payload_bytes
) as brought on true
