-- $1 whether the key is to be new, $2 whether versions of a row are guarded against newer ones
-- $3 what was found settled: outbox ids, destinations and states
--
-- What the statement for PostgreSQL says, one part after the other. Both choose the same rows: the first changes nothing
-- that the choice looks at.
insert into owed (destination, outbox_id, attempts, excused, key_epoch, rendering, guarded)
select
    settled.destination, settled.outbox_id, settled.attempts, settled.attempts, settled.key_epoch + $1,
    iif($1 = 0, settled.rendering, null), $2 = 1 and outbox.op <> 'event'
from json_each($3)
join settled
    on settled.outbox_id = value ->> 'outbox_id'
    and settled.destination = value ->> 'destination'
    and settled.state = value ->> 'state'
join outbox on outbox.id = settled.outbox_id
where true
on conflict (destination, outbox_id) do nothing;

delete from settled
where (outbox_id, destination, state) in (
    select value ->> 'outbox_id', value ->> 'destination', value ->> 'state' from json_each($3)
);

select changes() as requeued
