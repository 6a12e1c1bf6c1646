update aftercommit.destination_state set paused_at = null, paused_by = null, pause_reason = null
where destination = $1 and paused_at is not null
