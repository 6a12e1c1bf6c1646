-- $1 destination, $2 shard, $3 of how many, $4 owner, $5 epoch of the lease
-- $6 relay, $7 sequence, $8 rendering of the dispatch to begin, $9 its entries
-- $10 settlements, $11 dispatches that are finished
--
-- What the statement for PostgreSQL does in its parts, one after the other, in one transaction. Why each part is so, is
-- said there. Each part picks its settlements anew: those it may carry out, and of those the ones of its kind.
-- `cross join` is how SQLite is told to look up by key from left to right.

-- An attempt that ended is history, whatever has become of its delivery. Only what was unknown can be known better.
insert into attempt (
    outbox_id, destination, number, key_epoch, lease_epoch, outcome, http_status, started_at, duration_us, key,
    body_digest, detail, excerpt
)
select
    value ->> 'outbox_id', $1, value ->> 'number', value ->> 'key_epoch', $5, value ->> 'outcome', value ->> 'http_status',
    value ->> 'started_at', value ->> 'duration_us', value ->> 'key', unhex(value ->> 'body_digest'), value ->> 'detail',
    value ->> 'excerpt'
from json_each($10)
where value ->> 'number' is not null
    and (
        value ->> 'kind' = 'success'
        or exists (select 1 from lease where destination = $1 and shard = $2 and owner = $4 and epoch = $5)
    )
on conflict (outbox_id, destination, number) do update set
    outcome = excluded.outcome,
    http_status = excluded.http_status,
    duration_us = excluded.duration_us,
    key = coalesce(excluded.key, attempt.key),
    body_digest = coalesce(excluded.body_digest, attempt.body_digest),
    detail = excluded.detail,
    excerpt = excluded.excerpt
where attempt.outcome = 'unknown' and excluded.outcome <> 'unknown';

insert into settled (outbox_id, destination, state, reason, attempts, key_epoch, rendering)
select
    owed.outbox_id, $1, value ->> 'state', value ->> 'reason', max(owed.attempts, coalesce(value ->> 'number', 0)),
    owed.key_epoch, coalesce(owed.rendering, value ->> 'rendering')
from json_each($10)
cross join owed on owed.destination = $1 and owed.outbox_id = value ->> 'outbox_id' and owed.key_epoch = value ->> 'key_epoch'
where value ->> 'kind' = 'success'
    or (
        value ->> 'kind' = 'end'
        and owed.attempts = value ->> 'attempts_before'
        and owed.slot % $3 = $2
        and exists (select 1 from lease where destination = $1 and shard = $2 and owner = $4 and epoch = $5)
    )
on conflict (outbox_id, destination) do update set
    state = excluded.state,
    reason = excluded.reason,
    at = now(),
    attempts = excluded.attempts,
    key_epoch = excluded.key_epoch,
    rendering = excluded.rendering;

-- The same choice as above.
delete from owed
where destination = $1
    and outbox_id in (
        select owed.outbox_id
        from json_each($10)
        cross join owed
            on owed.destination = $1 and owed.outbox_id = value ->> 'outbox_id' and owed.key_epoch = value ->> 'key_epoch'
        where value ->> 'kind' = 'success'
            or (
                value ->> 'kind' = 'end'
                and owed.attempts = value ->> 'attempts_before'
                and owed.slot % $3 = $2
                and exists (select 1 from lease where destination = $1 and shard = $2 and owner = $4 and epoch = $5)
            )
    );

-- A receiver can have taken what was given up meanwhile, or left to a person.
-- From the settlements to the table, never the other way round: a condition that names $1 itself would invite that.
with given as materialized (select $1 as destination, value from json_each($10) where value ->> 'kind' = 'success')
update settled set
    state = value ->> 'state',
    reason = value ->> 'reason',
    at = now(),
    attempts = max(attempts, coalesce(value ->> 'number', 0)),
    rendering = coalesce(rendering, value ->> 'rendering')
from given
where outbox_id = value ->> 'outbox_id'
    and settled.destination = given.destination
    and key_epoch = value ->> 'key_epoch'
    and state in ('uncertain', 'dead');

with given as materialized (select $1 as destination, value from json_each($10) where value ->> 'kind' = 'retry')
update owed set
    attempts = coalesce(value ->> 'number', attempts),
    excused = excused + (value ->> 'excused'),
    due_at = now() + (value ->> 'after_us'),
    unknown_since = coalesce(unknown_since, value ->> 'unknown_since'),
    rendering = coalesce(rendering, value ->> 'rendering')
