select paused_at, paused_by, pause_reason from aftercommit.destination_state where destination = $1 and paused_at is not null
