-- $1 destination, $2 shard
select since, breaker_opened_at, dying_from, detail
from aftercommit.failing
where destination = $1 and shard = $2
