-- $1 outbox id and $2 destination to go on from; $3 ids at most, $4 ids of any settled state at most
-- $5 destinations whose owed deliveries count; $6 to $8 destinations, states and reasons of trouble that count
--
-- The other way round than `delivery_ids_down`: from the oldest on. Why it is so is said there.
(
    select owing.outbox_id, wanted.destination
    from unnest($5::text[]) as wanted (destination)
    cross join lateral (
        select owed.outbox_id
        from aftercommit.owed
        where owed.destination = wanted.destination
            and owed.outbox_id >= $1
            and (owed.outbox_id > $1 or owed.destination > $2)
        order by owed.outbox_id
        limit $3
    ) as owing
)
union
(
    select troubled.outbox_id, wanted.destination
    from unnest($6::text[], $7::text[], $8::text[]) as wanted (destination, state, reason)
    cross join lateral (
        select settled.outbox_id
        from aftercommit.settled
        where settled.destination = wanted.destination
            and settled.state = wanted.state
            and settled.reason = wanted.reason
            and settled.state in ('dead', 'uncertain')
            and settled.outbox_id >= $1
            and (settled.outbox_id > $1 or settled.destination > $2)
        order by settled.outbox_id
        limit $3
    ) as troubled
)
union
(
    select outbox_id, destination
    from aftercommit.settled
    where outbox_id >= $1 and (outbox_id > $1 or destination > $2)
    order by outbox_id, destination
    limit $4
)
order by outbox_id, destination
limit $3
