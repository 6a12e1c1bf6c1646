-- Only while nothing has been written: it goes into every key.
update aftercommit.setting set value = $1
where name = 'namespace' and value <> $1 and not exists (select 1 from aftercommit.outbox)
