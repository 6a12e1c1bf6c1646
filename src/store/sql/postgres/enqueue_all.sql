-- $1 to $6 rows, in the order in which they are to be written
with added as (
    insert into aftercommit.outbox (topic, row_key, row_version, op, payload, headers)
    select topic, row_key, row_version, op, payload::json, headers::json
    from unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[])
        as given (topic, row_key, row_version, op, payload, headers)
    returning id
)
-- The count of what was admitted comes first: only then the ledger is as the triggers left it.
select
    admitted,
    case when admitted < cardinality($1) then aftercommit.count_stale($1, $2, $3, $4, $5) else 0 end as stale
from (select count(*) as admitted from added) as counted
