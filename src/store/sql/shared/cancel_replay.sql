update aftercommit.replay set state = 'cancelled', finished_at = now()
where id = $1 and state in ('running', 'paused')
