insert into aftercommit.audit (actor, origin, action, subject, reason, detail) values ($1, $2, $3, $4, $5, $6)
