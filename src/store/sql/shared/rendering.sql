select spec from aftercommit.rendering where id = $1
