-- $1 destination, $2 shard, $3 of how many, $4 after this outbox id, $5 rows at most, $6 bytes of payload at most
--
-- The window is cut before the shard is looked at: its cost is bounded, and all up to its end has been read.
with state as materialized (
    select exists (select 1 from destination_state where destination = $1 and paused_at is not null) as paused
),
seen as materialized (
    select *
    from owed
    where destination = $1 and outbox_id > $4 and not (select paused from state)
    order by outbox_id
    limit $5
),
measured as materialized (
    select
        id, octet_length(payload) as payload_bytes,
        sum(octet_length(payload)) over (order by id rows unbounded preceding) as bytes
    from seen
    cross join outbox on outbox.id = seen.outbox_id
    where seen.slot % $3 = $2
),
reach as materialized (
    select count(*) as seen, max(outbox_id) as last_seen, count(*) filter (where slot % $3 = $2) as mine from seen
)
select
    now() as now, state.paused, reach.seen, reach.last_seen, reach.mine,
    seen.outbox_id, seen.attempts, seen.excused, seen.key_epoch, seen.due_at, seen.owed_at, seen.unknown_since,
    seen.cancel_at, seen.rendering,
    outbox.topic, outbox.row_key, outbox.row_version, outbox.generation, outbox.op, outbox.payload, outbox.headers,
    outbox.created_at,
    -- See the same on PostgreSQL.
    case when outbox.op = 'event' or outbox.generation > 1 then (
        select older.outbox_id from owed as older
        where older.destination in ($1, '') and older.outbox_id = (
            select max(before.id) from outbox as before
            where before.topic = outbox.topic and before.row_key = outbox.row_key and before.id < outbox.id
        )
        limit 1
    ) end as behind
from state
cross join reach
left join (
    measured
    cross join seen on seen.outbox_id = measured.id
    cross join outbox on outbox.id = measured.id
) on bytes <= $6 or bytes = payload_bytes
order by seen.outbox_id
