select count(*) as owners from aftercommit.lease where destination = $1 and owner is not null
