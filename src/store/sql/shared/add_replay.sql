-- $1 the selection, $2 key mode, $3 whether stale rows too, $4 rate, $5 reason, $6 who asked, $7 key of the request, $8 digest
--
-- One request has one job: of two that arrive at once, the second waits for the first and then adds nothing.
insert into aftercommit.replay
    (filter, key_mode, force, rate, reason, requested_by, request_key, request_digest, last_outbox_id)
select $1, $2, $3 = 1, $4, $5, $6, $7, $8, coalesce((select id from aftercommit.outbox order by id desc limit 1), 0)
-- What SQLite needs to tell `on conflict` from a join.
where true
on conflict (request_key) do nothing
returning id
