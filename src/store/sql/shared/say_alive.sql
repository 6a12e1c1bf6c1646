insert into aftercommit.relay (id, version) values ($1, $2)
on conflict (id) do update set beat_at = now()
