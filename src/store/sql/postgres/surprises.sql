select surprise from aftercommit.surprises($1) as each (surprise)
