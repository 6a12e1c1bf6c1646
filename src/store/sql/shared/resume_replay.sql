update aftercommit.replay set state = 'running' where id = $1 and state = 'paused'
