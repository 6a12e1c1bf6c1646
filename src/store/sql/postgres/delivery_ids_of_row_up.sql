-- $1 outbox id and $2 destination to go on from; $3 at most so many
-- $4 topic, or null for every topic, $5 row key; $6 destinations whose owed deliveries count
--
-- The other way round than `delivery_ids_of_row_down`: from the oldest on. Why it is so is said there.
with version as materialized (
    select found.id
    from aftercommit.topic
    cross join lateral (
        select outbox.id
        from aftercommit.outbox
        where outbox.topic = topic.name and outbox.row_key = $5 and outbox.id >= $1
        order by outbox.id
        limit $3 + 1
    ) as found
    where $4::text is null or topic.name = $4
    order by found.id
    limit $3 + 1
)
select version.id as outbox_id, standing.destination
from version
left join lateral (
    select owed.destination
    from aftercommit.owed
    where owed.destination = any($6::text[]) and owed.outbox_id = version.id
    union
    select settled.destination
    from aftercommit.settled
    where settled.outbox_id = version.id
) as standing on true
where version.id > $1 or standing.destination > $2
order by version.id, standing.destination
limit $3
