-- $1 destination, $2 shard, $3 of how many, $4 relay, $5 whose heart beat after this lives
--
-- Takes a lease that is free, one's own, or one whose owner has gone silent; but none while somebody holds a lease from
-- when the destination was divided otherwise, since both would dispatch the same rows. The epoch grows each time: it is
-- the fencing token.
insert into aftercommit.lease as lease (destination, shard, shards, owner, epoch)
select $1, $2, $3, $4, 1
where not exists (
    select 1
    from aftercommit.lease as other
    join aftercommit.relay on relay.id = other.owner
    where other.destination = $1 and other.shards <> $3 and relay.beat_at > $5
)
on conflict (destination, shard) do update set
    shards = excluded.shards,
    owner = excluded.owner,
    epoch = lease.epoch + 1
where lease.owner is null
    or lease.owner = excluded.owner
    or not exists (select 1 from aftercommit.relay where relay.id = lease.owner and relay.beat_at > $5)
returning epoch
