-- Admission: what becomes of a row that a pipeline inserts into the outbox, decided in the pipeline's own transaction.
--
--   insert ──▶ admit(), for each row: refused with an error, dropped as known, or admitted with an id and a generation
--          ──▶ owe(), for each statement: one owed row per route of each admitted row
--
-- A producer needs no more than
--     grant usage on schema aftercommit to …; grant insert on aftercommit.outbox to …;
-- because both functions run with their owner's rights. So their search_path is fixed, names are written in full (then
-- every error's CONTEXT names `aftercommit.admit()`), and nobody else may hang them on a table of their own.
--
-- Producers in READ COMMITTED wait for one another on a row key. Transactions that take keys in different orders can
-- deadlock (40P01), and stricter isolation can meet 40001: the producer's own retry of its transaction repeats safely.

-- The slot of a row: rows of one key are dispatched by one shard, whatever the number of shards. Six bits of SHA-256,
-- the last of its fourth byte. No more than `stable`, as `convert_to` is, or it would be called and not put in place.
create function aftercommit.slot_of(row_key text) returns integer
language sql stable parallel safe
as $$
    select get_byte(sha256(convert_to(row_key, 'UTF8')), 3) % 64
$$;

-- Detects a change of content. The text of jsonb knows no order of keys, so that another order is no change; the cast
-- also refuses what no receiver could read: NUL (`\u0000`) and lone surrogates.
create function aftercommit.fingerprint_of(payload json) returns bytea
language sql stable strict parallel safe
as $$
    select sha256(convert_to(payload::jsonb::text, 'UTF8'))
$$;

-- Whether a row has another content than the ledger holds.
create function aftercommit.is_change(known_fingerprint bytea, known_op text, fingerprint bytea, op text) returns boolean
language sql immutable parallel safe
as $$
    select (known_fingerprint, known_op) is distinct from (fingerprint, op)
$$;

-- Whether a row tells the ledger anything: another content or a newer version, and no older one.
create function aftercommit.is_news(
    known_fingerprint bytea, known_op text, known_version bigint, fingerprint bytea, op text, row_version bigint
) returns boolean
language sql immutable parallel safe
as $$
    select (
            (known_fingerprint, known_op) is distinct from (fingerprint, op)
            or row_version > known_version
            or (known_version is null and row_version is not null)
        )
        and not coalesce(row_version < known_version, false)
$$;

-- Tells events apart: two are one fact if row key, version and content are equal. The length says where the key ends.
create function aftercommit.fingerprint_of_event(row_key text, row_version bigint, payload json) returns bytea
language sql stable parallel safe
as $$
    select sha256(convert_to(
        octet_length(row_key) || ':' || row_key || ',' || coalesce(row_version::text, '-') || ',' || payload::jsonb::text,
        'UTF8'))
$$;

-- Headers are an object whose values are strings. `strict`, because the lax mode looks into lists.
create function aftercommit.are_headers(headers jsonb) returns boolean
language sql immutable strict parallel safe
as $$
    select jsonb_typeof(headers) = 'object' and not jsonb_path_exists(headers, 'strict $.* ? (@.type() <> "string")')
$$;

-- Takes in a topic that nobody has registered, and returns it. Its first rows may come from several sessions at once:
-- they wait for the first, and then see its topic.
create function aftercommit.register_topic(new_topic text, kind_of_op text) returns aftercommit.topic
language plpgsql
as $$
declare
    registered aftercommit.topic;
begin
    if octet_length(new_topic) between 1 and 255 is not true then
        raise exception 'topic "%": the name has % bytes', left(new_topic, 40), octet_length(new_topic)
            using errcode = 'invalid_parameter_value', hint = 'The name of a topic has 1 to 255 bytes.';
    end if;
    insert into aftercommit.topic (name, kind, max_payload_bytes)
    values (new_topic, kind_of_op,
        coalesce((select value::integer from aftercommit.setting where name = 'max_payload_bytes'), 1048576))
    on conflict (name) do nothing;
    select * into strict registered from aftercommit.topic where name = new_topic;
    return registered;
