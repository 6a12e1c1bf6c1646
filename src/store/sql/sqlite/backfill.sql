-- $1 topic, $2 destination, $3 after this outbox id, $4 up to this one, $5 newest or all
insert into owed (destination, outbox_id)
select $2, outbox.id
from outbox
where outbox.id > $3
    and outbox.id <= $4
    and outbox.topic = $1
    and exists (select 1 from route where route.topic = $1 and route.destination = $2)
    and ($5 = 'all' or not exists (
        select 1 from outbox as newer
        where newer.topic = outbox.topic and newer.row_key = outbox.row_key and newer.id > outbox.id
    ))
    -- What has ended is a matter of a replay.
    and not exists (select 1 from settled where settled.outbox_id = outbox.id and settled.destination = $2)
on conflict (destination, outbox_id) do nothing;

select changes() as added
