-- $1 destination, $2 outbox ids, $3 from this outbox id on; below it, or if it is null, the version just before alone
--
-- For each of them that has one: the nearest older delivery of the same row that is owed, to the destination or to none
-- yet. The walk goes back along the versions of the row, and ends at the first that is owed. What `offset 0` is for, see
-- `fetch`.
select wanted.id as outbox_id, older.outbox_id as behind
from unnest($2::bigint[]) as wanted (id)
cross join lateral (
    select topic, row_key from aftercommit.outbox where outbox.id = wanted.id offset 0
) as own
cross join lateral (
    select last.id
    from aftercommit.outbox as last
    where last.topic = own.topic and last.row_key = own.row_key and last.id < wanted.id
    order by last.id desc
    limit 1
) as last
cross join lateral (
    select before.id as outbox_id
    from aftercommit.outbox as before
    cross join lateral (
        select 1 from aftercommit.owed where destination in ($1, '') and outbox_id = before.id limit 1
    ) as owed
    where before.topic = own.topic and before.row_key = own.row_key
        and before.id between least($3, last.id) and last.id
    order by before.id desc
    limit 1
) as older
