select lease.destination, lease.shard, lease.shards, lease.owner, lease.epoch, relay.beat_at, now() as now
from aftercommit.lease
left join aftercommit.relay on relay.id = lease.owner
order by lease.destination, lease.shard
