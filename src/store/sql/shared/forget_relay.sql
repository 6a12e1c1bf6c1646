delete from aftercommit.relay where id = $1
