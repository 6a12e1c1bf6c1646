select kind from aftercommit.topic where name = $1
