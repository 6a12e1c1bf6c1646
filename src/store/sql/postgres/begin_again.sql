-- $1 replay, $2 what it waited for
--
-- From the first row on, to the last one that those transactions can have written.
update aftercommit.replay set
    waits_for = null,
    cursor_outbox_id = 0,
    cursor_destination = '',
    last_outbox_id = greatest(last_outbox_id, (select last_value from aftercommit.outbox_id_seq where is_called))
where id = $1 and state = 'running' and waits_for = $2
