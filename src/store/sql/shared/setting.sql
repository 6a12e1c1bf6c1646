select value from aftercommit.setting where name = $1
