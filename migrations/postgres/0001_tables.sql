-- The tables of Aftercommit. Everything lives in the schema `aftercommit`, which the migrator creates.
--
-- Names compare bytewise (`collate "C"`), so that the order of keys is the same everywhere. There are no foreign keys
-- on the hot path: they would make multixacts, and every row that they would guard is written by one statement.

-- Facts about this database as a whole: `namespace` (goes into every key), `max_payload_bytes`.
create table aftercommit.setting (
    name text primary key,
    value text not null
);

create table aftercommit.topic (
    name text collate "C" primary key check (octet_length(name) between 1 and 255),
    kind text not null check (kind in ('event', 'state')),
    -- Here, not in `setting`, since the trigger reads the topic's row anyway.
    max_payload_bytes integer not null
);

create table aftercommit.route (
    topic text collate "C" not null,
    destination text collate "C" not null check (destination <> ''),
    primary key (topic, destination)
);

-- Append-only and wide. `payload` is json, not jsonb: the bytes that were written are the bytes that are sent.
-- The id has no default: the trigger assigns it under the ledger's lock, so that ids ascend per row key.
create table aftercommit.outbox (
    id bigint primary key,
    topic text collate "C" not null,
    row_key text collate "C" not null check (octet_length(row_key) between 1 and 1024),
    row_version bigint,
    generation bigint not null default 1,
    op text not null check (op in ('upsert', 'delete', 'event')),
    payload json not null,
    headers json,
    created_at timestamptz not null default now(),
    -- So that a read can be bounded by bytes without unpacking what it leaves out.
    payload_bytes integer not null generated always as (octet_length(payload::text)) stored
);
create sequence aftercommit.outbox_id_seq as bigint owned by aftercommit.outbox.id;
-- For "the newest row of a key", replays of older rows, and people who look for a row.
create index outbox_row on aftercommit.outbox (topic, row_key, id);

-- What has been admitted. `identity` is the row key (state topics) or a hash of key, version and content (events).
-- `admitted` tells the trigger what its own upsert decided; it means nothing afterwards.
create table aftercommit.ledger (
    topic text collate "C" not null,
    identity text collate "C" not null,
    fingerprint bytea not null,
    row_version bigint,
    generation bigint not null,
    op text not null,
    outbox_id bigint not null,
    admitted boolean not null,
    seen_at timestamptz not null default now(),
    primary key (topic, identity)
);

-- One row per delivery that has not ended; deleted when it ends. The hot table: as narrow as can be, its primary key
-- its only index. A topic without a route is owed to the destination ''.
-- The key leaves the slot out, so that one delivery can never stand under two shards.
create table aftercommit.owed (
    destination text collate "C" not null,
    outbox_id bigint not null,
    -- Follows from the row key. Of a destination that is divided into n shards, shard s has the slots with slot % n = s:
    -- so the number of shards can change without a write to any row.
    slot integer not null default 0 check (slot between 0 and 63),
    attempts integer not null default 0 check (attempts >= 0),
    -- Of the attempts, those that do not count against max_attempts.
    excused integer not null default 0 check (excused between 0 and attempts),
    key_epoch integer not null default 0 check (key_epoch >= 0),
    due_at timestamptz not null default now(),
    owed_at timestamptz not null default now(),
    -- The start of the first attempt that may have arrived without an answer.
    unknown_since timestamptz,
    -- An operator asked to cancel it; it ends at its next settle, unless that is a success.
    cancel_at timestamptz,
    -- What its first attempt was rendered under; null before that attempt has ended.
    rendering bigint,
    -- A replay made a version of a row due again: it is not sent once a newer version has been delivered. What was never
    -- settled needs no such look, since the order of its row key goes by what is owed.
    guarded boolean not null default false,
    primary key (destination, outbox_id)
) with (
    fillfactor = 90,
    -- The table turns over many times an hour while its size stays small: vacuum by count, at full speed.
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 20000,
    autovacuum_vacuum_insert_scale_factor = 0,
    autovacuum_vacuum_insert_threshold = 100000,
    autovacuum_vacuum_cost_delay = 0
);

-- Seldom any rows, so it costs an insert nothing: how a dispatcher learns what it is to cancel.
create index owed_cancel on aftercommit.owed (destination, outbox_id) where cancel_at is not null;

