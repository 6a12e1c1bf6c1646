-- $1 destination, $2 shard, $3 of how many, $4 after this outbox id, $5 up to this one, $6 ids at most
select outbox_id, due_at, attempts, key_epoch
from aftercommit.owed
where destination = $1 and outbox_id > $4 and outbox_id <= $5 and slot % $3 = $2
order by outbox_id
limit $6
