-- $1 destination, $2 outbox ids
update aftercommit.settled set state = 'delivered', reason = 'confirmed', at = now()
where destination = $1 and outbox_id = any($2::bigint[]) and state in ('dead', 'uncertain')
returning outbox_id
