-- $1 destination, $2 shard, $3 of how many, $4 epoch of the lease
--
-- What an earlier owner left behind: of this shard, or of a shard from when the destination was divided otherwise, which
-- nobody holds any more. An entry matches as long as no outcome of its attempt is on record and no replay has begun anew.
select
    dispatch.relay, dispatch.sequence, dispatch.at, dispatch.rendering as dispatch_rendering,
    entry.outbox_id, entry.attempt, entry.key_epoch,
    owed.excused, owed.owed_at, owed.unknown_since, owed.cancel_at, owed.rendering
from aftercommit.dispatch
left join (
    lateral (
        select (value ->> 0)::bigint as outbox_id, (value ->> 1)::integer as attempt, (value ->> 2)::integer as key_epoch
        from json_array_elements(dispatch.entries)
    ) as entry
    join aftercommit.owed
        on owed.destination = $1
        and owed.outbox_id = entry.outbox_id
        and owed.attempts = entry.attempt - 1
        and owed.key_epoch = entry.key_epoch
        and owed.slot % $3 = $2
) on true
where dispatch.destination = $1
    and (dispatch.shards <> $3 or (dispatch.shard = $2 and dispatch.epoch < $4))
order by dispatch.at, dispatch.relay, dispatch.sequence, entry.outbox_id
