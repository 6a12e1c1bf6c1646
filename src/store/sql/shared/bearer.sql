-- Of tokens that count now.
select name, role from aftercommit.token
where digest = $1 and revoked_at is null and (expires_at is null or expires_at > now())
