-- $1 replay; $2 requeued, $3 left alone, $4 skipped by this step; $5 its state after it
update aftercommit.replay set
    requeued = requeued + $2,
    left_alone = left_alone + $3,
    skipped = skipped + $4,
    state = $5,
    finished_at = case when $5 = 'done' then now() end
where id = $1
