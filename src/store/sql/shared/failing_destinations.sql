-- The worst of each destination, over its shards. One that it is no longer divided into says nothing: the lease of shard 0
-- knows into how many it was divided last.
select
    failing.destination,
    min(failing.since) as since,
    min(failing.breaker_opened_at) as breaker_opened_at,
    min(failing.dying_from) as dying_from,
    min(failing.detail) as detail
from aftercommit.failing
inner join aftercommit.lease on lease.destination = failing.destination and lease.shard = 0
where failing.shard < lease.shards
group by failing.destination
