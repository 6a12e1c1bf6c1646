-- $1 destination, $2 into how many shards it is divided now
--
-- Leases from when it was divided otherwise have no owner that lives. One that wakes up late must not write under them.
update aftercommit.lease set owner = null, epoch = epoch + 1
where destination = $1 and shards <> $2 and owner is not null
