select id, request_digest from aftercommit.replay where request_key = $1
