update aftercommit.outbox_request set admitted = $2, unchanged = $3, stale = $4 where key = $1
