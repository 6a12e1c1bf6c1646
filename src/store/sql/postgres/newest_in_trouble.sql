-- $1 deliveries of a group at most; $2 destinations, $3 states, $4 reasons: the groups that there can be
select newest.outbox_id, wanted.destination
from unnest($2::text[], $3::text[], $4::text[]) as wanted (destination, state, reason)
cross join lateral (
    select outbox_id
    from aftercommit.settled
    where settled.destination = wanted.destination and settled.state = wanted.state and settled.reason = wanted.reason
        and settled.state in ('dead', 'uncertain')
    order by outbox_id desc
    limit $1
) as newest
