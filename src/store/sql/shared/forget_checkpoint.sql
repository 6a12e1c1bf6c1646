delete from aftercommit.checkpoint where name = $1 and rows_read = $2 and digest = $3
