-- $1 rows that are counted at most, the oldest ones
select outbox.topic, count(*) as unrouted
from (
    select outbox_id from aftercommit.owed where destination = '' order by outbox_id limit $1
) as oldest
join aftercommit.outbox on outbox.id = oldest.outbox_id
group by outbox.topic
order by outbox.topic
