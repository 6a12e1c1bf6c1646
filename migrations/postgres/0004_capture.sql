-- Capture: rows of a source are compared with the ledger, and what differs is admitted, in the pipeline's own transaction.

-- What a comparison came to, in rows.
create type aftercommit.compared as (
    admitted bigint,
    unchanged bigint,
    stale bigint,
    deleted bigint
);

-- A slice of a source, as it was understood.
create type aftercommit.slice as (
    -- SQL about a row that is called `source`.
    condition text,
    columns text[]
);

-- Reads a slice: columns beside literals, joined by `and`. Whoever may call `capture` must not run SQL with its owner's rights, so
-- the text is taken apart, and what is run is put together anew from the names and values that it was understood to hold.
create function aftercommit.slice_of(topic text, slice text) returns aftercommit.slice
language plpgsql immutable
as $$
declare
    -- In dollar quotes, so that no setting of the caller changes them; without groups of their own.
    blanks text := $p$[ \t\r\n]*$p$;
    name text := $p$"(?:[^"]|"")+"|[a-z_][a-z0-9_]*$p$;
    literal text := $p$(?:(?:date|timestamp|timestamptz)[ \t\r\n]*)?(?:'(?:[^']|'')*'|[-+]?[0-9]+(?:\.[0-9]+)?|true|false)$p$;
    term text := format($p$^%1$s(%2$s)%1$s(?:(=|<>|!=|<=|>=|<|>)%1$s(%3$s)|in%1$s\(((?:%1$s%3$s%1$s,)*%1$s%3$s%1$s)\)|is[ \t\r\n]+(not[ \t\r\n]+)?(null))%1$s(?:$|and\M(.*))$p$,
        blanks, name, literal);
    rest text := slice;
    part text[];
    column_name text;
    condition text;
    understood aftercommit.slice := row(null, '{}');
begin
    while rest is not null loop
        part := regexp_match(rest collate "C", term, 'i');
        if part is null then
            raise exception 'topic "%": the partition is not understood: %', topic, slice
                using errcode = 'invalid_parameter_value',
                hint = $h$Write columns beside literals, joined by "and": event_date = '2025-05-18' and region in ('eu', 'us')$h$;
        end if;
        column_name := case when part[1] like '"%' then replace(substr(part[1], 2, length(part[1]) - 2), '""', '"')
            else lower(part[1] collate "C") end;
        condition := case
            when part[2] is not null then format('source.%I %s %s', column_name, part[2], aftercommit.literal_of(part[3]))
            when part[4] is not null then (
                select format('source.%I in (%s)', column_name, string_agg(aftercommit.literal_of(each[1]), ', '))
                from regexp_matches(part[4] collate "C", format('(%s)', literal), 'gi') as each)
            else format(case when part[5] is null then 'source.%I is null' else 'source.%I is not null' end, column_name)
        end;
        understood.condition := concat_ws(' and ', understood.condition, condition);
        understood.columns := understood.columns || column_name;
        rest := part[7];
    end loop;
    return understood;
end
$$;

