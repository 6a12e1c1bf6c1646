-- $1 destination, $2 shard, $3 owner, $4 epoch, $5 since, $6 breaker opened at, $7 dying from, $8 detail
--
-- Only under the lease: what a relay says that has lost it is old.
insert into aftercommit.failing as failing (destination, shard, since, breaker_opened_at, dying_from, detail)
select
    destination, shard, cast($5 as timestamptz), cast($6 as timestamptz), cast($7 as timestamptz), cast($8 as text)
from aftercommit.lease
where destination = $1 and shard = $2 and owner = $3 and epoch = $4
on conflict (destination, shard) do update set
    since = excluded.since,
    breaker_opened_at = excluded.breaker_opened_at,
    dying_from = excluded.dying_from,
    detail = excluded.detail
