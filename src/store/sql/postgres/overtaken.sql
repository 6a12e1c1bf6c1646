-- $1 outbox ids and $2 destinations
--
-- Those whose row has a newer version that was delivered there, or is owed there. Ids ascend per row key.
select wanted.outbox_id, wanted.destination
from unnest($1::bigint[], $2::text[]) as wanted (outbox_id, destination)
join aftercommit.outbox on outbox.id = wanted.outbox_id
where exists (
    select 1
    from aftercommit.outbox as newer
    where newer.topic = outbox.topic
        and newer.row_key = outbox.row_key
        and newer.id > outbox.id
        and (
            exists (
                select 1 from aftercommit.owed
                where owed.destination = wanted.destination and owed.outbox_id = newer.id
            )
            or exists (
                select 1 from aftercommit.settled
                where settled.outbox_id = newer.id
                    and settled.destination = wanted.destination
                    and settled.state = 'delivered'
            )
        )
)
