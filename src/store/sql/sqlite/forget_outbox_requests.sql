delete from outbox_request
where key in (select key from outbox_request where came_at < now() - 7 * 86400000000 order by came_at limit 100)
