-- $1 replay; $2 how many deliveries its next step looks at, null if that stays as it is; $3 when that may come
update aftercommit.replay set step_rows = coalesce($2, step_rows), next_step_at = $3
where id = $1 and state = 'running'
