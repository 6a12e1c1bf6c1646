-- $1 destination, $2 into how many shards it is divided
--
-- The lease of shard 0 is always there, so its lock is the lock of the destination: of relays that ask at once, one goes
-- first. An update that changes nothing is how both databases lock a row, and make it if it is missing.
insert into aftercommit.lease as lease (destination, shard, shards) values ($1, 0, $2)
on conflict (destination, shard) do update set epoch = lease.epoch
