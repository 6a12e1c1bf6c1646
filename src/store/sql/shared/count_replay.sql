-- $1 replay; $2 requeued, $3 left alone, $4 in flight, $5 skipped by this step; $6 its state after it; $7 when the next
-- step may come, $8 how many it looks at at most
update aftercommit.replay set
    requeued = requeued + $2,
    left_alone = left_alone + $3,
    in_flight = in_flight + $4,
    skipped = skipped + $5,
    state = $6,
    next_step_at = $7,
    step_rows = $8,
    finished_at = case when $6 = 'done' then now() end
where id = $1
