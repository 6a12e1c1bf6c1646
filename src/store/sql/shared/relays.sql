select id, version, started_at, beat_at, now() as now from aftercommit.relay order by started_at, id
