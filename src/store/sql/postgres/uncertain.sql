-- $1 destination, $2 shard. What has settled has no shard; it follows from the row key, as it did while it was owed.
select settled.outbox_id, outbox.topic, outbox.row_key
from aftercommit.settled
join aftercommit.outbox on outbox.id = settled.outbox_id
left join aftercommit.route on route.topic = outbox.topic and route.destination = settled.destination
where settled.destination = $1
    and settled.state = 'uncertain'
    and aftercommit.shard_of(outbox.row_key, coalesce(route.shards, 1)) = $2
order by settled.outbox_id
