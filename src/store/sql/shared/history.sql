-- $1 how many minutes are put together, $2 the minute from which on
select
    destination,
    minute / $1 as step,
    cast(sum(delivered) as bigint) as delivered,
    cast(sum(failed) as bigint) as failed
from aftercommit.tally
where minute >= $2
group by destination, minute / $1
order by destination, step
