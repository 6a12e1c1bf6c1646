-- $1 destination, $2 outbox ids
update settled set state = 'cancelled', reason = 'operator', at = now()
where destination = $1 and outbox_id in (select value from json_each($2)) and state = 'uncertain'
returning outbox_id
