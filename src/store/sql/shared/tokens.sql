select name, role, created_at, created_by, expires_at, revoked_at from aftercommit.token order by name
