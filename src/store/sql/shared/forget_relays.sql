delete from aftercommit.relay where beat_at < $1
