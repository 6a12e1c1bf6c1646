-- $1 owed deliveries of a destination that are looked at, the oldest ones; $2 destinations
--
-- What a receiver did not take stands at the front, since what is behind it has gone.
select owed.outbox_id, owed.destination
from json_each($2) as wanted
cross join owed
    on owed.destination = wanted.value ->> 'destination'
    and owed.outbox_id in (
        select outbox_id
        from owed as oldest
        where oldest.destination = wanted.value ->> 'destination'
        order by outbox_id
        limit $1
    )
where owed.attempts > 0
