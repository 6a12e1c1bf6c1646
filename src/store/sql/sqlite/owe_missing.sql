-- $1 whether the key is to be new, $2 whether versions of a row are guarded against newer ones
-- $3 what was found missing: outbox ids and destinations
insert into owed (destination, outbox_id, key_epoch, guarded)
select value ->> 'destination', outbox.id, $1, $2 = 1 and outbox.op <> 'event'
from json_each($3)
cross join outbox on outbox.id = value ->> 'outbox_id'
where true
on conflict (destination, outbox_id) do nothing
returning outbox_id, destination
