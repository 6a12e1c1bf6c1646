-- $1 outbox id, $2 destination, $3 how deliveries of one row key follow one another: `ordered` or `latest`, $4 the reasons
-- for which a delivery is uncertain
--
-- What stands first of the row key of a delivery that is owed, and keeps it from being sent: under `ordered` the oldest
-- before it that is owed or uncertain; under `latest` the oldest before it that is in flight or may have arrived, since
-- others end by themselves. Versions that are older than whatever the destination is owed or waits for are not looked at:
-- there can be very many. What `offset 0` is for, see `fetch`.
with in_flight as materialized (
    select
        (entry.value ->> 0)::bigint as outbox_id,
        (entry.value ->> 1)::integer as attempt,
        (entry.value ->> 2)::integer as key_epoch
    from aftercommit.dispatch
    cross join json_array_elements(dispatch.entries) as entry
    where dispatch.destination = $2 and $3 = 'latest'
),
floor as materialized (
    select least(
        (select outbox_id from aftercommit.owed where destination = $2 order by outbox_id limit 1),
        (
            select min(oldest.outbox_id)
            from unnest($4::text[]) as wanted (reason)
            cross join lateral (
                select outbox_id
                from aftercommit.settled
                where settled.destination = $2 and settled.state = 'uncertain' and settled.reason = wanted.reason
                    and settled.state in ('dead', 'uncertain')
                order by outbox_id
                limit 1
            ) as oldest
        )
    ) as outbox_id
)
select before.id as outbox_id, $2::text as destination, before.state
from (
    select topic, row_key
    from aftercommit.outbox
    where id = $1
        and exists (
            select from aftercommit.owed
            where owed.destination = $2 and owed.outbox_id = $1
            offset 0
        )
    offset 0
) as own
cross join lateral (
    select outbox.id, coalesce(waiting.state, uncertain.state) as state
    from aftercommit.outbox
    left join lateral (
        select 'pending' as state
        from aftercommit.owed
        where owed.destination = $2
            and owed.outbox_id = outbox.id
            and (
                $3 = 'ordered'
                or owed.unknown_since is not null
                or exists (
                    select from in_flight
                    where in_flight.outbox_id = owed.outbox_id
                        and in_flight.attempt = owed.attempts + 1
                        and in_flight.key_epoch = owed.key_epoch
                )
            )
        offset 0
    ) as waiting on true
    left join lateral (
        select settled.state
        from aftercommit.settled
        where settled.outbox_id = outbox.id
            and settled.destination = $2
            and settled.state = 'uncertain'
            and $3 = 'ordered'
        offset 0
    ) as uncertain on true
    where outbox.topic = own.topic and outbox.row_key = own.row_key and outbox.id < $1
        and outbox.id >= (select outbox_id from floor)
        and coalesce(waiting.state, uncertain.state) is not null
    order by outbox.id
    limit 1
) as before
