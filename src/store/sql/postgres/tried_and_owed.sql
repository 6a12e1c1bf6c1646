-- $1 owed deliveries of a destination that are looked at, the oldest ones; $2 destinations
--
-- What a receiver did not take stands at the front, since what is behind it has gone.
select oldest.outbox_id, oldest.destination
from unnest($2::text[]) as wanted (destination)
cross join lateral (
    select outbox_id, destination, attempts
    from aftercommit.owed
    where owed.destination = wanted.destination
    order by outbox_id
    limit $1
) as oldest
where oldest.attempts > 0
