-- $1 replay
--
-- Its concern reaches as far as outbox ids have been taken, though the rows of some cannot be seen yet.
update aftercommit.replay set last_outbox_id = greatest(
    last_outbox_id, (select last_value from aftercommit.outbox_id_seq where is_called)
)
where id = $1
