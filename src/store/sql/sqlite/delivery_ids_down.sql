-- $1 outbox id and $2 destination to go on from; $3 ids at most, $4 ids of any settled state at most
-- $5 destinations whose owed deliveries count; $6 destinations, states and reasons of trouble that count
--
-- What the statement for PostgreSQL says; there is no `lateral` here. So each part first looks how far its limit reaches.
select owed.outbox_id, owed.destination
from json_each($5) as wanted
join owed
    on owed.destination = wanted.value ->> 'destination'
    and owed.outbox_id <= $1
    and owed.outbox_id >= coalesce(
        (
            select edge.outbox_id
            from owed as edge
            where edge.destination = wanted.value ->> 'destination' and edge.outbox_id <= $1
            order by edge.outbox_id desc
            limit 1 offset $3
        ),
        0
    )
where owed.outbox_id < $1 or owed.destination > $2
union
select settled.outbox_id, settled.destination
from json_each($6) as wanted
join settled
    on settled.destination = wanted.value ->> 'destination'
    and settled.state = wanted.value ->> 'state'
    and settled.reason = wanted.value ->> 'reason'
    and settled.state in ('dead', 'uncertain')
    and settled.outbox_id <= $1
    and settled.outbox_id >= coalesce(
        (
            select edge.outbox_id
            from settled as edge
            where edge.destination = wanted.value ->> 'destination'
                and edge.state = wanted.value ->> 'state'
                and edge.reason = wanted.value ->> 'reason'
                and edge.state in ('dead', 'uncertain')
                and edge.outbox_id <= $1
            order by edge.outbox_id desc
            limit 1 offset $3
        ),
        0
    )
where settled.outbox_id < $1 or settled.destination > $2
union
select outbox_id, destination
from (
    select outbox_id, destination
    from settled
    where outbox_id <= $1 and (outbox_id < $1 or destination > $2)
    order by outbox_id desc, destination
    limit $4
)
order by 1 desc, 2
limit $3
