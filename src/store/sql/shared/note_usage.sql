-- $1 destination, $2 used, $3 allowed, $4 reserve, $5 heard at
--
-- The last word counts, whoever passes it on: the shards of a destination hear the same receiver.
insert into aftercommit.usage as noted (destination, used, allowed, reserve, heard_at)
values ($1, $2, $3, $4, $5)
on conflict (destination) do update set
    used = excluded.used,
    allowed = excluded.allowed,
    reserve = excluded.reserve,
    heard_at = excluded.heard_at
where noted.heard_at < excluded.heard_at
