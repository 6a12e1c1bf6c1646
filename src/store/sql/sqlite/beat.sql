-- $1 relay, $2 version of its program, $3 time to live, $4 after how much silence a relay is forgotten, both in microseconds
insert into relay (id, version) values ($1, $2)
on conflict (id) do update set beat_at = max(beat_at, now());

delete from relay where beat_at < now() - $4 and id <> $1;

select id, now() as now from relay where beat_at > now() - $3 or id = $1 order by id
