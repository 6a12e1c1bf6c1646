-- `id` is null where the trigger drops the row; `stale` is 1 if that was because a newer version is known.
with added as (
    insert into aftercommit.outbox (topic, row_key, row_version, op, payload, headers)
    values ($1::text, $2::text, $3::bigint, $4::text, $5::text::json, $6::text::json)
    returning id
)
select
    id,
    case when id is null then aftercommit.count_stale(array[$1], array[$2], array[$3], array[$4], array[$5]) else 0 end as stale
from (select max(id) as id from added) as counted
