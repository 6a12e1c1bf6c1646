-- Fails while another relay sleeps, or a transaction is open that made rows owed while nobody slept.
select pg_backend_pid() as session, pg_try_advisory_lock(aftercommit.sleepers_lock()) as asleep
