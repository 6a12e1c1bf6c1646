-- $1 destination, $2 outbox ids
update settled set state = 'delivered', reason = 'confirmed', at = now()
where destination = $1 and outbox_id in (select value from json_each($2)) and state in ('dead', 'uncertain')
returning outbox_id
