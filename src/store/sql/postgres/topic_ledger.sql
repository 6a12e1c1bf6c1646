-- What has been admitted to a topic, in the order of identity.
-- $1 topic, $2 identity after which to go on, $3 entries at most
select identity, row_version, op, encode(fingerprint, 'hex') as fingerprint
from aftercommit.ledger
where topic = $1 and identity > $2
order by identity
limit $3
