-- $1 for each destination: how many deliveries were delivered, how many attempts were not accepted
insert into tally (minute, destination, delivered, failed)
select now() / 60000000, value ->> 'destination', value ->> 'delivered', value ->> 'failed'
from json_each($1)
-- Or the parser takes what follows for a join's condition.
where true
on conflict (minute, destination) do update set
    delivered = delivered + excluded.delivered,
    failed = failed + excluded.failed
