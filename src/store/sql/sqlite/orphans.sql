-- $1 destination, $2 shard, $3 epoch of the lease
--
-- An entry matches as long as no outcome of its attempt is on record and no replay has begun anew.
select
    dispatch.relay, dispatch.sequence, dispatch.at, dispatch.rendering as dispatch_rendering,
    entry.outbox_id, entry.attempt, entry.key_epoch,
    entry.excused, entry.owed_at, entry.unknown_since, entry.cancel_at, entry.rendering
from dispatch
left join (
    select
        flying.relay, flying.sequence,
        entry.value ->> 0 as outbox_id, entry.value ->> 1 as attempt, entry.value ->> 2 as key_epoch,
        owed.excused, owed.owed_at, owed.unknown_since, owed.cancel_at, owed.rendering
    from dispatch as flying
    join json_each(flying.entries) as entry
    join owed
        on owed.destination = $1
        and owed.outbox_id = entry.value ->> 0
        and owed.attempts = (entry.value ->> 1) - 1
        and owed.key_epoch = entry.value ->> 2
    where flying.destination = $1 and flying.shard = $2 and flying.epoch < $3
) as entry on entry.relay = dispatch.relay and entry.sequence = dispatch.sequence
where dispatch.destination = $1 and dispatch.shard = $2 and dispatch.epoch < $3
order by dispatch.at, dispatch.relay, dispatch.sequence, entry.outbox_id
