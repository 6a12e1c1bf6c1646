-- $1 destination, $2 shard, $3 of how many, $4 epoch of the lease
--
-- What an earlier owner left behind: of this shard, or of a shard from when the destination was divided otherwise, which
-- nobody holds any more. An entry matches as long as no outcome of its attempt is on record and no replay has begun anew.
with abandoned as (
    select * from dispatch
    where destination = $1 and (shards <> $3 or (shard = $2 and epoch < $4))
),
matching as (
    select
        abandoned.relay, abandoned.sequence,
        value ->> 0 as outbox_id, value ->> 1 as attempt, value ->> 2 as key_epoch,
        owed.excused, owed.owed_at, owed.unknown_since, owed.cancel_at, owed.rendering
    from abandoned
    cross join json_each(abandoned.entries)
    cross join owed
        on owed.destination = $1
        and owed.outbox_id = value ->> 0
        and owed.attempts = (value ->> 1) - 1
        and owed.key_epoch = value ->> 2
        and owed.slot % $3 = $2
)
select
    abandoned.relay, abandoned.sequence, abandoned.at, abandoned.rendering as dispatch_rendering,
    abandoned.job, now() as now,
    matching.outbox_id, matching.attempt, matching.key_epoch,
    matching.excused, matching.owed_at, matching.unknown_since, matching.cancel_at, matching.rendering
from abandoned
left join matching on matching.relay = abandoned.relay and matching.sequence = abandoned.sequence
order by abandoned.at, abandoned.relay, abandoned.sequence, matching.outbox_id
