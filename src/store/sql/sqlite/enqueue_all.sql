-- $1 rows, in the order in which they are to be written
insert into outbox (topic, row_key, row_version, op, payload, headers)
select
    value ->> 'topic', value ->> 'row_key', value ->> 'row_version', value ->> 'op', value ->> 'payload', value ->> 'headers'
from json_each($1);

select changes() as admitted
