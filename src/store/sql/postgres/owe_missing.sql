-- $1 whether the key is to be new, $2 whether versions of a row are guarded against newer ones
-- $3 outbox ids and $4 destinations: what was found missing
--
-- Of two that owe the same at once, the key lets one through. What it could not see, that one was owed and has ended since
-- it looked, `ended_meanwhile` takes back.
insert into aftercommit.owed (destination, outbox_id, slot, key_epoch, guarded)
select
    wanted.destination, wanted.outbox_id, aftercommit.slot_of(outbox.row_key), $1::integer,
    $2::integer = 1 and outbox.op <> 'event'
from unnest($3::bigint[], $4::text[]) as wanted (outbox_id, destination)
cross join lateral (
    select row_key, op from aftercommit.outbox where outbox.id = wanted.outbox_id offset 0
) as outbox
on conflict (destination, outbox_id) do nothing
returning outbox_id, destination
