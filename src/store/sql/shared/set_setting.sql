insert into aftercommit.setting as setting (name, value) values ($1, $2)
on conflict (name) do update set value = excluded.value where setting.value <> excluded.value
