insert into aftercommit.destination_state as state (destination, paused_at, paused_by, pause_reason)
values ($1, now(), $2, $3)
on conflict (destination) do update set
    paused_at = excluded.paused_at,
    paused_by = excluded.paused_by,
    pause_reason = excluded.pause_reason
where state.paused_at is null
