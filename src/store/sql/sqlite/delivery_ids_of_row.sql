-- $1 topic, or null for every topic, $2 row key; $3 destinations whose owed deliveries count
--
-- By way of the topics, which are few, so that the index of the rows is used in either case. A cross join says in which
-- order the tables are looked at; left to itself, the planner reads the outbox from end to end.
with version as materialized (
    select outbox.id
    from topic
    cross join outbox on outbox.topic = topic.name and outbox.row_key = $2
    where $1 is null or topic.name = $1
)
select owed.outbox_id, owed.destination
from version
cross join json_each($3) as wanted
cross join owed on owed.destination = wanted.value ->> 'destination' and owed.outbox_id = version.id
union
select settled.outbox_id, settled.destination
from version
cross join settled on settled.outbox_id = version.id
order by 1, 2
