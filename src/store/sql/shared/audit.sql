insert into aftercommit.audit (actor, action, subject, reason) values ($1, $2, $3, $4)
