-- $1 destinations
--
-- What is on record and has no outcome yet; what an entry must match for that, `in_flight` says.
select owed.outbox_id, entry.destination
from (
    select
        dispatch.destination, (each.value ->> 0)::bigint as outbox_id, (each.value ->> 1)::integer as attempt,
        (each.value ->> 2)::integer as key_epoch
    from aftercommit.dispatch
    cross join json_array_elements(dispatch.entries) as each
    where dispatch.destination = any($1::text[])
) as entry
cross join lateral (
    select * from aftercommit.owed
    where owed.destination = entry.destination and owed.outbox_id = entry.outbox_id
    offset 0
) as owed
where owed.attempts = entry.attempt - 1 and owed.key_epoch = entry.key_epoch
