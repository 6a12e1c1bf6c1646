-- $1 deliveries that are counted at most, the newest ones
select destination, state, count(*) as deliveries
from (
    select destination, state from aftercommit.settled order by outbox_id desc, destination desc limit $1
) as newest
group by destination, state
