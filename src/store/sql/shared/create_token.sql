-- $1 name, $2 role, $3 digest, $4 now, $5 who makes it, $6 when it ends
insert into aftercommit.token (name, role, digest, created_at, created_by, expires_at) values ($1, $2, $3, $4, $5, $6)
on conflict (name) do nothing
returning name, role, created_at, created_by, expires_at, revoked_at
