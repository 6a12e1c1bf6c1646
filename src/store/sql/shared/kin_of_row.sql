-- $1 outbox id, $2 destination, $3 versions of the row that are looked at on each side at most
--
-- What else of the same row key is on its way to the destination: older ones that are owed there or to none yet, the first of
-- them, the first whose outcome is unknown, the first that waits for a person; and newer ones.
with own as materialized (
    select topic, row_key from aftercommit.outbox where id = $1
),
before_it as materialized (
    select id
    from aftercommit.outbox
    where topic = (select topic from own) and row_key = (select row_key from own) and id < $1
    order by id desc
    limit $3
),
after_it as materialized (
    select id
    from aftercommit.outbox
    where topic = (select topic from own) and row_key = (select row_key from own) and id > $1
    order by id desc
    limit $3
),
ahead as (
    select
        count(owed.outbox_id) as owed,
        min(owed.outbox_id) as first_owed,
        max(owed.outbox_id) as last_owed,
        min(case when owed.unknown_since is not null then owed.outbox_id end) as first_unknown,
        min(settled.outbox_id) as first_uncertain
    from before_it
    left join aftercommit.owed on owed.destination in ($2, '') and owed.outbox_id = before_it.id
    left join aftercommit.settled
        on settled.outbox_id = before_it.id and settled.destination = $2 and settled.state = 'uncertain'
),
behind as (
    select
        max(after_it.id) as newest,
        count(owed.outbox_id) as owed,
        max(owed.outbox_id) as last_owed
    from after_it
    left join aftercommit.owed on owed.destination in ($2, '') and owed.outbox_id = after_it.id
)
select
    ahead.owed as ahead, ahead.first_owed, ahead.last_owed, ahead.first_unknown, ahead.first_uncertain,
    behind.newest, behind.owed as behind, behind.last_owed as newest_owed
from ahead
cross join behind