end
$$;

create function aftercommit.admit() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
    kind_of_op text := case new.op when 'upsert' then 'state' when 'delete' then 'state' when 'event' then 'event' end;
    kind_of_topic text;
    max_bytes integer;
    row_identity text;
    content bytea;
    is_admitted boolean;
begin
    -- What is refused.
    if octet_length(new.row_key) between 1 and 1024 is not true then
        raise exception 'topic "%", row key "%": the row key has % bytes', new.topic, left(new.row_key, 40),
            octet_length(new.row_key)
            using errcode = 'invalid_parameter_value',
            hint = 'A row key has 1 to 1024 bytes; hash a longer one, for example with sha256.';
    elsif kind_of_op is null then
        raise exception 'topic "%", row key "%": op "%" is unknown', new.topic, new.row_key, new.op
            using errcode = 'invalid_parameter_value',
            hint = 'Write upsert or delete to a state topic, event to an event topic.';
    end if;

    select kind, max_payload_bytes into kind_of_topic, max_bytes from aftercommit.topic where name = new.topic;
    if not found then
        select kind, max_payload_bytes into kind_of_topic, max_bytes
        from aftercommit.register_topic(new.topic, kind_of_op);
    end if;

    if kind_of_topic <> kind_of_op then
        raise exception 'topic "%", row key "%": op "%" does not fit a topic of kind %', new.topic, new.row_key, new.op,
            kind_of_topic
            using errcode = 'invalid_parameter_value',
            hint = 'A state topic takes upsert and delete, an event topic takes event; write to another topic.';
    elsif new.op = 'delete' then
        if json_typeof(new.payload) <> 'null' then
            raise exception 'topic "%", row key "%": a delete carries a payload', new.topic, new.row_key
                using errcode = 'invalid_parameter_value',
                hint = 'Leave the payload of a delete out; to tell more of the row, upsert it first.';
        end if;
        new.payload := 'null';
    elsif new.payload is null then
        raise exception 'topic "%", row key "%": the payload is missing', new.topic, new.row_key
            using errcode = 'invalid_parameter_value', hint = 'Write ''null'' if the JSON value null is meant.';
    elsif octet_length(new.payload::text) > max_bytes then
        raise exception 'topic "%", row key "%": the payload has % bytes, more than the % allowed', new.topic, new.row_key,
            octet_length(new.payload::text), max_bytes
            using errcode = 'invalid_parameter_value',
            hint = 'Raise max_payload_bytes of the topic, or send a reference to what is large.';
    end if;
    if new.headers is not null and not aftercommit.are_headers(new.headers::jsonb) then
        raise exception 'topic "%", row key "%": the headers are not a JSON object of strings', new.topic, new.row_key
            using errcode = 'invalid_parameter_value', hint = 'Write, for example, {"traceparent": "00-…"}.';
    end if;

    if kind_of_topic = 'state' then
        row_identity := new.row_key;
        content := aftercommit.fingerprint_of(new.payload);
    else
        content := aftercommit.fingerprint_of_event(new.row_key, new.row_version, new.payload);
        row_identity := encode(content, 'hex');
    end if;

    -- The decision, under the lock of the ledger's row. Nothing may look at the ledger before it: what is equal now need
    -- not be so when an open transaction has committed. The id is taken here too, hence ids ascend per row key: who
    -- waited for the lock takes a new one. An equal row of a newer version is not admitted, but moves the version on.
    insert into aftercommit.ledger as known
        (topic, identity, fingerprint, row_version, generation, op, outbox_id, admitted)
    values (new.topic, row_identity, content, new.row_version, 1, new.op, nextval('aftercommit.outbox_id_seq'), true)
    on conflict (topic, identity) do update set
        admitted = aftercommit.is_change(known.fingerprint, known.op, excluded.fingerprint, excluded.op),
        generation = known.generation
            + aftercommit.is_change(known.fingerprint, known.op, excluded.fingerprint, excluded.op)::integer,
        outbox_id = case when aftercommit.is_change(known.fingerprint, known.op, excluded.fingerprint, excluded.op)
            then nextval('aftercommit.outbox_id_seq') else known.outbox_id end,
        fingerprint = excluded.fingerprint,
        op = excluded.op,
        row_version = greatest(known.row_version, excluded.row_version)
    where aftercommit.is_news(known.fingerprint, known.op, known.row_version,
        excluded.fingerprint, excluded.op, excluded.row_version)
    returning known.admitted, known.generation, known.outbox_id into is_admitted, new.generation, new.id;

    if is_admitted then
        return new;
    end if;
    return null;
