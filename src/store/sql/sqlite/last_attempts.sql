-- $1 the deliveries whose last attempt is asked for
with wanted as materialized (
    select value ->> 'outbox_id' as outbox_id, value ->> 'destination' as destination from json_each($1)
)
select
    attempt.outbox_id, attempt.destination, number, key_epoch, lease_epoch, outcome, http_status, started_at, duration_us,
    key, body_digest, detail, excerpt
from wanted
cross join attempt
    on attempt.outbox_id = wanted.outbox_id and attempt.destination = wanted.destination
    and attempt.number = (
        select max(number) from attempt as own
        where own.outbox_id = wanted.outbox_id and own.destination = wanted.destination
    )