-- SQL for a literal of a slice.
create function aftercommit.literal_of(literal text) returns text
language sql immutable
as $$
    select case
        when quoted is not null then quote_literal(replace(quoted, $q$''$q$, $q$'$q$))
        when literal collate "C" ~ '^[-+]?[0-9.]+$' then literal
        else (literal ilike 't%')::text
    end
    from (select substring(literal from $p$'(.*)'$p$) as quoted) as read
$$;

-- Whether the statements of this transaction all see what its first one saw (REPEATABLE READ, SERIALIZABLE).
create function aftercommit.keeps_snapshot() returns boolean
language sql stable
as $$ select current_setting('transaction_isolation') in ('repeatable read', 'serializable') $$;

-- The columns of a relation, with types that take any value: a domain may refuse null, which stands for what a payload leaves out.
create function aftercommit.types_of(relation regclass, names text[]) returns text
language sql stable
as $$
    select string_agg(format('%I %s', attname, format_type(coalesce(nullif(typbasetype, 0), atttypid), -1)), ', ')
    from pg_catalog.pg_attribute join pg_catalog.pg_type on pg_type.oid = atttypid
    where attrelid = relation and attname = any (names) and attnum > 0 and not attisdropped
$$;

-- A payload with escapes, if any receiver can read it: a column of type json can hold NUL and lone surrogates, and nothing else can.
create function aftercommit.readable(topic text, row_key text, payload json) returns json
language plpgsql immutable
as $$
begin
    perform payload::jsonb;
    return payload;
exception when untranslatable_character or invalid_text_representation then
    raise exception 'topic "%", row key "%": the payload holds what is no text: %', topic, row_key, sqlerrm
        using errcode = 'invalid_parameter_value', hint = 'Take NUL and lone surrogates out of the column, or exclude it.';
end
$$;

-- Compares rows of a source with the ledger and admits what differs, in one statement and by the rules of `admit`.
-- `row_keys` are the rows to look at, sorted; null: all that `slice` takes in, and what is gone from there if `deletes`.
--
-- Rows that equal what the ledger holds are told by a look without a lock. In READ COMMITTED that is right: who wrote one
-- of them holds the row of the source, or the topic's lock (see `lock_topic`), until he has committed. Under a snapshot
-- that is older than that, every row goes through the ledger's lock, and meets 40001 where somebody came between.
--
-- A row key that the ledger does not know is inserted as such: the conflict clause costs as much again. Where another
-- producer brings it at the same moment, the statement fails as a whole and runs again with the clause.
create function aftercommit.compare(
    source aftercommit.source, reading aftercommit.reading, row_keys text[], slice aftercommit.slice, deletes boolean, carefully boolean
) returns aftercommit.compared
language plpgsql
as $$
declare
    rendered text;
    gone text := '';
    looked_at text := 'cardinality($2)';
    condition text := coalesce(slice.condition, 'true');
    result aftercommit.compared;
begin
    if row_keys is not null then
        rendered := format($q$
            select wanted.row_key, %s as row_version, case when (%s) is not null then %s end as payload
            from unnest($2) as wanted (row_key)
            left join %s on %s
            $q$, reading.row_version, reading.row_key, reading.payload, reading.from_item, reading.has_wanted_key);
    else
        rendered := format($q$
            select %s as row_key, %s as row_version, %s as payload
            from %s
            where %s
            $q$, reading.row_key, reading.row_version, reading.payload, reading.from_item, condition);
        looked_at := format('(select count(*) from %s where %s)', reading.from_item, condition);
    end if;
    if deletes then
        gone := format($q$
            union all
            select known.identity, null, 'delete', 'null', sha256('null'), false, null
            from aftercommit.ledger as known
            where known.topic = $1 and known.op = 'upsert'
                and not exists (select from %s where (%s) = known.identity)
            $q$, reading.from_item, reading.row_key);
        if slice.condition is not null then
            -- Which rows of the slice have gone, their last payloads say.
            gone := gone || format($q$
                and exists (
                    select from aftercommit.outbox, json_to_record(outbox.payload) as source (%s)
                    where outbox.id = known.outbox_id and %s
                )
                $q$, aftercommit.types_of(to_regclass(source.relation), slice.columns), condition);
        end if;
    end if;
    if not reading.is_unique then
        -- The newest of each row key. Without versions there is none, unless all are equal.
        rendered := format($q$
            select row_key, row_version,
                case when $5 or next_content is null or next_content = payload::text then payload
                else aftercommit.refuse(
                    format('topic "%%s": several rows with different content have the row key "%%s"', $1, row_key),
                    'Name the columns that tell rows apart as the key, or a version column: then the newest counts.')::json
                end as payload
            from (
                select row_key, row_version, payload, row_number() over newest as place, lead(payload::text) over newest as next_content
                from (%s) as every
                window newest as (partition by row_key order by row_version desc nulls first, payload::text desc)
            ) as ordered
            where place = 1
            $q$, rendered);
    end if;

    execute format($q$
        -- Without the fences (`offset 0`) what is named once here would be computed at each use.
        with rendered as (%1$s offset 0),
        here as (
            select
                case when octet_length(row_key) between 1 and 1024 then row_key
                else aftercommit.refuse(
                    case when row_key is null then format('topic "%%s": the row key of a row is null', $1)
                    else format('topic "%%s": the row key of a row is %%s bytes long', $1, octet_length(row_key)) end,
                    'A row key has 1 to 1024 bytes and no part that is null.')
                end as row_key,
                row_version,
                case when payload is null then 'delete' else 'upsert' end as op,
                coalesce(payload, 'null') as payload,
                sha256(convert_to(coalesce(payload, 'null')::text, 'UTF8')) as fingerprint
            from rendered
            offset 0
        ),
        changed as materialized (
            select here.row_key, here.row_version, here.op, here.payload, here.fingerprint,
                coalesce(here.row_version < known.row_version, false) as is_stale,
                case when known.op is null and not $4 then nextval('aftercommit.outbox_id_seq') end as new_id
            from here
            left join %2$s
            where case
                when here.op = 'delete' then known.op = 'upsert'
                else $3 or known.op is null
                    or aftercommit.is_news(known.fingerprint, known.op, known.row_version, here.fingerprint, here.op, here.row_version)
                    or here.row_version < known.row_version
                end
            %3$s
        ),
        inserted as (
            insert into aftercommit.ledger (topic, identity, fingerprint, row_version, generation, op, outbox_id, admitted)
            select $1, row_key, fingerprint, row_version, 1, op, new_id, true
            from changed
            where new_id is not null
            order by row_key
        ),
        met as (
            insert into aftercommit.ledger as known (topic, identity, fingerprint, row_version, generation, op, outbox_id, admitted)
            select $1, row_key, fingerprint, row_version, 1, op, nextval('aftercommit.outbox_id_seq'), true
            from changed
            where new_id is null and not is_stale
            order by row_key
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
            returning known.identity, known.generation, known.outbox_id, known.admitted
        ),
        written as (
            insert into aftercommit.outbox (id, topic, row_key, row_version, generation, op, payload)
            select id, $1, row_key, row_version, generation, op,
                case when octet_length(payload::text) <= (select max_payload_bytes from aftercommit.topic where name = $1)
                then case when strpos(payload::text, $b$\u$b$) = 0 then payload else aftercommit.readable($1, row_key, payload) end
                else aftercommit.refuse(
                    format('topic "%%s", row key "%%s": the payload has %%s bytes, more than allowed', $1, row_key,
                        octet_length(payload::text)),
                    'Raise max_payload_bytes of the topic, or exclude the column that is large.')::json
                end
            from (
                select new_id as id, 1 as generation, row_key, row_version, op, payload from changed where new_id is not null
                union all
                select met.outbox_id, met.generation, changed.row_key, changed.row_version, changed.op, changed.payload
                from met join changed on changed.row_key = met.identity
                where met.admitted
            ) as admitted
            returning op
        )
        select count(*) filter (where op = 'upsert'), %4$s, (select count(*) from changed where is_stale),
            count(*) filter (where op = 'delete')
        from written
        $q$,
        rendered,
        -- Few rows look each for its own; all of a topic at once are joined.
        case when row_keys is null
            then '(select * from aftercommit.ledger where topic = $1) as known on known.identity = here.row_key'
            else 'lateral (select * from aftercommit.ledger where topic = $1 and identity = here.row_key limit 1) as known on true'
        end,
        gone, looked_at)
    into result
    using source.topic, row_keys, aftercommit.keeps_snapshot(),
        carefully, source.version_column is not null;
    result.unchanged := greatest(0, result.unchanged - result.admitted - result.stale
        - case when row_keys is null then 0 else result.deleted end);
    return result;
end
$$;

revoke execute on function aftercommit.compare(aftercommit.source, aftercommit.reading, text[], aftercommit.slice, boolean, boolean) from public;

-- Orders those who compare rows of one topic. While the database itself keeps two writers of a row key apart, they need not
-- wait for one another; for a whole table, and otherwise, there is one at a time, until its transaction ends. A snapshot that is older
-- than the last whole comparison, or than what was attached last, meets 40001: it would miss what was admitted there.
create function aftercommit.take_turn(topic text, alone boolean) returns void
language plpgsql
as $$
begin
    if alone then
        perform pg_advisory_xact_lock(hashtextextended('aftercommit ' || topic, 0));
        update aftercommit.source set turn = turn + 1 where source.topic = take_turn.topic;
    else
        perform pg_advisory_xact_lock_shared(hashtextextended('aftercommit ' || topic, 0));
        if aftercommit.keeps_snapshot() then
            perform from aftercommit.source where source.topic = take_turn.topic for share;
        end if;
    end if;
end
$$;

-- The way from a set of rows to the outbox: with the fast statement, and if another producer came between, with the careful one.
create function aftercommit.admit_set(
    source aftercommit.source, reading aftercommit.reading, row_keys text[], slice aftercommit.slice, deletes boolean
) returns aftercommit.compared
language plpgsql security definer
    set search_path = pg_catalog, pg_temp
    set timezone = 'UTC' set datestyle = 'ISO, YMD' set extra_float_digits = 1 set intervalstyle = 'iso_8601' set bytea_output = 'hex'
    set array_nulls = on set lc_monetary = 'C' set xmlbinary = 'base64' set standard_conforming_strings = on
    -- Policies of rows would make them look as if they were gone: an error, then.
    set row_security = off
    set aftercommit.set_based = 'on'
    set work_mem = '64MB' set jit = off set gin_fuzzy_search_limit = 0
    set enable_seqscan = on set enable_bitmapscan = on set enable_hashjoin = on set enable_mergejoin = on set enable_nestloop = on
as $$
declare
    registered aftercommit.topic;
    problem text;
    way_out text;
begin
    select * into registered from aftercommit.topic where name = source.topic;
    if not found then
        registered := aftercommit.register_topic(source.topic, 'state');
    end if;
    if registered.kind <> 'state' then
        raise exception 'topic "%" is of kind %; a table can only be captured into a state topic', source.topic, registered.kind
            using errcode = 'invalid_parameter_value', hint = 'Choose another topic.';
    end if;
    begin
        -- For a few rows a second try would cost more than the clause saves.
        return aftercommit.compare(source, reading, row_keys, slice, deletes, coalesce(cardinality(row_keys) < 100, false));
    exception
        when unique_violation then
            return aftercommit.compare(source, reading, row_keys, slice, deletes, true);
        when invalid_parameter_value then
            -- Raised anew, so that a producer's log does not hold the whole comparison as CONTEXT.
            get stacked diagnostics problem = message_text, way_out = pg_exception_hint;
            raise exception '%', problem using errcode = 'invalid_parameter_value', hint = way_out;
    end;
end
$$;

revoke execute on function aftercommit.admit_set(aftercommit.source, aftercommit.reading, text[], aftercommit.slice, boolean) from public;

-- What a pipeline calls as the last statement of its transaction: compares the whole source with the ledger, or a slice of it
-- ("event_date = '2025-05-18'"), and admits what differs. Rows that are gone from the source become deletes only if asked for, and
-- never when that would be all of them, or more than `max_delete_ratio`.
create function aftercommit.capture(
    topic text, partition text default null, deletes boolean default false, max_delete_ratio double precision default 0.2
) returns aftercommit.compared
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
    attached aftercommit.source;
    reading aftercommit.reading;
    slice aftercommit.slice;
    unusable text;
    compared aftercommit.compared;
    there bigint;
begin
    -- Before the source is read: it may be attached anew meanwhile.
    perform aftercommit.take_turn(topic, true);
    select * into attached from aftercommit.source where source.topic = capture.topic;
    if not found then
        raise exception 'topic "%" has no source', topic
            using errcode = 'no_data_found',
            hint = format('Say once where its rows are: aftercommit attach TABLE --topic %s --key COLUMN --by capture', topic);
    elsif max_delete_ratio between 0 and 1 is not true then
        raise exception 'topic "%": max_delete_ratio is %', topic, coalesce(max_delete_ratio::text, 'null')
            using errcode = 'invalid_parameter_value', hint = 'It is a number from 0 to 1.';
    elsif deletes and partition is not null and attached.query is not null then
        raise exception 'topic "%": what is gone from a slice of a query cannot be known', topic
            using errcode = 'invalid_parameter_value', hint = 'Make the query a view and attach that, or capture without a slice.';
    end if;
    reading := aftercommit.reading_of(attached);
    if attached.owner is null and attached.query is null then
        update aftercommit.source set owner = (select pg_get_userbyid(relowner) from pg_class where oid = to_regclass(attached.relation))
        where source.topic = capture.topic;
    end if;
    slice := aftercommit.slice_of(topic, partition);
    unusable := coalesce(
        aftercommit.missing_column(to_regclass(attached.relation), case when attached.query is null then slice.columns end),
        case when deletes then (select min(name) from unnest(slice.columns) as each (name) where name = any (attached.excluded)) end);
    if unusable is not null then
        raise exception 'topic "%": the partition names "%", which is no column of its payloads', topic, unusable
            using errcode = 'invalid_parameter_value',
            hint = 'Name columns of the table; with deletes none that is excluded, since the last payload says which slice a row was in.';
    end if;
    if deletes then
        select count(*) into there from aftercommit.ledger where ledger.topic = capture.topic and op = 'upsert';
    end if;
    compared := aftercommit.admit_set(attached, reading, null, slice, deletes);

    -- Looked at afterwards, since an error takes everything back.
    if partition is not null then
        there := compared.deleted + compared.admitted + compared.unchanged + compared.stale;
    end if;
    if compared.deleted > 0 and compared.admitted + compared.unchanged + compared.stale = 0 then
        raise exception 'topic "%": all % rows would be deleted; nothing was captured', topic, compared.deleted
            using errcode = 'data_exception', hint = 'Is the source empty by mistake? Without deletes, capture it again.';
    elsif compared.deleted > max_delete_ratio * there then
        raise exception 'topic "%": % of % rows would be deleted, more than the % %% allowed; nothing was captured',
            topic, compared.deleted, there, round((max_delete_ratio * 100)::numeric, 1)
            using errcode = 'data_exception', hint = 'If that is meant, raise max_delete_ratio.';
    end if;
    return compared;
end
$$;

revoke execute on function aftercommit.capture(text, text, boolean, double precision) from public;
