-- $1 states; $2 destination, $3 topic, $4 row key, $5 reason, $6 since, $7 until, $8 HTTP status of the last
-- attempt: null if it does not matter
-- $9 outbox ids and $10 destinations: the ids to choose from
--
-- `offset 0` has each of them looked up by key, whatever the planner believes: `record` says why.
select
    outbox.id as outbox_id, wanted.destination, coalesce(settled.state, 'pending') as state, settled.reason,
    outbox.topic, outbox.row_key, outbox.row_version, outbox.op, outbox.created_at,
    coalesce(owed.attempts, settled.attempts) as attempts, coalesce(owed.key_epoch, settled.key_epoch) as key_epoch,
    owed.due_at, owed.owed_at, owed.unknown_since, owed.cancel_at, settled.at as settled_at
from unnest($9::bigint[], $10::text[]) as wanted (outbox_id, destination)
cross join lateral (select * from aftercommit.outbox where outbox.id = wanted.outbox_id offset 0) as outbox
left join lateral (
    select * from aftercommit.owed
    where owed.destination = wanted.destination and owed.outbox_id = wanted.outbox_id
    offset 0
) as owed on true
-- What is owed once more is pending, whatever it was before.
left join lateral (
    select * from aftercommit.settled
    where settled.outbox_id = wanted.outbox_id and settled.destination = wanted.destination and owed.outbox_id is null
    offset 0
) as settled on true
where (owed.outbox_id is not null or settled.outbox_id is not null)
    and coalesce(settled.state, 'pending') = any($1::text[])
    and ($2::text is null or wanted.destination = $2)
    and ($3::text is null or outbox.topic = $3)
    and ($4::text is null or outbox.row_key = $4)
    and ($5::text is null or settled.reason = $5)
    and ($6::timestamptz is null or outbox.created_at >= $6)
    and ($7::timestamptz is null or outbox.created_at < $7)
    and ($8::bigint is null or $8 = (
        select attempt.http_status
        from aftercommit.attempt
        where attempt.outbox_id = wanted.outbox_id and attempt.destination = wanted.destination
        order by attempt.number desc
        limit 1
    ))
