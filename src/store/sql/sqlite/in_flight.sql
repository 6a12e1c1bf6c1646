-- $1 outbox id, $2 destination
--
-- When the attempt that is in flight began, by whom it was sent, and under what it was rendered. An entry counts as long as
-- no outcome of its attempt is on record and no replay has begun anew.
select dispatch.at, dispatch.relay, dispatch.job, dispatch.rendering
from owed
join dispatch on dispatch.destination = owed.destination
cross join json_each(dispatch.entries) as entry
where owed.outbox_id = $1
    and owed.destination = $2
    and entry.value ->> 0 = owed.outbox_id
    and entry.value ->> 1 = owed.attempts + 1
    and entry.value ->> 2 = owed.key_epoch
order by dispatch.at desc
limit 1
