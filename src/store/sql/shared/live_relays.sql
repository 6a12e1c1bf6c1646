select id from aftercommit.relay where beat_at > $1 or id = $2 order by id
