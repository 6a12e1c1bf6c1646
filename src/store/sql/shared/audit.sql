insert into aftercommit.audit (actor, origin, action, subject, reason) values ($1, $2, $3, $4, $5)
