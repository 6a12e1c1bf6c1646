-- $1 destination, $2 outbox ids
--
-- What is on the wire is due already. Attempts and key epoch stay, so a record that is under way is not disturbed.
update owed set due_at = now()
where destination = $1 and outbox_id in (select value from json_each($2)) and due_at > now()
returning outbox_id
