-- Every destination that is routed, was dispatched, is paused, or has deliveries that are owed or in trouble. The large
-- tables are not read: from one name, the index leads to the next.
with recursive owing (destination) as (
    select min(destination) from aftercommit.owed
    union all
    select (select min(owed.destination) from aftercommit.owed where owed.destination > owing.destination)
    from owing
    where owing.destination is not null
),
troubled (destination) as (
    select min(destination) from aftercommit.settled where state in ('dead', 'uncertain')
    union all
    select (
        select min(settled.destination)
        from aftercommit.settled
        where settled.destination > troubled.destination and settled.state in ('dead', 'uncertain')
    )
    from troubled
    where troubled.destination is not null
)
select destination
from (
    select destination from owing
    union
    select destination from troubled
    union
    select destination from aftercommit.route
    union
    select destination from aftercommit.lease
    union
    select destination from aftercommit.destination_state
) as known
where destination <> ''
order by destination
