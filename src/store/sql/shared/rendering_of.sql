-- $1 outbox id, $2 destination
--
-- What is owed once more was sent under the rendering that stands there; one that was never attempted has none.
select rendering from aftercommit.owed where destination = $2 and outbox_id = $1
union all
select rendering from aftercommit.settled where outbox_id = $1 and destination = $2
limit 1
