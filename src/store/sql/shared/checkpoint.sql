select rows_read, line, digest from aftercommit.checkpoint where name = $1
