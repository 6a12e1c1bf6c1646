-- Who else works in this database: each session, the transaction that it has open, and whether that has written.
-- From the locks, which everybody may see: whose session is another user's hides the rest.
select
    activity.pid,
    max(held.virtualtransaction) filter (where held.locktype = 'virtualxid') as transaction,
    coalesce(bool_or(held.locktype = 'transactionid'), false) as writes
from pg_stat_activity as activity
left join pg_locks as held
    on held.pid = activity.pid and held.granted and held.mode = 'ExclusiveLock'
    and held.locktype in ('virtualxid', 'transactionid')
where activity.datname = current_database()
    and activity.pid <> pg_backend_pid()
    -- The database's own processes have no user.
    and activity.usesysid is not null
group by activity.pid
