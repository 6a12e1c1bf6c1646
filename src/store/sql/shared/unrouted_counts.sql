-- $1 rows that are counted at most, the oldest ones
select topic, count(*) as unrouted
from (
    select (select topic from aftercommit.outbox where id = owed.outbox_id) as topic
    from aftercommit.owed where destination = '' order by outbox_id limit $1
) as oldest
group by topic
order by topic
