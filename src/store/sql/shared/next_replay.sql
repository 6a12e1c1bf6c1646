-- The oldest one whose rate lets it go on now; where none may, the one that may next.
select id, state, filter, key_mode, force, rate, reason, requested_by, request_digest, cursor_outbox_id, cursor_destination,
    last_outbox_id, requeued, left_alone, in_flight, skipped, step_rows, waits_for, created_at,
    finished_at, next_step_at, now() as now
from aftercommit.replay
where state = 'running'
order by case when next_step_at <= now() then 0 else 1 end, case when next_step_at <= now() then id end, next_step_at
limit 1
