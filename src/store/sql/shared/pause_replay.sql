update aftercommit.replay set state = 'paused' where id = $1 and state = 'running'