-- One row per delivery that has ended, or waits for a person.
create table aftercommit.settled (
    outbox_id bigint not null,
    destination text collate "C" not null,
    state text not null,
    reason text not null,
    at timestamptz not null default now(),
    attempts integer not null,
    key_epoch integer not null,
    -- What it was sent under: a replay under the same key sends the same bytes. Null if it was never attempted.
    rendering bigint,
    primary key (outbox_id, destination),
    check (
        (state = 'delivered' and reason in ('accepted', 'confirmed'))
        or (state = 'dead' and reason in ('refused', 'stored_failure', 'attempts_exhausted', 'age_exhausted',
            'not_canonical', 'not_renderable'))
        or (state = 'uncertain' and reason in ('outcome_unknown', 'window_passed'))
        or (state = 'superseded' and reason = 'newer_version')
        or (state = 'cancelled' and reason = 'operator')
    )
);
-- Few rows, often asked for: what is in trouble and why, and which row keys an uncertain delivery holds. What is counted by
-- destination, state and reason, and the oldest of each, comes from the index alone; what ends well never enters it.
create index settled_trouble on aftercommit.settled (destination, state, reason, outbox_id)
    where state in ('dead', 'uncertain');

-- What people query. `select state, count(*) from aftercommit.delivery group by 1`
create view aftercommit.delivery as
    select outbox_id, destination, 'pending' as state, null as reason, null::timestamptz as settled_at, attempts,
        key_epoch, due_at, owed_at, unknown_since, cancel_at
    from aftercommit.owed
    where destination <> ''
    union all
    select outbox_id, destination, state, reason, at, attempts, key_epoch, null, null, null, null
    from aftercommit.settled;

-- Append-only history: what was sent, and what came back.
create table aftercommit.attempt (
    outbox_id bigint not null,
    destination text collate "C" not null,
    number integer not null,
    key_epoch integer not null,
    lease_epoch bigint not null,
    outcome text not null check (outcome in ('accepted', 'throttled', 'refused', 'unreachable', 'unknown')),
    http_status integer,
    started_at timestamptz not null,
    duration_us bigint not null,
    -- The key as it stood in the header, and the SHA-256 of the body; null where a crash took the knowledge.
    key text,
    body_digest bytea,
    detail text,
    excerpt text,
    primary key (outbox_id, destination, number)
);

-- The write-ahead record of what is in flight: one row a batch. `entries` is a list of [outbox_id, attempt, key_epoch].
create table aftercommit.dispatch (
    relay text not null,
    sequence bigint not null,
    destination text collate "C" not null,
    shard integer not null,
    shards integer not null,
    epoch bigint not null,
    rendering bigint not null,
    entries json not null,
    -- The receiver's id of the job that the entries travel by: whoever takes over asks what became of it. Null: they are sent
    -- by requests, or nothing of the job has been sent.
    job text,
    at timestamptz not null default now(),
    primary key (relay, sequence)
);
create index dispatch_destination on aftercommit.dispatch (destination);

-- The parts of destination configurations that requests were rendered under, by content.
create table aftercommit.rendering (
    id bigint generated always as identity primary key,
    digest bytea not null unique,
    spec text not null
);

-- One heartbeat row per process.
create table aftercommit.relay (
    id text primary key,
    version text not null,
    started_at timestamptz not null default now(),
    beat_at timestamptz not null default now()
) with (fillfactor = 50);

-- Written only when ownership changes. `epoch` is the fencing token: it grows with each change.
create table aftercommit.lease (
    destination text collate "C" not null,
    shard integer not null,
    -- Into how many the destination was divided when the lease was taken last.
    shards integer not null default 1,
    owner text,
    epoch bigint not null default 0,
    primary key (destination, shard)
);

create table aftercommit.destination_state (
    destination text collate "C" primary key,
    paused_at timestamptz,
    paused_by text,
    pause_reason text
);

-- Shards that fail: a row while no request works, from when that lasts or the breaker has opened, so that a restart does
-- not forget it. Written only when that changes.
create table aftercommit.failing (
    destination text collate "C" not null,
    shard integer not null,
    -- Since when no request has worked.
    since timestamptz not null,
    breaker_opened_at timestamptz,
    -- Deliveries that were owed when it began to fail die from then on.
    dying_from timestamptz not null,
    detail text not null,
    primary key (destination, shard)
);

