-- The first one stays: it goes into every key.
insert into aftercommit.setting (name, value) values ('namespace', $1) on conflict (name) do nothing
