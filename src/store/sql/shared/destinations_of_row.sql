-- $1 outbox id
--
-- Every destination that the row is owed to or has been settled for; '' where its topic has no route. The key of `owed` begins
-- with the destination: from one name, the index leads to the next.
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
select destination
from owing
-- No `exists`, which a planner can turn into a look through all that is owed.
where (select 1 from aftercommit.owed where owed.destination = owing.destination and owed.outbox_id = $1) is not null
union
select destination from aftercommit.settled where outbox_id = $1
order by destination
