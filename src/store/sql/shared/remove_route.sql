delete from aftercommit.route where topic = $1 and destination = $2
