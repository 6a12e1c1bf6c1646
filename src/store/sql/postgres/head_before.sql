-- $1 outbox id, $2 destination
--
-- The oldest delivery of the same row key that is owed or uncertain and stands before it. What `offset 0` is for, see
-- `fetch`.
select before.id as outbox_id, $2::text as destination
from (select topic, row_key from aftercommit.outbox where id = $1 offset 0) as own
cross join lateral (
    select outbox.id
    from aftercommit.outbox
    where outbox.topic = own.topic and outbox.row_key = own.row_key and outbox.id < $1
        and (
            exists (
                select from aftercommit.owed
                where owed.destination = $2 and owed.outbox_id = outbox.id
                offset 0
            )
            or exists (
                select from aftercommit.settled
                where settled.outbox_id = outbox.id and settled.destination = $2 and settled.state = 'uncertain'
                offset 0
            )
        )
    order by outbox.id
    limit 1
) as before
