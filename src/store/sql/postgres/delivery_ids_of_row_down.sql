-- $1 outbox id and $2 destination to go on from; $3 at most so many
-- $4 topic, or null for every topic, $5 row key; $6 destinations whose owed deliveries count
--
-- By way of the topics, which are few, so that the index of the rows is used in either case. A version of which nothing counts
-- comes without a destination: so each step gets ahead, and looks at so many versions at most. The first of them may have
-- been seen to its end, hence one more.
with version as materialized (
    select found.id
    from aftercommit.topic
    cross join lateral (
        select outbox.id
        from aftercommit.outbox
        where outbox.topic = topic.name and outbox.row_key = $5 and outbox.id <= $1
        order by outbox.id desc
        limit $3 + 1
    ) as found
    where $4::text is null or topic.name = $4
    order by found.id desc
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
where version.id < $1 or standing.destination > $2
order by version.id desc, standing.destination
limit $3
