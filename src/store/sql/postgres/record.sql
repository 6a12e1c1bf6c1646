-- $1 destination, $2 shard, $3 of how many, $4 owner, $5 epoch of the lease
-- $6 relay, $7 sequence, $8 rendering of the dispatch to begin, $9 to $11 its entries
-- $12 to $30 settlements, $31 and $32 dispatches that are finished
--
-- It runs first without the parts in `again`: to look out for a conflict costs a sixth of it, and there is hardly ever
-- one. Where there is, the database refuses the whole, and it runs again as it stands here.
--
-- One statement, so one round trip and one transaction. All its parts read the same snapshot; what each part changes, it
-- checks again under the lock of the row. No delivery stands in two parts.
--
-- The tables go from empty to millions of rows while a plan lives, so every look-up must be by key, from the settlements
-- to the table and never the other way round, whatever the planner believes. For a join, `offset 0` keeps it from
-- turning the look-up round. A delete or an update cannot have that: there the key is compared with what the settlement
-- says, as the one member of a list, which can serve as a condition of the index only in the right direction.
with held as materialized (
    -- The lock makes the fence: who takes the lease over waits for this record, and then sees all that it wrote. The
    -- owner is the only one who locks the row, and nobody reads past a version of it: nothing piles up.
    select from aftercommit.lease
    where destination = $1 and shard = $2 and owner = $4 and epoch = $5
    for no key update
),
paused as materialized (
    select from aftercommit.destination_state where destination = $1 and paused_at is not null
),
settlement as materialized (
    -- A success is a fact, whoever reports it. Everything else needs the lease.
    select
        given.*, array[$1] as destinations, array[outbox_id] as outbox_ids, 'uncertain' as superseded_state,
        array['uncertain', 'dead'] as mistaken_states
    from unnest(
        $12::bigint[], $13::integer[], $14::integer[], $15::text[], $16::text[], $17::text[], $18::bigint[],
        $19::integer[], $20::timestamptz[], $21::integer[], $22::timestamptz[], $23::bigint[], $24::text[], $25::text[],
        $26::integer[], $27::bigint[], $28::bytea[], $29::text[], $30::text[]
    ) as given (
        outbox_id, key_epoch, attempts_before, kind, state, reason, after_us, excused, unknown_since, number, started_at,
        rendering, key, outcome, http_status, duration_us, body_digest, detail, excerpt
    )
    where kind = 'success' or exists (select from held)
),
-- An attempt that ended is history, whatever has become of its delivery. Only what was unknown can be known better.
attempted as (
    insert into aftercommit.attempt (
        outbox_id, destination, number, key_epoch, lease_epoch, outcome, http_status, started_at, duration_us, key,
        body_digest, detail, excerpt
    )
    select
        outbox_id, $1, number, key_epoch, $5, outcome, http_status, started_at, duration_us, key, body_digest, detail, excerpt
    from settlement
    where number is not null
    -- again {
    on conflict (outbox_id, destination, number) do update set
        outcome = excluded.outcome,
        http_status = excluded.http_status,
        duration_us = excluded.duration_us,
        key = coalesce(excluded.key, attempt.key),
        body_digest = coalesce(excluded.body_digest, attempt.body_digest),
        detail = excluded.detail,
        excerpt = excluded.excerpt
    where attempt.outcome = 'unknown' and excluded.outcome <> 'unknown'
    -- }
),
-- Of two settles at once, the delete lets one through. A success under an old key is no answer to what is owed now.
ended as (
    delete from aftercommit.owed using settlement
    where owed.destination = any (settlement.destinations)
        and owed.outbox_id = settlement.outbox_id
        and owed.key_epoch = settlement.key_epoch
        and (
            settlement.kind = 'success'
            or (settlement.kind = 'end' and owed.attempts = settlement.attempts_before and owed.slot % $3 = $2)
        )
    returning
        owed.outbox_id, settlement.state, settlement.reason, greatest(owed.attempts, settlement.number) as attempts,
        owed.key_epoch, coalesce(owed.rendering, settlement.rendering) as rendering
),
settled as (
    insert into aftercommit.settled (outbox_id, destination, state, reason, attempts, key_epoch, rendering)
    select outbox_id, $1, state, reason, attempts, key_epoch, rendering from ended
    -- again {
    -- A backfill that met a settle can owe once more what has ended: the last end counts.
    on conflict (outbox_id, destination) do update set
        state = excluded.state,
        reason = excluded.reason,
        at = now(),
        attempts = excluded.attempts,
        key_epoch = excluded.key_epoch,
        rendering = excluded.rendering
    -- }
),
-- A receiver can have taken what was given up meanwhile, or left to a person.
corrected as (
    update aftercommit.settled set
        state = settlement.state,
        reason = settlement.reason,
        at = now(),
        attempts = greatest(settled.attempts, settlement.number),
        rendering = coalesce(settled.rendering, settlement.rendering)
    from settlement
    where settlement.kind = 'success'
        and settled.outbox_id = any (settlement.outbox_ids)
        and settled.destination = any (settlement.destinations)
        and settled.key_epoch = settlement.key_epoch
        and settled.state = any (settlement.mistaken_states)
        -- One that was owed has its end above; no statement may write a row twice.
        and settlement.outbox_id not in (select outbox_id from ended)
),
retried as (
    update aftercommit.owed set
        attempts = coalesce(settlement.number, owed.attempts),
        excused = owed.excused + settlement.excused,
        due_at = now() + settlement.after_us * interval '1 microsecond',
        unknown_since = coalesce(owed.unknown_since, settlement.unknown_since),
        rendering = coalesce(owed.rendering, settlement.rendering)
    from settlement
    where settlement.kind = 'retry'
        and owed.destination = any (settlement.destinations)
        and owed.outbox_id = settlement.outbox_id
        and owed.key_epoch = settlement.key_epoch
        and owed.attempts = settlement.attempts_before
        and owed.slot % $3 = $2
),
superseded as (
    update aftercommit.settled set state = 'superseded', reason = 'newer_version', at = now()
    from settlement
    where settlement.kind = 'supersede'
        and settled.outbox_id = any (settlement.outbox_ids)
        and settled.destination = any (settlement.destinations)
        and settled.state = settlement.superseded_state
),
finished as (
    delete from aftercommit.dispatch using unnest($31::text[], $32::bigint[]) as given (relay, sequence)
    where dispatch.relay = any (array[given.relay])
        and dispatch.sequence = given.sequence
        and exists (select from held)
        -- One from when the destination was divided otherwise can hold entries of several shards: the last one ends it.
        and (dispatch.shards = $3 or not exists (
            select
            from json_array_elements(dispatch.entries)
            cross join lateral (
                select * from aftercommit.owed where destination = $1 and outbox_id = (value ->> 0)::bigint offset 0
            ) as owed
            where owed.attempts = (value ->> 1)::integer - 1
                and owed.key_epoch = (value ->> 2)::integer
                and owed.slot % $3 <> $2
        ))
),
-- What may begin. Of that, what a replay made due again has been overtaken if a newer version was delivered since then, or
-- may have arrived: only there is it looked up, the newest first.
asked as materialized (
    select
        entry.*,
        case when owed.guarded then exists (
            select
            from (select topic, row_key from aftercommit.outbox where id = entry.outbox_id offset 0) as older
            cross join lateral (
                select id from aftercommit.outbox
                where topic = older.topic and row_key = older.row_key and id > entry.outbox_id
                order by id desc
                offset 0
            ) as newer
            cross join lateral (
                select state, key_epoch from aftercommit.settled
                where outbox_id = newer.id and destination = $1
                offset 0
            ) as settled
            where settled.state in ('delivered', 'uncertain') or exists (
                select from aftercommit.attempt
                where attempt.outbox_id = newer.id
                    and attempt.destination = $1
                    and attempt.key_epoch = settled.key_epoch
                    and attempt.outcome = 'unknown'
                offset 0
            )
        ) else false end as overtaken
    from unnest($9::bigint[], $10::integer[], $11::integer[]) as entry (outbox_id, attempt, key_epoch)
    cross join lateral (
        select * from aftercommit.owed where destination = $1 and outbox_id = entry.outbox_id offset 0
    ) as owed
    where owed.attempts = entry.attempt - 1
        and owed.key_epoch = entry.key_epoch
        and owed.slot % $3 = $2
        and owed.cancel_at is null
        and exists (select from held)
        and not exists (select from paused)
),
dispatched as (
    insert into aftercommit.dispatch (relay, sequence, destination, shard, shards, epoch, rendering, entries)
    select $6, $7, $1, $2, $3, $5, $8, json_agg(json_build_array(outbox_id, attempt, key_epoch) order by outbox_id)
    from asked
    where not overtaken
    having count(*) > 0
    on conflict (relay, sequence) do nothing
)
select
    now() as now,
    exists (select from held) as leased,
    exists (select from paused) as paused,
    coalesce((select json_agg(outbox_id order by outbox_id) from asked where not overtaken), '[]')::text as begun,
    coalesce((select json_agg(outbox_id order by outbox_id) from asked where overtaken), '[]')::text as overtaken
