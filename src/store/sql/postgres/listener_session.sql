-- For the connection that listens. The server ends it when its relay says nothing for long, be it that the relay was
-- stopped or that the network is cut: every producer would go on to notify a relay that sleeps for ever.
select
    set_config('idle_session_timeout', '30s', false),
    set_config('tcp_keepalives_idle', '10', false),
    set_config('tcp_keepalives_interval', '5', false),
    set_config('tcp_keepalives_count', '3', false)
