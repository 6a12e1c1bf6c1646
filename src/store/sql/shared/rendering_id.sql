select id from aftercommit.rendering where digest = $1
