-- $1 destination, $2 shard, $3 of how many. What has settled has no slot; it follows from the row key.
select settled.outbox_id, outbox.topic, outbox.row_key
from aftercommit.settled
cross join lateral (select * from aftercommit.outbox where outbox.id = settled.outbox_id offset 0) as outbox
where settled.destination = $1
    and settled.state = 'uncertain'
    and aftercommit.slot_of(outbox.row_key) % $3 = $2
order by settled.outbox_id
