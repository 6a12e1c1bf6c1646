-- $1 rows, in the order in which they are to be written
insert into outbox (topic, row_key, row_version, op, payload, headers)
select
    value ->> 'topic', value ->> 'row_key', value ->> 'row_version', value ->> 'op', value ->> 'payload', value ->> 'headers'
from json_each($1);

-- A row that was admitted is what the ledger knows, hence never stale.
select
    changes() as admitted,
    case when changes() < json_array_length($1) then (
        select count(*) from json_each($1) as given
        cross join ledger on topic = given.value ->> 'topic' and identity = given.value ->> 'row_key'
        where given.value ->> 'op' in ('upsert', 'delete') and given.value ->> 'row_version' < row_version
            and (fingerprint, op) <> (
                iif(given.value ->> 'op' = 'delete', 'null', given.value ->> 'payload'), given.value ->> 'op')
    ) else 0 end as stale
