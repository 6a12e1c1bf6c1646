-- $1 rows at most. Both statements choose the same rows: the first changes nothing that the choice looks at.
insert into owed (destination, outbox_id)
select route.destination, outbox.id
from outbox
join route on route.topic = outbox.topic
where outbox.id in (
        select owed.outbox_id
        from owed
        join outbox on outbox.id = owed.outbox_id
        where owed.destination = '' and exists (select 1 from route where route.topic = outbox.topic)
        order by owed.outbox_id
        limit $1
    )
    -- A backfill may have been here before, and the delivery even have ended.
    and not exists (
        select 1 from settled where settled.outbox_id = outbox.id and settled.destination = route.destination
    )
on conflict (destination, outbox_id) do nothing;

delete from owed
where destination = ''
    and outbox_id in (
        select owed.outbox_id
        from owed
        join outbox on outbox.id = owed.outbox_id
        where owed.destination = '' and exists (select 1 from route where route.topic = outbox.topic)
        order by owed.outbox_id
        limit $1
    );

select changes() as moved