end
$$;

-- How many of these rows, of which no two of a state topic share a key, the ledger does not take because it knows newer
-- versions of another content. Asked right after their insert, within its transaction, it is what the trigger decided. So
-- it is volatile: it sees what others committed while that insert waited for them. A plan that was made for few rows must
-- serve a large ledger, hence no joins but by key.
create function aftercommit.count_stale(topics text[], row_keys text[], row_versions bigint[], ops text[], payloads text[])
returns bigint
language sql volatile security definer set search_path = pg_catalog, pg_temp
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off
as $$
    select count(*)
    from unnest(topics, row_keys, row_versions, ops, payloads) as given (topic, row_key, row_version, op, payload)
    join aftercommit.ledger as known on known.topic = given.topic and known.identity = given.row_key
    where given.op in ('upsert', 'delete')
        and given.row_version < known.row_version
        and (known.fingerprint, known.op) is distinct from (
            aftercommit.fingerprint_of(case given.op when 'delete' then 'null' else given.payload end::json), given.op)
$$;

-- The wake-up, without a price. A relay that sleeps holds this advisory lock alone; who makes rows owed tries to share it
-- until its transaction ends. If it can, every relay is awake and nothing is said: the relay cannot fall asleep again
-- before that transaction has ended, and looks once more when it has. If it cannot, a relay sleeps and is notified.
-- A `notify` at each commit would take a lock of the whole database; so it is taken once for each time a relay sleeps.
create function aftercommit.sleepers_lock() returns bigint
language sql immutable parallel safe
as $$
    select hashtextextended('aftercommit', 0)
$$;

create function aftercommit.wake_relays() returns void
language plpgsql
as $$
begin
    if not pg_try_advisory_xact_lock_shared(aftercommit.sleepers_lock()) then
        perform pg_notify('aftercommit', '');
    end if;
end
$$;

-- A plan that was made while there were few routes must serve when there are many: a nested loop would not. A hash join needs no
-- order of the rows, which a merge join would have to make.
create function aftercommit.owe() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_nestloop = off set enable_mergejoin = off
    set enable_hashjoin = on
as $$
begin
    insert into aftercommit.owed (destination, outbox_id, slot)
    select coalesce(route.destination, ''), admitted.id, aftercommit.slot_of(admitted.row_key)
    from admitted
    left join aftercommit.route on route.topic = admitted.topic;
    if found then
        perform aftercommit.wake_relays();
    end if;
    return null;
end
$$;

revoke execute on function aftercommit.admit(), aftercommit.owe(), aftercommit.register_topic(text, text) from public;

-- What `compare` (0004) writes in sets has been through the ledger already; nobody but the owner's own functions can say so.
create trigger admit before insert on aftercommit.outbox
    for each row
    when (new.id is null or not (
        coalesce(current_setting('aftercommit.set_based', true), '') = 'on'
        and has_table_privilege('aftercommit.outbox'::regclass, 'TRUNCATE')
    ))
    execute function aftercommit.admit();
create trigger owe after insert on aftercommit.outbox referencing new table as admitted
    for each statement execute function aftercommit.owe();
