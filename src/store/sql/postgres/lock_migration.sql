-- Programs that migrate wait for one another, until the end of the transaction.
select pg_advisory_xact_lock(hashtextextended('aftercommit migration', 0))
