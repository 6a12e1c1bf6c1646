-- Brings no row where the trigger drops the row as known.
insert into aftercommit.outbox (topic, row_key, row_version, op, payload, headers)
values ($1, $2, $3, $4, $5::json, $6::json)
returning id
