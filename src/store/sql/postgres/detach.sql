select aftercommit.detach($1) is null as detached
