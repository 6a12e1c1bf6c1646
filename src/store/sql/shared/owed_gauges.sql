-- By whether a delivery may be sent now. In the order of the primary key, so that nothing is sorted but what is counted.
select
    destination,
    case when due_at <= now() then 'due' else 'waiting' end as standing,
    count(*) as owed,
    min(owed_at) as oldest_owed_at,
    now() as now
from aftercommit.owed
group by destination, case when due_at <= now() then 'due' else 'waiting' end
