-- $1 replay; $2 and $3 where it stood, $4 and $5 where it will stand; $6 what it waits for
--
-- The guard: of two workers that took the same step, the second finds the cursor moved, and does nothing. One whose look is
-- from before it began again does nothing either. The lock is held until the step is committed together with its cursor.
update aftercommit.replay set cursor_outbox_id = $4, cursor_destination = $5
where id = $1 and state = 'running' and cursor_outbox_id = $2 and cursor_destination = $3 and next_step_at <= now()
    and waits_for is not distinct from $6