-- What receivers said last of their daily limits: written at most every few seconds, and read for status only.
create table aftercommit.usage (
    destination text collate "C" primary key,
    used bigint not null,
    allowed bigint not null,
    -- While fewer than so many calls are left, nothing is sent: they are others'.
    reserve bigint not null,
    heard_at timestamptz not null
);

-- What relays did, by the minute, for charts: a relay adds what it has counted every ten seconds, so a crash loses at most
-- that much, and a count belongs to the minute in which it was written. Kept for two days.
create table aftercommit.tally (
    -- Minutes since 1970: a number, so that both databases put minutes together alike.
    minute bigint not null,
    destination text collate "C" not null,
    delivered bigint not null,
    -- Attempts that were not accepted.
    failed bigint not null,
    -- The minute first: what is read, and what is forgotten, is a range of it.
    primary key (minute, destination)
);

-- A durable, audited job that makes deliveries due again. `filter` is the request as it was made.
create table aftercommit.replay (
    id bigint generated always as identity primary key,
    state text not null default 'running' check (state in ('running', 'paused', 'done', 'cancelled')),
    filter text not null,
    key_mode text not null check (key_mode in ('same', 'new')),
    force boolean not null default false,
    -- Deliveries a second that it makes due at most; null: as fast as it goes.
    rate bigint check (rate > 0),
    reason text not null,
    requested_by text not null,
    -- The Idempotency-Key of the request, and the digest of what it asked for.
    request_key text unique,
    request_digest bytea,
    -- Where the job stands: deliveries up to and including this one have been looked at.
    cursor_outbox_id bigint not null default 0,
    cursor_destination text collate "C" not null default '',
    -- Rows that were written after the request are not its concern.
    last_outbox_id bigint not null,
    requeued bigint not null default 0,
    left_alone bigint not null default 0,
    in_flight bigint not null default 0,
    skipped bigint not null default 0,
    -- Its rate lets it go on from then.
    next_step_at timestamptz not null default now(),
    -- Deliveries that a step looks at, once a larger one has run into a time-out; null: as many as a relay takes.
    step_rows bigint check (step_rows > 0),
    -- Of one for missing rows: the transactions that were writing to the outbox when it was asked for, while one of them may
    -- still be open. Their rows can come into sight below the cursor, so it begins again once all have ended.
    waits_for text,
    created_at timestamptz not null default now(),
    finished_at timestamptz
);
-- Of many that have ended, those that go on.
create index replay_running on aftercommit.replay (id) where state = 'running';

-- Who changed what, from where, why, and when. Written in the transaction of the change.
create table aftercommit.audit (
    id bigint generated always as identity primary key,
    at timestamptz not null default now(),
    actor text not null,
    origin text not null,
    action text not null,
    subject text not null,
    reason text,
    detail text
);

-- Who may look and who may change something. Of the token itself only its SHA-256 is kept. A name is never given twice, since
-- the audit knows people by it: what ends stays here.
create table aftercommit.token (
    name text collate "C" primary key,
    role text not null check (role in ('viewer', 'operator')),
    digest bytea not null unique,
    created_at timestamptz not null,
    created_by text not null,
    expires_at timestamptz,
    revoked_at timestamptz
);

-- How far inputs have been enqueued that are committed in batches: a run that did not come to its end goes on from there.
create table aftercommit.checkpoint (
    name text collate "C" primary key,
    rows_read bigint not null,
    line bigint not null,
    -- Of all rows that were read: another input under the same name begins anew.
    digest bytea not null,
    kept_at timestamptz not null default now()
);

-- Requests that enqueued rows over HTTP, by their Idempotency-Key, and what was answered. Forgotten after seven days.
create table aftercommit.outbox_request (
    key text primary key,
    digest bytea not null,
    -- Null until the transaction that claimed the key is about to commit.
    admitted bigint,
    unchanged bigint,
    stale bigint,
    came_at timestamptz not null default now()
);
create index outbox_request_came on aftercommit.outbox_request (came_at);
