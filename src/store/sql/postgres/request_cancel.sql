-- $1 destination, $2 outbox ids. Who asked first stays; it counts as requested either way.
update aftercommit.owed set cancel_at = coalesce(cancel_at, now())
where destination = $1 and outbox_id = any($2::bigint[])
returning outbox_id
