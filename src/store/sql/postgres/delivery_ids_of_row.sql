-- $1 topic, or null for every topic, $2 row key; $3 destinations whose owed deliveries count
--
-- By way of the topics, which are few, so that the index of the rows is used in either case.
with version as materialized (
    select outbox.id
    from aftercommit.topic
    join aftercommit.outbox on outbox.topic = topic.name and outbox.row_key = $2
    where $1::text is null or topic.name = $1
)
select owed.outbox_id, owed.destination
from version
cross join unnest($3::text[]) as wanted (destination)
join aftercommit.owed on owed.destination = wanted.destination and owed.outbox_id = version.id
union
select settled.outbox_id, settled.destination
from version
join aftercommit.settled on settled.outbox_id = version.id
order by outbox_id, destination
