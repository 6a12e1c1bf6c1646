-- $1 destination, $2 outbox ids, $3 from this outbox id on
--
-- For each of them that has one: the nearest older delivery of the same row that is owed, to the destination or to none
-- yet. The walk goes back along the versions of the row, and ends at the first that is owed.
with found as (
    select
        own.id as outbox_id,
        (
            select before.id
            from outbox as before
            where before.topic = own.topic and before.row_key = own.row_key and before.id < own.id and before.id >= $3
                and exists (select 1 from owed where destination in ($1, '') and outbox_id = before.id)
            order by before.id desc
            limit 1
        ) as behind
    from json_each($2) as wanted
    cross join outbox as own on own.id = wanted.value
)
select outbox_id, behind from found where behind is not null
