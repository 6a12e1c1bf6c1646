-- $1 name, $2 rows read, $3 line, $4 digest; $5 and $6 rows and digest of the checkpoint from which the run went on, if there was one
--
-- Nothing is written where another run has moved it meanwhile.
insert into aftercommit.checkpoint (name, rows_read, line, digest, kept_at)
select $1, $2, $3, $4, now()
-- What SQLite needs to tell `on conflict` from a join.
where true
on conflict (name) do update set
    rows_read = excluded.rows_read, line = excluded.line, digest = excluded.digest, kept_at = excluded.kept_at
where checkpoint.rows_read = $5 and checkpoint.digest = $6
