-- $1 outbox id
--
-- Every destination that the row is owed to or has been settled for; '' where its topic has no route. The key of `owed` begins
-- with the destination: from one name, the index leads to the next.
with recursive owing (destination) as (
    select min(destination) from aftercommit.owed
    union all
    select (select min(owed.destination) from aftercommit.owed where owed.destination > owing.destination)
    from owing
    where owing.destination is not null
)
select owed.destination
from owing
join aftercommit.owed on owed.destination = owing.destination and owed.outbox_id = $1
union
select destination from aftercommit.settled where outbox_id = $1
order by destination
