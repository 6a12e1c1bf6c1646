-- $1 relay, $2 version of its program, $3 time to live, $4 after how much silence a relay is forgotten, both in microseconds
--
-- `greatest`, because a beat that was given up can still be carried out, after the one that followed it.
with beaten as (
    insert into aftercommit.relay as relay (id, version) values ($1, $2)
    on conflict (id) do update set beat_at = greatest(relay.beat_at, now())
),
forgotten as (
    delete from aftercommit.relay where beat_at < now() - $4 * interval '1 microsecond' and id <> $1
)
select id, now() as now from aftercommit.relay where beat_at > now() - $3 * interval '1 microsecond' and id <> $1
-- What the statement itself writes, it does not see.
union
select $1, now()
order by id
