-- $1 destination, $2 shard, $3 of how many
select outbox_id, attempts, key_epoch
from aftercommit.owed
where destination = $1 and cancel_at is not null and slot % $3 = $2
order by outbox_id
