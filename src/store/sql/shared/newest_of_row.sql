-- $1 topic, $2 row key
select id from aftercommit.outbox where topic = $1 and row_key = $2 order by id desc limit 1
