-- $1 deliveries of a group that are counted at most; $2 the groups that there can be
--
-- Each group is a run of the index of what is in trouble, which holds nothing else: its ends are its oldest and its newest.
with wanted as materialized (
    select value ->> 'destination' as destination, value ->> 'state' as state, value ->> 'reason' as reason
    from json_each($2)
),
found as materialized (
    select
        wanted.destination, wanted.state, wanted.reason,
        (
            select outbox_id
            from settled
            where settled.destination = wanted.destination and settled.state = wanted.state
                and settled.reason = wanted.reason and settled.state in ('dead', 'uncertain')
            order by outbox_id
            limit 1
        ) as oldest,
        (
            select outbox_id
            from settled
            where settled.destination = wanted.destination and settled.state = wanted.state
                and settled.reason = wanted.reason and settled.state in ('dead', 'uncertain')
            order by outbox_id desc
            limit 1
        ) as newest,
        (
            select count(*)
            from (
                select 1
                from settled
                where settled.destination = wanted.destination and settled.state = wanted.state
                    and settled.reason = wanted.reason and settled.state in ('dead', 'uncertain')
                limit $1
            )
        ) as deliveries
    from wanted
)
select destination, state, reason, deliveries, oldest, newest from found where oldest is not null
