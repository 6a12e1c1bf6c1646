-- Set once for each connection, after it is made; behind a pooler for each transaction ($4). Not at the start of a
-- connection: pgbouncer refuses the start-up parameter `options`.
--
-- $1 statement_timeout, $2 lock_timeout, $3 idle_in_transaction_session_timeout (milliseconds, as text), $4 for the
-- transaction alone
select
    set_config('statement_timeout', $1, $4),
    set_config('lock_timeout', $2, $4),
    set_config('idle_in_transaction_session_timeout', $3, $4),
    -- The server notices within half a minute that the network has swallowed its client, and ends what that had open.
    set_config('tcp_keepalives_idle', '15', $4),
    set_config('tcp_keepalives_interval', '5', $4),
    set_config('tcp_keepalives_count', '3', $4),
    set_config('tcp_user_timeout', '30000', $4),
    -- Every statement looks rows up by key or walks along a key. The tables go from empty to millions of rows and back
    -- within a minute, faster than their statistics: a plan that was right for ten rows must still be right then. So no
    -- plan reads a table from end to end or sorts what its key has in order, and a plan is made once.
    set_config('enable_seqscan', 'off', $4),
    set_config('enable_bitmapscan', 'off', $4),
    set_config('enable_hashjoin', 'off', $4),
    set_config('enable_mergejoin', 'off', $4),
    set_config('plan_cache_mode', 'force_generic_plan', $4),
    set_config('jit', 'off', $4),
    set_config('timezone', 'UTC', $4)
