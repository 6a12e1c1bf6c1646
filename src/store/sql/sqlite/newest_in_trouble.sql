-- $1 deliveries of a group at most; $2 the groups that there can be
with wanted as materialized (
    select value ->> 'destination' as destination, value ->> 'state' as state, value ->> 'reason' as reason
    from json_each($2)
)
select settled.outbox_id, settled.destination
from wanted
cross join settled
    on settled.destination = wanted.destination
    and settled.outbox_id in (
        select outbox_id
        from settled as newest
        where newest.destination = wanted.destination and newest.state = wanted.state and newest.reason = wanted.reason
            and newest.state in ('dead', 'uncertain')
        order by outbox_id desc
        limit $1
    )
