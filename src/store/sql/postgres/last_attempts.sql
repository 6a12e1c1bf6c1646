-- $1 outbox ids, $2 destinations: the deliveries whose last attempt is asked for
select
    wanted.outbox_id, wanted.destination, last.number, last.key_epoch, last.lease_epoch, last.outcome, last.http_status,
    last.started_at, last.duration_us, last.key, last.body_digest, last.detail, last.excerpt
from unnest($1::bigint[], $2::text[]) as wanted (outbox_id, destination)
cross join lateral (
    select *
    from aftercommit.attempt
    where attempt.outbox_id = wanted.outbox_id and attempt.destination = wanted.destination
    order by number desc
    limit 1
) as last
