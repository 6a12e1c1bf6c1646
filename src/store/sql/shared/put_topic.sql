-- $1 name, $2 kind, $3 most bytes of a payload. A topic that has rows keeps its kind: they mean what they meant.
insert into aftercommit.topic as topic (name, kind, max_payload_bytes) values ($1, $2, $3)
on conflict (name) do update set kind = excluded.kind, max_payload_bytes = excluded.max_payload_bytes
where topic.kind = excluded.kind
    or not exists (select 1 from aftercommit.outbox where outbox.topic = excluded.name)
