-- The tables of Aftercommit, column for column those of the PostgreSQL migration of the same name; why they are so is
-- said there. Here: times are integers, microseconds since 1970 in UTC (text times sort wrong between the `T` and the
-- blank), and `now` has milliseconds. Producers may bring an older library, so triggers and defaults stay within SQLite 3.40.

-- Facts about this database as a whole: `namespace` (goes into every key), `max_payload_bytes`.
create table setting (
    name text primary key,
    value text not null
) without rowid;

create table topic (
    name text primary key check (length(cast(name as blob)) between 1 and 255),
    kind text not null check (kind in ('event', 'state')),
    -- Here, not in `setting`, since the trigger reads the topic's row anyway.
    max_payload_bytes integer not null
) without rowid;

create table route (
    topic text not null,
    destination text not null check (destination <> ''),
    primary key (topic, destination)
) without rowid;

-- Append-only and wide. `payload` is text: the bytes that were written are the bytes that are sent.
-- There is one writer at a time, so ids ascend in commit order.
create table outbox (
    id integer primary key autoincrement,
    topic text not null,
    row_key text not null check (length(cast(row_key as blob)) between 1 and 1024),
    row_version integer,
    generation integer not null default 1,
    op text not null check (op in ('upsert', 'delete', 'event')),
    -- Never null, but for the moment between the insert of a delete and its trigger.
    payload text check (payload is not null or op = 'delete'),
    headers text,
    created_at integer not null default (cast(round((julianday('now') - 2440587.5) * 86400000) as integer) * 1000)
);
-- For "the newest row of a key", replays of older rows, and people who look for a row.
create index outbox_row on outbox (topic, row_key, id);

-- What has been admitted. `identity` is the row key (state topics) or key, version and content in one text (events).
-- `admitted` tells the trigger what its own upsert decided; it means nothing afterwards.
create table ledger (
    topic text not null,
    identity text not null,
    fingerprint text not null,
    row_version integer,
    generation integer not null,
    op text not null,
    outbox_id integer not null,
    admitted integer not null,
    seen_at integer not null default (cast(round((julianday('now') - 2440587.5) * 86400000) as integer) * 1000),
    primary key (topic, identity)
) without rowid;

-- One row per delivery that has not ended; deleted when it ends. The hot table: as narrow as can be, its primary key
-- its only index. A topic without a route is owed to the destination ''.
-- The key leaves the slot out, so that one delivery can never stand under two shards.
create table owed (
    destination text not null,
    outbox_id integer not null,
    -- Always 0: one relay serves a SQLite database, and a destination has one shard.
    slot integer not null default 0 check (slot between 0 and 63),
    attempts integer not null default 0 check (attempts >= 0),
    -- Of the attempts, those that do not count against max_attempts.
    excused integer not null default 0 check (excused between 0 and attempts),
    key_epoch integer not null default 0 check (key_epoch >= 0),
    due_at integer not null default (cast(round((julianday('now') - 2440587.5) * 86400000) as integer) * 1000),
    owed_at integer not null default (cast(round((julianday('now') - 2440587.5) * 86400000) as integer) * 1000),
    -- The start of the first attempt that may have arrived without an answer.
    unknown_since integer,
    -- An operator asked to cancel it; it ends at its next settle, unless that is a success.
    cancel_at integer,
    -- What its first attempt was rendered under; null before that attempt has ended.
    rendering integer,
    -- A replay made a version of a row due again: it is not sent once a newer version has been delivered. What was never
    -- settled needs no such look, since the order of its row key goes by what is owed.
    guarded integer not null default 0 check (guarded in (0, 1)),
    primary key (destination, outbox_id)
) without rowid;

-- Seldom any rows, so it costs an insert nothing: how a dispatcher learns what it is to cancel.
create index owed_cancel on owed (destination, outbox_id) where cancel_at is not null;

