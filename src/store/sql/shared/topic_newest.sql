-- What the ledger holds with a version, and the outbox row that it admitted last.
-- $1 topic, $2 entries at most
select outbox.row_key, ledger.row_version, outbox.op, outbox.payload, ledger.generation, ledger.outbox_id
from aftercommit.ledger
join aftercommit.outbox on outbox.id = ledger.outbox_id
where ledger.topic = $1 and ledger.row_version is not null
order by ledger.identity
limit $2
