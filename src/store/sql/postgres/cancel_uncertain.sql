-- $1 destination, $2 outbox ids
update aftercommit.settled set state = 'cancelled', reason = 'operator', at = now()
where destination = $1 and outbox_id = any($2::bigint[]) and state = 'uncertain'
returning outbox_id
