select pg_backend_pid() as session, pg_advisory_unlock(aftercommit.sleepers_lock()) as was_asleep
