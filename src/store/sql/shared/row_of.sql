-- $1 outbox id
select id, topic, row_key, row_version, generation, op, cast(payload as text) as payload, cast(headers as text) as headers,
    created_at
from aftercommit.outbox
where id = $1
