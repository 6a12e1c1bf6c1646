select id, state, filter, key_mode, force, reason, requested_by, request_digest, cursor_outbox_id, cursor_destination,
    last_outbox_id, requeued, left_alone, skipped, created_at, finished_at
from aftercommit.replay
where state = 'running'
order by id
limit 1
