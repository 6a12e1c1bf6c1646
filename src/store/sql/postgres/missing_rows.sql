-- $1 destination; $2 topic, $3 row key, $4 since, $5 until: null if it does not matter; $6 newest or all
-- $7 after this outbox id, $8 up to this one, $9 rows to look at
--
-- By ids, or by the row key where that is given; of the two parts the one that is not meant is never executed. A row that
-- waits for any route at all is owed already. Where nothing is missing there is still a row, which says how far it looked.
-- What `offset 0` is for, see `fetch`.
with seen as materialized (
    (
        select id, topic, row_key, row_version, op, created_at
        from aftercommit.outbox
        where $3::text is null and id > $7 and id <= $8
        order by id
        limit $9
    )
    union all
    (
        select version.id, topic.name, $3::text, version.row_version, version.op, version.created_at
        from aftercommit.topic
        cross join lateral (
            select id, row_version, op, created_at
            from aftercommit.outbox
            where outbox.topic = topic.name and outbox.row_key = $3 and id > $7 and id <= $8
            order by id
            limit $9
        ) as version
        where $3::text is not null and ($2::text is null or topic.name = $2)
        order by version.id
        limit $9
    )
),
reach as (
    select count(*) as looked_at, max(id) as upto from seen
)
select
    reach.looked_at, reach.upto, missing.id as outbox_id, missing.topic, missing.row_key, missing.row_version, missing.op,
    missing.created_at
from reach
left join lateral (
    select *
    from seen
    where ($2::text is null or seen.topic = $2)
        and ($4::timestamptz is null or seen.created_at >= $4)
        and ($5::timestamptz is null or seen.created_at < $5)
        and exists (
            select from aftercommit.route where route.topic = seen.topic and route.destination = $1 offset 0
        )
        and not exists (
            select from aftercommit.owed where owed.destination = $1 and owed.outbox_id = seen.id offset 0
        )
        and not exists (
            select from aftercommit.owed where owed.destination = '' and owed.outbox_id = seen.id offset 0
        )
        and not exists (
            select from aftercommit.settled where settled.outbox_id = seen.id and settled.destination = $1 offset 0
        )
        and ($6 = 'all' or seen.op = 'event' or not exists (
            select
            from aftercommit.outbox as newer
            where newer.topic = seen.topic and newer.row_key = seen.row_key and newer.id > seen.id
            offset 0
        ))
) as missing on true
order by missing.id
