-- $1 outbox id, $2 destination
--
-- The oldest delivery of the same row key that is owed or uncertain and stands before it.
select before.id as outbox_id, $2 as destination
from outbox as own
cross join outbox as before
    on before.topic = own.topic and before.row_key = own.row_key and before.id < own.id
where own.id = $1
    and (
        exists (select 1 from owed where owed.destination = $2 and owed.outbox_id = before.id)
        or exists (
            select 1 from settled
            where settled.outbox_id = before.id and settled.destination = $2 and settled.state = 'uncertain'
        )
    )
order by before.id
limit 1
