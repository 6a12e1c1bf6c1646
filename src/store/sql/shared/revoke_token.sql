update aftercommit.token set revoked_at = now() where name = $1 and revoked_at is null
