-- $1 outbox id
select outbox.topic, outbox.row_key, route.destination
from aftercommit.outbox
left join aftercommit.route on route.topic = outbox.topic
where outbox.id = $1
order by route.destination
