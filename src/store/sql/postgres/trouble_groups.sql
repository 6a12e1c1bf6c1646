-- $1 deliveries of a group that are counted at most; $2 destinations, $3 states, $4 reasons: the groups that there can be
--
-- Each group is a run of the index of what is in trouble, which holds nothing else: its ends are its oldest and its newest.
select
    wanted.destination, wanted.state, wanted.reason, counted.deliveries, oldest.outbox_id as oldest,
    newest.outbox_id as newest
from unnest($2::text[], $3::text[], $4::text[]) as wanted (destination, state, reason)
cross join lateral (
    select outbox_id
    from aftercommit.settled
    where settled.destination = wanted.destination and settled.state = wanted.state and settled.reason = wanted.reason
        and settled.state in ('dead', 'uncertain')
    order by outbox_id
    limit 1
) as oldest
cross join lateral (
    select outbox_id
    from aftercommit.settled
    where settled.destination = wanted.destination and settled.state = wanted.state and settled.reason = wanted.reason
        and settled.state in ('dead', 'uncertain')
    order by outbox_id desc
    limit 1
) as newest
cross join lateral (
    select count(*) as deliveries
    from (
        select 1
        from aftercommit.settled
        where settled.destination = wanted.destination and settled.state = wanted.state
            and settled.reason = wanted.reason and settled.state in ('dead', 'uncertain')
        limit $1
    ) as part
) as counted
