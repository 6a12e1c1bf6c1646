-- $1 when the connection was asked for, by the server's clock (microseconds since 1970)
--
-- A session that is older than the connection belongs to a pooler, which lends it: nothing may be left in it.
select pg_backend_pid() as session, extract(epoch from backend_start) * 1000000 < $1 as lent
from pg_stat_activity
where pid = pg_backend_pid()
