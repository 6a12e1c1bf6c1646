insert into aftercommit.rendering (digest, spec) values ($1, $2) on conflict (digest) do nothing
