-- $1 destination, $2 outbox ids, $3 from this outbox id on; below it, or if it is null, the version just before alone
--
-- For each of them that has one: the nearest older delivery of the same row that is owed, to the destination or to none
-- yet. The walk goes back along the versions of the row, and ends at the first that is owed.
with last as materialized (
    select
        own.id, own.topic, own.row_key,
        (
            select max(id) from outbox where topic = own.topic and row_key = own.row_key and id < own.id
        ) as last
    from json_each($2) as wanted
    cross join outbox as own on own.id = wanted.value
),
found as materialized (
    select
        last.id as outbox_id,
        (
            select before.id
            from outbox as before
            where before.topic = last.topic and before.row_key = last.row_key
                and before.id between min(coalesce($3, last.last), last.last) and last.last
                and exists (select 1 from owed where destination in ($1, '') and outbox_id = before.id)
            order by before.id desc
            limit 1
        ) as behind
    from last
    where last.last is not null
)
select outbox_id, behind from found where behind is not null
