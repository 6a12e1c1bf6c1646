select destination, paused_at, paused_by, pause_reason
from aftercommit.destination_state
where paused_at is not null
