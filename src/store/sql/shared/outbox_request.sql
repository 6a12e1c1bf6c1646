select digest, admitted, unchanged, stale from aftercommit.outbox_request where key = $1
