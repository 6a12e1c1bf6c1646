-- $1 destinations, $2 how many deliveries were delivered to each, $3 how many attempts were not accepted
--
-- In one order, so that two relays that add at once never wait for each other in a ring.
insert into aftercommit.tally as tally (minute, destination, delivered, failed)
select cast(floor(extract(epoch from now()) / 60) as bigint), destination, delivered, failed
from unnest($1::text[], $2::bigint[], $3::bigint[]) as counted (destination, delivered, failed)
order by destination
on conflict (minute, destination) do update set
    delivered = tally.delivered + excluded.delivered,
    failed = tally.failed + excluded.failed
