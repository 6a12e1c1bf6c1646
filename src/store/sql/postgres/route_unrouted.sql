-- $1 rows at most.
--
-- The delete decides: of two sweeps at once, one gets the row. Its routes are read in the same snapshot as those that
-- chose it, so there is at least one. It is owed from now on, not since it was written: its age limits begin here.
with chosen as materialized (
    select owed.outbox_id, array[owed.destination] as unrouted, outbox.topic
    from aftercommit.owed
    cross join lateral (select topic from aftercommit.outbox where outbox.id = owed.outbox_id offset 0) as outbox
    where owed.destination = '' and exists (select 1 from aftercommit.route where route.topic = outbox.topic)
    order by owed.outbox_id
    limit $1
),
taken as (
    -- By key, from the rows chosen; why it is written so, see `record`.
    delete from aftercommit.owed using chosen
    where owed.destination = any (chosen.unrouted) and owed.outbox_id = chosen.outbox_id
    returning owed.outbox_id, owed.slot, chosen.topic
),
routed as (
    insert into aftercommit.owed (destination, outbox_id, slot)
    select route.destination, taken.outbox_id, taken.slot
    from taken
    join aftercommit.route on route.topic = taken.topic
    -- A backfill may have been here before, and the delivery even have ended.
    where not exists (
        select 1 from aftercommit.settled
        where settled.outbox_id = taken.outbox_id and settled.destination = route.destination
        offset 0
    )
    on conflict (destination, outbox_id) do nothing
)
select count(*) as moved from taken
