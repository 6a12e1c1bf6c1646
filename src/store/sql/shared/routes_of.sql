select destination from aftercommit.route where topic = $1
