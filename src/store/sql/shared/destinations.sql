-- Every destination that is routed, was dispatched, is paused, or has deliveries that are owed or in trouble. The large
-- tables are not read: what is noted elsewhere is known, and only the gaps between such names are searched. A search over
-- a known name would pass by all that has left its part of the index lately. No `min`, whose plan can be a look through
-- all of a table.
with recursive noted (destination) as (
    select '' as destination
    union
    select destination from aftercommit.route
    union
    select destination from aftercommit.lease
    union
    select destination from aftercommit.destination_state
),
gap (low, high) as (
    select destination, lead(destination) over (order by destination) from noted
),
owing (destination, high) as (
    select low, high from gap
    union all
    select
        case when high is null
            then (
                select owed.destination
                from aftercommit.owed
                where owed.destination > owing.destination
                order by owed.destination limit 1
            )
            else (
                select owed.destination
                from aftercommit.owed
                where owed.destination > owing.destination and owed.destination < owing.high
                order by owed.destination limit 1
            )
        end,
        high
    from owing
    where owing.destination is not null
),
troubled (destination, high) as (
    select low, high from gap
    union all
    select
        case when high is null
            then (
                select settled.destination
                from aftercommit.settled
                where settled.destination > troubled.destination
                    and settled.state in ('dead', 'uncertain')
                order by settled.destination limit 1
            )
            else (
                select settled.destination
                from aftercommit.settled
                where settled.destination > troubled.destination and settled.destination < troubled.high
                    and settled.state in ('dead', 'uncertain')
                order by settled.destination limit 1
            )
        end,
        high
    from troubled
    where troubled.destination is not null
)
select destination
from (
    select destination from owing
    union
    select destination from troubled
) as known
where destination <> ''
order by destination
