-- $1 replay
--
-- Notes who is writing to the outbox: such a transaction has this lock before it takes its first outbox id, and until its rows can
-- be seen. So no other transaction of this database or another one is waited for, however old its snapshot is.
update aftercommit.replay set waits_for = (
    select string_agg(distinct held.virtualtransaction, ' ')
    from pg_locks as held
    where held.locktype = 'relation'
        and held.database = (select oid from pg_database where datname = current_database())
        and held.relation in ('aftercommit.outbox'::regclass, 'aftercommit.ledger'::regclass)
        and held.mode = 'RowExclusiveLock'
        and held.granted
)
where id = $1