-- One row per delivery that has ended, or waits for a person.
create table settled (
    outbox_id integer not null,
    destination text not null,
    state text not null,
    reason text not null,
    at integer not null default (cast(round((julianday('now') - 2440587.5) * 86400000) as integer) * 1000),
    attempts integer not null,
    key_epoch integer not null,
    -- What it was sent under: a replay under the same key sends the same bytes. Null if it was never attempted.
    rendering integer,
    primary key (outbox_id, destination),
    check (
        (state = 'delivered' and reason in ('accepted', 'confirmed'))
        or (state = 'dead' and reason in ('refused', 'stored_failure', 'attempts_exhausted', 'age_exhausted',
            'not_canonical', 'not_renderable'))
        or (state = 'uncertain' and reason in ('outcome_unknown', 'window_passed'))
        or (state = 'superseded' and reason = 'newer_version')
        or (state = 'cancelled' and reason = 'operator')
    )
) without rowid;
-- Few rows, often asked for: what is in trouble and why, and which row keys an uncertain delivery holds. What is counted by
-- destination, state and reason, and the oldest of each, comes from the index alone; what ends well never enters it.
create index settled_trouble on settled (destination, state, reason, outbox_id)
    where state in ('dead', 'uncertain');

-- What people query. `select state, count(*) from delivery group by 1`
create view delivery as
    select outbox_id, destination, 'pending' as state, null as reason, null as settled_at, attempts,
        key_epoch, due_at, owed_at, unknown_since, cancel_at
    from owed
    where destination <> ''
    union all
    select outbox_id, destination, state, reason, at, attempts, key_epoch, null, null, null, null
    from settled;

-- Append-only history: what was sent, and what came back.
create table attempt (
    outbox_id integer not null,
    destination text not null,
    number integer not null,
    key_epoch integer not null,
    lease_epoch integer not null,
    outcome text not null check (outcome in ('accepted', 'throttled', 'refused', 'unreachable', 'unknown')),
    http_status integer,
    started_at integer not null,
    duration_us integer not null,
    -- The key as it stood in the header, and the SHA-256 of the body; null where a crash took the knowledge.
    key text,
    body_digest blob,
    detail text,
    excerpt text,
    primary key (outbox_id, destination, number)
) without rowid;

-- The write-ahead record of what is in flight: one row a batch. `entries` is a list of [outbox_id, attempt, key_epoch].
create table dispatch (
    relay text not null,
    sequence integer not null,
    destination text not null,
    shard integer not null,
    shards integer not null,
    epoch integer not null,
    rendering integer not null,
    entries text not null,
    -- The receiver's id of the job that the entries travel by: whoever takes over asks what became of it. Null: they are sent
    -- by requests, or nothing of the job has been sent.
    job text,
    at integer not null default (cast(round((julianday('now') - 2440587.5) * 86400000) as integer) * 1000),
    primary key (relay, sequence)
) without rowid;
create index dispatch_destination on dispatch (destination);

-- The parts of destination configurations that requests were rendered under, by content.
create table rendering (
    id integer primary key autoincrement,
    digest blob not null unique,
    spec text not null
);

-- One heartbeat row per process.
create table relay (
    id text primary key,
    version text not null,
    started_at integer not null default (cast(round((julianday('now') - 2440587.5) * 86400000) as integer) * 1000),
    beat_at integer not null default (cast(round((julianday('now') - 2440587.5) * 86400000) as integer) * 1000)
) without rowid;

-- Written only when ownership changes. `epoch` is the fencing token: it grows with each change.
create table lease (
    destination text not null,
    shard integer not null,
    -- Into how many the destination was divided when the lease was taken last.
    shards integer not null default 1,
    owner text,
    epoch integer not null default 0,
    primary key (destination, shard)
) without rowid;

create table destination_state (
    destination text primary key,
    paused_at integer,
    paused_by text,
    pause_reason text
) without rowid;

-- Shards that fail: a row while no request works, from when that lasts or the breaker has opened, so that a restart does
-- not forget it. Written only when that changes.
create table failing (
    destination text not null,
    shard integer not null,
    -- Since when no request has worked.
    since integer not null,
    breaker_opened_at integer,
    -- Deliveries that were owed when it began to fail die from then on.
    dying_from integer not null,
    detail text not null,
    primary key (destination, shard)
) without rowid;

