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
        id,
        sum(octet_length(payload)) over (order by id) as bytes,
        row_number() over (order by id) as place
    from seen
    cross join outbox on outbox.id = seen.outbox_id
    where seen.slot % $3 = $2
),
brought as materialized (
    select id from measured where bytes <= $6 or place = 1
),
reach as (
    select
        (select count(*) from brought) < (select count(*) from measured) as cut,
        (select max(id) from brought) as last_brought,
        (select max(outbox_id) from seen) as last_seen,
        (select count(*) from seen) as seen
)
select
    now() as now, state.paused,
    case when reach.cut then reach.last_brought else coalesce(reach.last_seen, $4) end as upto,
    reach.cut or reach.seen >= $5 as more,
    seen.outbox_id, seen.attempts, seen.excused, seen.key_epoch, seen.due_at, seen.owed_at, seen.unknown_since,
    seen.cancel_at, seen.rendering,
    outbox.topic, outbox.row_key, outbox.row_version, outbox.generation, outbox.op, outbox.payload, outbox.headers,
    outbox.created_at,
    (
        select older.outbox_id from owed as older
        where older.destination in ($1, '') and older.outbox_id = (
            select max(before.id) from outbox as before
            where before.topic = outbox.topic and before.row_key = outbox.row_key and before.id < outbox.id
        )
        limit 1
    ) as behind
from state
cross join reach
left join (brought cross join seen on seen.outbox_id = brought.id cross join outbox on outbox.id = brought.id) on true
order by seen.outbox_id
