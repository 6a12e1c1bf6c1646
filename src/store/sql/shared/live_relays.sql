select id from aftercommit.relay where beat_at > $1 order by id
