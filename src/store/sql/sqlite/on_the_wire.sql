-- $1 destinations
--
-- What is on record and has no outcome yet; what an entry must match for that, `in_flight` says.
select owed.outbox_id, owed.destination
from dispatch
cross join json_each(dispatch.entries) as entry
cross join owed on owed.destination = dispatch.destination and owed.outbox_id = entry.value ->> 0
where dispatch.destination in (select value ->> 'destination' from json_each($1))
    and owed.attempts = (entry.value ->> 1) - 1
    and owed.key_epoch = entry.value ->> 2
