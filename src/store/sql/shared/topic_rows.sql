-- Outbox rows of a topic with the number of their deliveries, in the order of row key and id.
-- $1 topic, $2 row key and $3 outbox id after which to go on, $4 rows at most
with recursive owing (destination) as (
    select (select destination from aftercommit.owed order by destination limit 1)
    union all
    select (
        select owed.destination
        from aftercommit.owed
        where owed.destination > owing.destination
        order by owed.destination limit 1
    )
    from owing
    where owing.destination is not null
)
select
    id, row_key, row_version, op, payload,
    -- A replay makes owed what is settled: that is one delivery still.
    (select count(*) from (
        select destination from aftercommit.settled where settled.outbox_id = outbox.id
        union
        select owing.destination
        from owing
        -- No `exists`, which a planner can turn into a look through all that is owed.
        where (
            select 1 from aftercommit.owed where owed.destination = owing.destination and owed.outbox_id = outbox.id
        ) is not null
    ) as delivery) as deliveries
from aftercommit.outbox
where topic = $1 and (row_key, id) > ($2, $3)
order by row_key, id
limit $4