from given
where owed.destination = given.destination
    and outbox_id = value ->> 'outbox_id'
    and key_epoch = value ->> 'key_epoch'
    and attempts = value ->> 'attempts_before'
    and slot % $3 = $2
    and exists (select 1 from lease where destination = $1 and shard = $2 and owner = $4 and epoch = $5);

with given as materialized (select $1 as destination, value from json_each($10) where value ->> 'kind' = 'supersede')
update settled set state = 'superseded', reason = 'newer_version', at = now()
from given
where outbox_id = value ->> 'outbox_id'
    and settled.destination = given.destination
    and state = 'uncertain'
    and exists (select 1 from lease where destination = $1 and shard = $2 and owner = $4 and epoch = $5);

delete from dispatch
where (relay, sequence) in (select value ->> 'relay', value ->> 'sequence' from json_each($11))
    and exists (select 1 from lease where destination = $1 and shard = $2 and owner = $4 and epoch = $5)
    -- One from when the destination was divided otherwise can hold entries of several shards: the last one ends it.
    and (shards = $3 or not exists (
        select 1 from json_each(dispatch.entries)
        cross join owed on owed.destination = $1 and owed.outbox_id = value ->> 0
        where owed.attempts = (value ->> 1) - 1 and owed.key_epoch = value ->> 2 and owed.slot % $3 <> $2
    ));

insert into dispatch (relay, sequence, destination, shard, shards, epoch, rendering, entries)
select
    $6, $7, $1, $2, $3, $5, $8,
    json_group_array(
        json_array(value ->> 'outbox_id', value ->> 'attempt', value ->> 'key_epoch') order by owed.outbox_id
    )
from json_each($9)
cross join owed on owed.destination = $1 and owed.outbox_id = value ->> 'outbox_id'
where attempts = (value ->> 'attempt') - 1
    and key_epoch = value ->> 'key_epoch'
    and slot % $3 = $2
    and cancel_at is null
    and exists (select 1 from lease where destination = $1 and shard = $2 and owner = $4 and epoch = $5)
    and not exists (select 1 from destination_state where destination = $1 and paused_at is not null)
    -- What a replay made due again, and a newer version that was delivered since then, or may have been, has overtaken.
    and not (guarded and exists (
        select 1 from outbox as older
        cross join outbox as newer
            on newer.topic = older.topic and newer.row_key = older.row_key and newer.id > older.id
        cross join settled on settled.outbox_id = newer.id and settled.destination = $1
        where older.id = owed.outbox_id
            and (settled.state in ('delivered', 'uncertain') or exists (
                select 1 from attempt
                where outbox_id = newer.id
                    and destination = $1
                    and key_epoch = settled.key_epoch
                    and outcome = 'unknown'
            ))
    ))
having count(*) > 0
on conflict (relay, sequence) do nothing;

with asked as materialized (
    -- The same choice as above.
    select
        owed.outbox_id,
        guarded and exists (
            select 1 from outbox as older
            cross join outbox as newer
                on newer.topic = older.topic and newer.row_key = older.row_key and newer.id > older.id
            cross join settled on settled.outbox_id = newer.id and settled.destination = $1
            where older.id = owed.outbox_id
                and (settled.state in ('delivered', 'uncertain') or exists (
                    select 1 from attempt
                    where outbox_id = newer.id
                        and destination = $1
                        and key_epoch = settled.key_epoch
                        and outcome = 'unknown'
                ))
        ) as overtaken
    from json_each($9)
    cross join owed on owed.destination = $1 and owed.outbox_id = value ->> 'outbox_id'
    where attempts = (value ->> 'attempt') - 1
        and key_epoch = value ->> 'key_epoch'
        and slot % $3 = $2
        and cancel_at is null
        and exists (select 1 from lease where destination = $1 and shard = $2 and owner = $4 and epoch = $5)
        and not exists (select 1 from destination_state where destination = $1 and paused_at is not null)
)
select
    now() as now,
    exists (select 1 from lease where destination = $1 and shard = $2 and owner = $4 and epoch = $5) as leased,
    exists (select 1 from destination_state where destination = $1 and paused_at is not null) as paused,
    (select json_group_array(outbox_id order by outbox_id) from asked where not overtaken) as begun,
    (select json_group_array(outbox_id order by outbox_id) from asked where overtaken) as overtaken
