-- $1 destination, $2 shard, $3 of how many, $4 epoch of the lease
--
-- What an earlier owner left behind: of this shard, or of a shard from when the destination was divided otherwise, which
-- nobody holds any more. An entry matches as long as no outcome of its attempt is on record and no replay has begun anew.
select
    dispatch.relay, dispatch.sequence, dispatch.at, dispatch.rendering as dispatch_rendering, dispatch.job,
    now() as now,
    entry.outbox_id, entry.attempt, entry.key_epoch,
    entry.excused, entry.owed_at, entry.unknown_since, entry.cancel_at, entry.rendering
from aftercommit.dispatch
left join lateral (
    select
        owed.outbox_id, owed.attempts + 1 as attempt, owed.key_epoch, owed.excused, owed.owed_at, owed.unknown_since,
        owed.cancel_at, owed.rendering
    from json_array_elements(dispatch.entries)
    cross join lateral (
        select * from aftercommit.owed where destination = $1 and outbox_id = (value ->> 0)::bigint offset 0
    ) as owed
    where owed.attempts = (value ->> 1)::integer - 1
        and owed.key_epoch = (value ->> 2)::integer
        and owed.slot % $3 = $2
) as entry on true
where dispatch.destination = $1
    and (dispatch.shards <> $3 or (dispatch.shard = $2 and dispatch.epoch < $4))
order by dispatch.at, dispatch.relay, dispatch.sequence, entry.outbox_id
