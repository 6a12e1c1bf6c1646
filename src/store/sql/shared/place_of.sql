-- $1 outbox id, $2 destination, $3 owed deliveries before it that are counted at most
select
    owed.slot,
    owed.excused,
    (
        select count(*)
        from (
            select 1 as one
            from aftercommit.owed as earlier
            where earlier.destination = $2 and earlier.outbox_id < $1
            limit $3
        ) as part
    ) as before
from aftercommit.owed
where owed.destination = $2 and owed.outbox_id = $1
