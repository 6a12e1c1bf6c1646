-- Two programs may apply one configuration at once.
insert into aftercommit.route (topic, destination) values ($1, $2) on conflict (topic, destination) do nothing
