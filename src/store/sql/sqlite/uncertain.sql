-- $1 destination, $2 shard, $3 of how many. Every slot is 0 here.
select settled.outbox_id, outbox.topic, outbox.row_key
from settled
join outbox on outbox.id = settled.outbox_id
where settled.destination = $1 and settled.state = 'uncertain' and 0 % $3 = $2
order by settled.outbox_id
