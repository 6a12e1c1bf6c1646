-- $1 outbox id, $2 destination
select number, key_epoch, lease_epoch, outcome, http_status, started_at, duration_us, key, body_digest, detail, excerpt
from aftercommit.attempt
where outbox_id = $1 and destination = $2
order by number
