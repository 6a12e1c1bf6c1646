select id, state, filter, key_mode, force, rate, reason, requested_by, request_digest, cursor_outbox_id, cursor_destination,
    last_outbox_id, requeued, left_alone, in_flight, skipped, step_rows, waits_for, created_at,
    finished_at
from aftercommit.replay
where id = $1
