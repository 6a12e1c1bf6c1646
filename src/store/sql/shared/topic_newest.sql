-- What the ledger holds with a version, and the outbox row that it admitted last.
-- $1 topic, $2 entries at most
--
-- No join, which a planner can turn into a look through the whole outbox for each entry.
select
    (select row_key from aftercommit.outbox where id = ledger.outbox_id) as row_key,
    ledger.row_version,
    (select op from aftercommit.outbox where id = ledger.outbox_id) as op,
    (select payload from aftercommit.outbox where id = ledger.outbox_id) as payload,
    ledger.generation,
    ledger.outbox_id
from aftercommit.ledger
where ledger.topic = $1 and ledger.row_version is not null
order by ledger.identity
limit $2
