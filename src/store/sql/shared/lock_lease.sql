-- Makes the row if it is missing, and locks it either way: an update that changes nothing is how both databases lock.
insert into aftercommit.lease as lease (destination, shard) values ($1, $2)
on conflict (destination, shard) do update set epoch = lease.epoch
