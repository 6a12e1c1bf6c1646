-- $1 outbox id and $2 destination to go on from; $3 at most so many
-- $4 topic, or null for every topic, $5 row key; $6 destinations whose owed deliveries count
--
-- What the statement for PostgreSQL says; there is no `lateral` here. So of each topic it first looks how far its limit reaches. A
-- cross join says in which order the tables are looked at; left to itself, the planner reads the outbox from end to end.
with version as materialized (
    select outbox.id
    from topic
    cross join outbox
        on outbox.topic = topic.name
        and outbox.row_key = $5
        and outbox.id <= $1
        and outbox.id >= coalesce(
            (
                select edge.id
                from outbox as edge
                where edge.topic = topic.name and edge.row_key = $5 and edge.id <= $1
                order by edge.id desc
                limit 1 offset $3
            ),
            0
        )
    where $4 is null or topic.name = $4
    order by outbox.id desc
    limit $3 + 1
),
standing as materialized (
    select version.id as outbox_id, owed.destination
    from version
    cross join json_each($6) as wanted
    cross join owed on owed.destination = wanted.value ->> 'destination' and owed.outbox_id = version.id
    union
    select settled.outbox_id, settled.destination
    from version
    cross join settled on settled.outbox_id = version.id
)
select version.id as outbox_id, standing.destination
from version
left join standing on standing.outbox_id = version.id
where version.id < $1 or standing.destination > $2
order by 1 desc, 2
limit $3
