select outbox_id
from aftercommit.owed
where destination = $1 and outbox_id > $3 and outbox_id <= $4 and shard = $2
order by outbox_id
limit $5
