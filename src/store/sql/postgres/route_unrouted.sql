-- $1 rows at most.
--
-- The delete decides: of two sweeps at once, one gets the row. Its routes are read in the same snapshot as those that
-- chose it, so there is at least one. It is owed from now on, not since it was written: its age limits begin here.
with chosen as materialized (
    select owed.outbox_id
    from aftercommit.owed
    join aftercommit.outbox on outbox.id = owed.outbox_id
    where owed.destination = '' and exists (select 1 from aftercommit.route where route.topic = outbox.topic)
    order by owed.outbox_id
    limit $1
),
taken as (
    delete from aftercommit.owed using chosen
    where owed.destination = '' and owed.outbox_id = chosen.outbox_id
    returning owed.outbox_id, owed.slot
),
routed as (
    insert into aftercommit.owed (destination, outbox_id, slot)
    select route.destination, taken.outbox_id, taken.slot
    from taken
    join aftercommit.outbox on outbox.id = taken.outbox_id
    join aftercommit.route on route.topic = outbox.topic
    -- A backfill may have been here before, and the delivery even have ended.
    where not exists (
        select 1 from aftercommit.settled
        where settled.outbox_id = taken.outbox_id and settled.destination = route.destination
    )
    on conflict (destination, outbox_id) do nothing
)
select count(*) as moved from taken
