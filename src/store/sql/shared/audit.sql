insert into aftercommit.audit (actor, action, subject, reason, detail) values ($1, $2, $3, $4, $5)
