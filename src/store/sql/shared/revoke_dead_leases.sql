-- $1 destination, $2 whose heart beat after this lives
--
-- An owner that has gone silent, and may yet wake up, must not write under its lease any more.
update aftercommit.lease set owner = null, epoch = epoch + 1
where destination = $1
    and owner is not null
    and not exists (select 1 from aftercommit.relay where relay.id = lease.owner and relay.beat_at > $2)
