-- $1 the transactions that were noted, with blanks in between
--
-- Those that are still open, by their processes. One that is prepared has none, and after a restart of the server another name: as
-- long as any prepared one has written to the outbox, it may be one of them.
select distinct held.pid, activity.xact_start as since
from pg_locks as held
left join pg_stat_activity as activity on activity.pid = held.pid
where held.locktype = 'relation'
    and held.database = (select oid from pg_database where datname = current_database())
    and held.relation in ('aftercommit.outbox'::regclass, 'aftercommit.ledger'::regclass)
    and held.mode = 'RowExclusiveLock'
    and held.granted
    and (held.virtualtransaction = any(string_to_array($1, ' ')) or held.pid is null)
order by since, pid
