-- $1 destination, $2 shard, $3 owner, $4 epoch of the lease, $5 relay, $6 sequence, $7 job
update dispatch set job = $7
where relay = $5 and sequence = $6
    and exists (select 1 from lease where destination = $1 and shard = $2 and owner = $3 and epoch = $4)
returning sequence
