insert into aftercommit.outbox_request (key, digest, came_at) values ($1, $2, now()) on conflict (key) do nothing
