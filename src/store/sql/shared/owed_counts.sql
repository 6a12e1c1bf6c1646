-- Grouped in the order of the primary key.
select destination, count(*) as owed, sum(case when due_at <= now() then 1 else 0 end) as due, min(owed_at) as oldest_owed_at
from aftercommit.owed
group by destination
