select max(id) as id from aftercommit.outbox