-- What receivers said last of their daily limits: written at most every few seconds, and read for status only.
create table usage (
    destination text primary key,
    used integer not null,
    allowed integer not null,
    -- While fewer than so many calls are left, nothing is sent: they are others'.
    reserve integer not null,
    heard_at integer not null
) without rowid;

-- What relays did, by the minute, for charts: a relay adds what it has counted every ten seconds, so a crash loses at most
-- that much, and a count belongs to the minute in which it was written. Kept for two days.
create table tally (
    -- Minutes since 1970.
    minute integer not null,
    destination text not null,
    delivered integer not null,
    -- Attempts that were not accepted.
    failed integer not null,
    -- The minute first: what is read, and what is forgotten, is a range of it.
    primary key (minute, destination)
) without rowid;

-- A durable, audited job that makes deliveries due again. `filter` is the request as it was made.
create table replay (
    id integer primary key autoincrement,
    state text not null default 'running' check (state in ('running', 'paused', 'done', 'cancelled')),
    filter text not null,
    key_mode text not null check (key_mode in ('same', 'new')),
    force integer not null default 0,
    -- Deliveries a second that it makes due at most; null: as fast as it goes.
    rate integer check (rate > 0),
    reason text not null,
    requested_by text not null,
    -- The Idempotency-Key of the request, and the digest of what it asked for.
    request_key text unique,
    request_digest blob,
    -- Where the job stands: deliveries up to and including this one have been looked at.
    cursor_outbox_id integer not null default 0,
    cursor_destination text not null default '',
    -- Rows that were written after the request are not its concern.
    last_outbox_id integer not null,
    requeued integer not null default 0,
    left_alone integer not null default 0,
    in_flight integer not null default 0,
    skipped integer not null default 0,
    -- Its rate lets it go on from then.
    next_step_at integer not null default (cast(round((julianday('now') - 2440587.5) * 86400000) as integer) * 1000),
    -- Deliveries that a step looks at, once a larger one has run into a time-out; null: as many as a relay takes.
    step_rows integer check (step_rows > 0),
    -- As on PostgreSQL, and always null: whoever asks for a replay writes, so nobody else does.
    waits_for text,
    created_at integer not null default (cast(round((julianday('now') - 2440587.5) * 86400000) as integer) * 1000),
    finished_at integer
);
-- Of many that have ended, those that go on.
create index replay_running on replay (id) where state = 'running';

-- Who changed what, from where, why, and when. Written in the transaction of the change.
create table audit (
    id integer primary key autoincrement,
    at integer not null default (cast(round((julianday('now') - 2440587.5) * 86400000) as integer) * 1000),
    actor text not null,
    origin text not null,
    action text not null,
    subject text not null,
    reason text,
    detail text
);

-- Who may look and who may change something. Of the token itself only its SHA-256 is kept. A name is never given twice, since
-- the audit knows people by it: what ends stays here.
create table token (
    name text primary key,
    role text not null check (role in ('viewer', 'operator')),
    digest blob not null unique,
    created_at integer not null,
    created_by text not null,
    expires_at integer,
    revoked_at integer
) without rowid;

-- How far inputs have been enqueued that are committed in batches: a run that did not come to its end goes on from there.
create table checkpoint (
    name text primary key,
    rows_read integer not null,
    line integer not null,
    -- Of all rows that were read: another input under the same name begins anew.
    digest blob not null,
    kept_at integer not null default (cast(round((julianday('now') - 2440587.5) * 86400000) as integer) * 1000)
) without rowid;

-- Requests that enqueued rows over HTTP, by their Idempotency-Key, and what was answered. Forgotten after seven days.
create table outbox_request (
    key text primary key,
    digest blob not null,
    -- Null until the transaction that claimed the key is about to commit.
    admitted integer,
    unchanged integer,
    stale integer,
    came_at integer not null default (cast(round((julianday('now') - 2440587.5) * 86400000) as integer) * 1000)
) without rowid;
create index outbox_request_came on outbox_request (came_at);
