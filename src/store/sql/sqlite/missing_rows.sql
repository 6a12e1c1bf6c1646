-- $1 destination; $2 topic, $3 row key, $4 since, $5 until: null if it does not matter; $6 newest or all
-- $7 after this outbox id, $8 up to this one, $9 rows to look at
--
-- What the statement for PostgreSQL says. Of each topic it first looks how far its limit reaches (see `delivery_ids_of_row_down`).
with seen as materialized (
    select *
    from (
        select id, topic, row_key, row_version, op, created_at
        from outbox
        where $3 is null and id > $7 and id <= $8
        order by id
        limit $9
    )
    union all
    select *
    from (
        select version.id, topic.name, version.row_key, version.row_version, version.op, version.created_at
        from topic
        cross join outbox as version on version.topic = topic.name and version.row_key = $3
        where $3 is not null
            and ($2 is null or topic.name = $2)
            and version.id > $7
            and version.id <= min($8, coalesce(
                (
                    select edge.id
                    from outbox as edge
                    where edge.topic = topic.name and edge.row_key = $3 and edge.id > $7
                    order by edge.id
                    limit 1 offset $9
                ),
                $8
            ))
        order by version.id
        limit $9
    )
),
reach as materialized (
    select count(*) as looked_at, max(id) as upto from seen
)
select
    reach.looked_at, reach.upto, missing.id as outbox_id, missing.topic, missing.row_key, missing.row_version, missing.op,
    missing.created_at
from reach
left join (
    select *
    from seen
    where ($2 is null or seen.topic = $2)
        and ($4 is null or seen.created_at >= $4)
        and ($5 is null or seen.created_at < $5)
        and exists (select 1 from route where route.topic = seen.topic and route.destination = $1)
        and not exists (select 1 from owed where owed.destination = $1 and owed.outbox_id = seen.id)
        and not exists (select 1 from owed where owed.destination = '' and owed.outbox_id = seen.id)
        and not exists (select 1 from settled where settled.outbox_id = seen.id and settled.destination = $1)
        and ($6 = 'all' or seen.op = 'event' or not exists (
            select 1 from outbox as newer
            where newer.topic = seen.topic and newer.row_key = seen.row_key and newer.id > seen.id
        ))
) as missing on true
order by missing.id
