-- $1 destination, $2 outbox ids
--
-- Only while no relay holds a lease of the destination, and none can get one. What a relay left in flight is not touched:
-- its attempt goes on record when the next owner takes over.
with in_flight as materialized (
    select (entry.value ->> 0)::bigint as outbox_id
    from aftercommit.dispatch
    cross join json_array_elements(dispatch.entries) as entry
    where dispatch.destination = $1
),
taken as (
    delete from aftercommit.owed
    where destination = $1
        and outbox_id = any($2::bigint[])
        and not exists (select 1 from in_flight where in_flight.outbox_id = owed.outbox_id)
    returning outbox_id, attempts, key_epoch, rendering
),
cancelled as (
    insert into aftercommit.settled (outbox_id, destination, state, reason, attempts, key_epoch, rendering)
    select outbox_id, $1, 'cancelled', 'operator', attempts, key_epoch, rendering from taken
    -- It may have been owed once more after it had ended: the last end counts.
    on conflict (outbox_id, destination) do update set
        state = excluded.state,
        reason = excluded.reason,
        at = now(),
        attempts = excluded.attempts,
        key_epoch = excluded.key_epoch,
        rendering = excluded.rendering
)
select outbox_id from taken
