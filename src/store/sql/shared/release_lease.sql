-- $1 destination, $2 shard, $3 owner, $4 epoch
update aftercommit.lease set owner = null
where destination = $1 and shard = $2 and owner = $3 and epoch = $4
