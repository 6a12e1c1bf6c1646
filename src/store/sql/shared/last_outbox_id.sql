select (select id from aftercommit.outbox order by id desc limit 1) as id
