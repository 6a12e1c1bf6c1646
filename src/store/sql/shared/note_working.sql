-- $1 destination, $2 shard, $3 owner, $4 epoch
delete from aftercommit.failing
where destination = $1 and shard = $2
and exists (
    select 1 from aftercommit.lease
    where destination = $1 and shard = $2 and owner = $3 and epoch = $4
)
