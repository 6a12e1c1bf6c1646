insert into outbox (topic, row_key, row_version, op, payload, headers)
values ($1, $2, $3, $4, $5, $6);

-- `id` is null where the trigger drops the row; `stale` is 1 if that was because a newer version is known.
select
    iif(changes() > 0, last_insert_rowid(), null) as id,
    (
        select count(*) from ledger
        where topic = $1 and identity = $2 and $4 in ('upsert', 'delete') and $3 < row_version
            and (fingerprint, op) <> (iif($4 = 'delete', 'null', $5), $4)
    ) as stale
