-- $1 outbox id, $2 destination, $3 how deliveries of one row key follow one another: `ordered` or `latest`, $4 the reasons
-- for which a delivery is uncertain
--
-- What stands first of the row key of a delivery that is owed, and keeps it from being sent: under `ordered` the oldest
-- before it that is owed or uncertain; under `latest` the oldest before it that is in flight or may have arrived, since
-- others end by themselves. Versions that are older than whatever the destination is owed or waits for are not looked at:
-- there can be very many.
with in_flight as materialized (
    select
        entry.value ->> 0 as outbox_id,
        entry.value ->> 1 as attempt,
        entry.value ->> 2 as key_epoch
    from dispatch
    join json_each(dispatch.entries) as entry
    where dispatch.destination = $2 and $3 = 'latest'
),
floor as materialized (
    select min(outbox_id) as outbox_id
    from (
        select * from (select outbox_id from owed where destination = $2 order by outbox_id limit 1)
        union all
        select (
            select outbox_id
            from settled
            where settled.destination = $2 and settled.state = 'uncertain'
                and settled.reason = wanted.value ->> 'reason' and settled.state in ('dead', 'uncertain')
            order by outbox_id
            limit 1
        )
        from json_each($4) as wanted
    )
)
select
    before.id as outbox_id,
    $2 as destination,
    case when waiting.outbox_id is not null then 'pending' else uncertain.state end as state
from owed as blocked
cross join outbox as own on own.id = blocked.outbox_id
cross join outbox as before
    on before.topic = own.topic and before.row_key = own.row_key and before.id < own.id
    and before.id >= (select outbox_id from floor)
left join owed as waiting
    on waiting.destination = $2
    and waiting.outbox_id = before.id
    and (
        $3 = 'ordered'
        or waiting.unknown_since is not null
        or exists (
            select 1 from in_flight
            where in_flight.outbox_id = waiting.outbox_id
                and in_flight.attempt = waiting.attempts + 1
                and in_flight.key_epoch = waiting.key_epoch
        )
    )
left join settled as uncertain
    on uncertain.outbox_id = before.id
    and uncertain.destination = $2
    and uncertain.state = 'uncertain'
    and $3 = 'ordered'
where blocked.destination = $2
    and blocked.outbox_id = $1
    and (waiting.outbox_id is not null or uncertain.outbox_id is not null)
order by before.id
limit 1
