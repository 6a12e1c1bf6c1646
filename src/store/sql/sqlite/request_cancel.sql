-- $1 destination, $2 outbox ids. Who asked first stays; it counts as requested either way.
update owed set cancel_at = coalesce(cancel_at, now())
where destination = $1 and outbox_id in (select value from json_each($2))
returning outbox_id
