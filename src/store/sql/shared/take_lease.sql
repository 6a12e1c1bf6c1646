-- A free lease, one's own, or one whose owner has gone silent. The epoch grows each time: it is the fencing token.
update aftercommit.lease set owner = $3, epoch = epoch + 1
where destination = $1
    and shard = $2
    and (
        owner is null
        or owner = $3
        or not exists (select 1 from aftercommit.relay where relay.id = lease.owner and relay.beat_at > $4)
    )
returning epoch
