-- Set once for each connection, after it is made. Not at its start: pgbouncer refuses the start-up parameter `options`.
select
    set_config('statement_timeout', $1, false),
    set_config('lock_timeout', $2, false),
    set_config('idle_in_transaction_session_timeout', $3, false),
    -- The server notices within half a minute that the network has swallowed its client, and ends what that had open.
    set_config('tcp_keepalives_idle', '15', false),
    set_config('tcp_keepalives_interval', '5', false),
    set_config('tcp_keepalives_count', '3', false),
    set_config('tcp_user_timeout', '30000', false),
    -- Every statement looks rows up by key or walks along a key. The tables go from empty to millions of rows and back
    -- within a minute, faster than their statistics: a plan that was right for ten rows must still be right then. So no
    -- plan reads a table from end to end or sorts what its key has in order, and a plan is made once.
    set_config('enable_seqscan', 'off', false),
    set_config('enable_bitmapscan', 'off', false),
    set_config('enable_hashjoin', 'off', false),
    set_config('enable_mergejoin', 'off', false),
    set_config('plan_cache_mode', 'force_generic_plan', false),
    set_config('jit', 'off', false),
    set_config('timezone', 'UTC', false)
