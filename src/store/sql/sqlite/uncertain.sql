-- $1 destination, $2 shard: always 0, a route has one shard here.
select settled.outbox_id, outbox.topic, outbox.row_key
from settled
join outbox on outbox.id = settled.outbox_id
where settled.destination = $1 and settled.state = 'uncertain' and $2 = 0
order by settled.outbox_id
