-- $1 outbox id and $2 destination to go on from; $3 ids at most, $4 ids of any settled state at most
-- $5 destinations whose owed deliveries count; $6 destinations, states and reasons of trouble that count
--
-- The other way round than `delivery_ids_down`: from the oldest on. Why it is so is said there.
select owed.outbox_id, owed.destination
from json_each($5) as wanted
join owed
    on owed.destination = wanted.value ->> 'destination'
    and owed.outbox_id >= $1
    and owed.outbox_id <= coalesce(
        (
            select edge.outbox_id
            from owed as edge
            where edge.destination = wanted.value ->> 'destination' and edge.outbox_id >= $1
            order by edge.outbox_id
            limit 1 offset $3
        ),
        9223372036854775807
    )
where owed.outbox_id > $1 or owed.destination > $2
union
select settled.outbox_id, settled.destination
from json_each($6) as wanted
join settled
    on settled.destination = wanted.value ->> 'destination'
    and settled.state = wanted.value ->> 'state'
    and settled.reason = wanted.value ->> 'reason'
    and settled.state in ('dead', 'uncertain')
    and settled.outbox_id >= $1
    and settled.outbox_id <= coalesce(
        (
            select edge.outbox_id
            from settled as edge
            where edge.destination = wanted.value ->> 'destination'
                and edge.state = wanted.value ->> 'state'
                and edge.reason = wanted.value ->> 'reason'
                and edge.state in ('dead', 'uncertain')
                and edge.outbox_id >= $1
            order by edge.outbox_id
            limit 1 offset $3
        ),
        9223372036854775807
    )
where settled.outbox_id > $1 or settled.destination > $2
union
select outbox_id, destination
from (
    select outbox_id, destination
    from settled
    where outbox_id >= $1 and (outbox_id > $1 or destination > $2)
    order by outbox_id, destination
    limit $4
)
order by 1, 2
limit $3
