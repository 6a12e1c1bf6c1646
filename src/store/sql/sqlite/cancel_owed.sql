-- $1 destination, $2 outbox ids
--
-- What the statement for PostgreSQL says, one part after the other. Both choose the same rows.
insert into settled (outbox_id, destination, state, reason, attempts, key_epoch, rendering)
select outbox_id, destination, 'cancelled', 'operator', attempts, key_epoch, rendering
from owed
where destination = $1
    and outbox_id in (select value from json_each($2))
    and outbox_id not in (
        select entry.value ->> 0 from dispatch join json_each(dispatch.entries) as entry where dispatch.destination = $1
    )
on conflict (outbox_id, destination) do update set
    state = excluded.state,
    reason = excluded.reason,
    at = now(),
    attempts = excluded.attempts,
    key_epoch = excluded.key_epoch,
    rendering = excluded.rendering;

delete from owed
where destination = $1
    and outbox_id in (select value from json_each($2))
    and outbox_id not in (
        select entry.value ->> 0 from dispatch join json_each(dispatch.entries) as entry where dispatch.destination = $1
    )
returning outbox_id
