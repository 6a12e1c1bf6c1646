-- Few at once, and none that another request forgets just now: it would be waited for.
delete from aftercommit.outbox_request
where key in (
    select key from aftercommit.outbox_request where came_at < now() - interval '7 days'
    order by came_at limit 100 for update skip locked
)
