-- Capture: the changed rows of a table become outbox rows by themselves, in the transaction that changed them.
--
--   a statement ──▶ note(): the touched row keys, and a checksum of what was there before and is there now
--   the commit  ──▶ flush(): where the checksums differ, compare(): the rows as they are now against the ledger
--   capture()   ──▶ compare() of a whole table, query or slice, at the pipeline's own call
--
-- Why notes and not row triggers: a pipeline that deletes and inserts again would make two changes of each row. Here only
-- what differs at the commit counts. Why checksums: a pipeline that runs again changes nothing, and should cost little.
--
-- Who writes to an attached table needs no right here: the functions run with their owner's. So their search_path is fixed,
-- and so are the settings that the text of a value depends on: no session's time zone changes a payload.

-- Where the rows of a topic are found.
create table aftercommit.source (
    topic text collate "C" primary key,
    -- Its name, in full. Looked up at each use: what takes the name's place, by a swap for one, is the source from then on.
    relation text,
    -- Or a query. The names in it are written in full.
    query text,
    key_columns text[] not null check (cardinality(key_columns) > 0),
    version_column text,
    excluded text[] not null default '{}',
    way text not null check (way in ('trigger', 'capture')),
    attached_at timestamptz not null default now(),
    check ((relation is null) <> (query is null)),
    check (query is null or (way = 'capture' and excluded = '{}'))
);

-- What open transactions have touched; a transaction empties its own part at its commit, so nobody ever sees a row of another.
-- Rows of one bucket share a line: where its checksums show no change, none of its row keys is looked at.
create unlogged table aftercommit.touched (
    xact xid8 not null default pg_current_xact_id(),
    topic text collate "C" not null,
    id bigint generated always as identity,
    bucket integer not null,
    -- Null: all of them.
    row_keys text[],
    -- 1: the rows are there now; -1: they were there before. If both are the same, their hashes add up to nothing.
    sign integer not null,
    -- A hash of the content of each row; null: not known, so it counts as a change.
    hashes bigint[],
    checksum numeric,
    primary key (xact, topic, id)
);
-- Short-lived: compressing it would cost more than it saves.
alter table aftercommit.touched alter row_keys set storage external, alter hashes set storage external;

-- One row key from several columns: `~` becomes `~0` and `/` becomes `~1` in each, as in a JSON Pointer (RFC 6901), and `/`
-- stands between them. So two different lists of the same length never share a key. One column stands as it is.
create function aftercommit.row_key(variadic parts text[]) returns text
language plpgsql immutable parallel safe
as $$
begin
    if array_position(parts, null) is not null then
        raise exception 'part % of a row key is null', array_position(parts, null)
            using errcode = 'null_value_not_allowed', hint = 'Use coalesce, or a column that is never null.';
    elsif cardinality(parts) = 1 then
        return parts[1];
    end if;
    return (
        select string_agg(replace(replace(part, '~', '~0'), '/', '~1'), '/' order by place)
        from unnest(parts) with ordinality as each (part, place)
    );
end
$$;

-- A row version from what a version column holds. Times become microseconds since 1970, in UTC; an infinite one is none.
create function aftercommit.version_of(bigint) returns bigint
language sql immutable strict parallel safe
as $$ select $1 $$;
create function aftercommit.version_of(timestamptz) returns bigint
language sql immutable strict parallel safe
as $$ select case when isfinite($1) then (extract(epoch from $1) * 1000000)::bigint end $$;
create function aftercommit.version_of(timestamp) returns bigint
language sql immutable strict parallel safe
as $$ select case when isfinite($1) then (extract(epoch from $1) * 1000000)::bigint end $$;
create function aftercommit.version_of(date) returns bigint
language sql immutable strict parallel safe
as $$ select case when isfinite($1) then (extract(epoch from $1) * 1000000)::bigint end $$;

-- An error in the middle of an expression.
create function aftercommit.refuse(problem text, way_out text) returns text
language plpgsql
as $$
begin
    raise exception '%', problem using errcode = 'invalid_parameter_value', hint = way_out;
end
$$;

-- How a source is read: pieces of SQL about a row that is called `source`.
create type aftercommit.reading as (
    from_item text,
    row_key text,
    row_version text,
    payload text,
    -- Joins a row to `wanted.row_key`, so that an index on the key can serve.
    has_wanted_key text,
    -- A record of key, version and what the payload is made of, such that equal records mean equal rows.
    content text,
    -- Whether the database holds that no two rows have one key.
    is_unique boolean,
    -- Names and types of the columns: content holds as long as these do.
    shape text
);

create function aftercommit.shape_of(relation regclass) returns text
language sql stable
as $$
    select md5(string_agg(format('%s %s', attname, atttypid), ',' order by attnum))
    from pg_catalog.pg_attribute
    where attrelid = $1 and attnum > 0 and not attisdropped
$$;

create function aftercommit.reading_of(source aftercommit.source) returns aftercommit.reading
language plpgsql stable
as $$
declare
    reading aftercommit.reading;
    relation_id regclass;
    missing text;
    version_type text;
begin
    -- Of several columns each stands escaped, as in row_key().
    select string_agg(
            case when cardinality(source.key_columns) = 1 then format('source.%I::text collate "C"', name)
            else format($f$replace(replace(source.%I::text collate "C", '~', '~0'), '/', '~1')$f$, name) end, $s$ || '/' || $s$ order by place)
        into reading.row_key
        from unnest(source.key_columns) with ordinality as each (name, place);
    reading.row_version := case when source.version_column is null then 'null::bigint'
        else format('aftercommit.version_of(source.%I)', source.version_column) end;
    reading.is_unique := false;

    if source.query is not null then
        reading.from_item := format(E'(%s\n) as source', source.query);
        reading.payload := 'row_to_json(source)';
        return reading;
    end if;

    relation_id := to_regclass(source.relation);
    if relation_id is null then
        raise exception 'topic "%": its source, %, does not exist', source.topic, source.relation
            using errcode = 'invalid_parameter_value', hint = 'Create it, or attach another table to the topic.';
    end if;
    select name into missing
    from unnest(source.key_columns || source.version_column || source.excluded) as each (name)
    where not exists (
        select from pg_attribute
        where attrelid = relation_id and attname = name and attnum > 0 and not attisdropped
    ) and name is not null;
    if found then
        raise exception 'topic "%": % has no column "%"', source.topic, source.relation, missing
            using errcode = 'invalid_parameter_value', hint = 'Correct the name, or attach the table again if the column has gone.';
    end if;
    select format_type(atttypid, null) into version_type
    from pg_attribute where attrelid = relation_id and attname = source.version_column;
    if version_type not in ('smallint', 'integer', 'bigint', 'date', 'timestamp without time zone', 'timestamp with time zone') then
        raise exception 'topic "%": the version column "%" is of type %', source.topic, source.version_column, version_type
            using errcode = 'invalid_parameter_value',
            hint = 'A row version is a whole number or a time: use such a column, or leave the version out.';
    end if;

    reading.from_item := format('%s as source', relation_id);
    reading.shape := aftercommit.shape_of(relation_id);
    reading.payload := 'row_to_json(source)';
    if source.excluded <> '{}' then
        select format('(select row_to_json(picked) from (select %s) as picked)', string_agg(format('source.%I', attname), ', ' order by attnum))
            into reading.payload
            from pg_attribute
            where attrelid = relation_id and attnum > 0 and not attisdropped and attname <> all (source.excluded);
    end if;
    -- As they are: types whose equal values have equal texts, or texts that are the same number. All others go by their text.
    select format('row(%s)', string_agg(format(
            case
                when atttypid in ('text'::regtype, 'varchar'::regtype) then 'source.%I collate "C"'
                when atttypid in ('bool'::regtype, 'int2'::regtype, 'int4'::regtype, 'int8'::regtype, 'numeric'::regtype,
                    'uuid'::regtype, 'date'::regtype, 'timestamp'::regtype, 'timestamptz'::regtype, 'bytea'::regtype)
                then 'source.%I'
                else 'source.%I::text collate "C"'
            end, attname), ', ' order by attnum))
        into reading.content
        from pg_attribute
        where attrelid = relation_id and attnum > 0 and not attisdropped
            and (attname <> all (source.excluded) or attname = any (source.key_columns || source.version_column));

    select string_agg(format('source.%I = %s::%s', attname,
            case when cardinality(source.key_columns) = 1 then 'wanted.row_key'
            else format($f$replace(replace(split_part(wanted.row_key, '/', %s), '~1', '/'), '~0', '~')$f$, place) end,
            format_type(atttypid, atttypmod)), ' and ')
        -- Where values can be equal that are written differently, the text decides.
        || case when bool_and(coalesce(collisdeterministic, true) and atttypid in ('bool'::regtype, 'int2'::regtype,
                'int4'::regtype, 'int8'::regtype, 'uuid'::regtype, 'text'::regtype, 'varchar'::regtype, 'date'::regtype,
                'timestamp'::regtype, 'timestamptz'::regtype))
            then '' else format(' and (%s) = wanted.row_key', reading.row_key) end
        into reading.has_wanted_key
        from unnest(source.key_columns) with ordinality as each (name, place)
        join pg_attribute on attrelid = relation_id and attname = name
        left join pg_collation on pg_collation.oid = attcollation;

    reading.is_unique := exists (
        select from pg_index
        where indrelid = relation_id and indisunique and indisvalid and indimmediate and indpred is null and indexprs is null
            and (
                select bool_and(attname = any (source.key_columns))
                from unnest(indkey::smallint[]) with ordinality as part (number, place)
                join pg_attribute on attrelid = relation_id and attnum = number
                where place <= indnkeyatts
            )
    );
    return reading;
end
$$;

-- What a comparison came to, in rows.
create type aftercommit.compared as (
    admitted bigint,
    unchanged bigint,
    stale bigint,
    deleted bigint
);

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
    source aftercommit.source, reading aftercommit.reading, row_keys text[], slice text, deletes boolean, carefully boolean
) returns aftercommit.compared
language plpgsql
as $$
declare
    rendered text;
    gone text := '';
    looked_at text := 'cardinality($2)';
    result aftercommit.compared;
begin
    if row_keys is not null then
        rendered := format($q$
            select wanted.row_key, %s as row_version, case when source.%I is not null then %s end as payload
            from unnest($2) as wanted (row_key)
            left join %s on %s
            $q$, reading.row_version, source.key_columns[1], reading.payload, reading.from_item, reading.has_wanted_key);
    else
        rendered := format($q$
            select %s as row_key, %s as row_version, %s as payload
            from %s
            where %s
            $q$, reading.row_key, reading.row_version, reading.payload, reading.from_item, coalesce('(' || slice || ')', 'true'));
        looked_at := format('(select count(*) from %s where %s)', reading.from_item, coalesce('(' || slice || ')', 'true'));
    end if;
    if deletes then
        gone := format($q$
            union all
            select known.identity, null, 'delete', 'null', sha256('null'), false, null
            from aftercommit.ledger as known
            where known.topic = $1 and known.op = 'upsert'
                and not exists (select from %s where (%s) = known.identity)
            $q$, reading.from_item, reading.row_key);
        if slice is not null then
            -- Which rows of the slice have gone, their last payloads say.
            gone := gone || format($q$
                and exists (
                    select from aftercommit.outbox, json_populate_record(null::%s, outbox.payload) as source
                    where outbox.id = known.outbox_id and (%s)
                )
                $q$, to_regclass(source.relation), slice);
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
                    format('topic "%%s": the row key of a row is %%s', $1,
                        coalesce(format('%%s bytes long', octet_length(row_key)), 'null')),
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
                case when octet_length(payload::text) <= (select max_payload_bytes from aftercommit.topic where name = $1) then payload
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
    using source.topic, row_keys, current_setting('transaction_isolation') not in ('read committed', 'read uncommitted'),
        carefully, source.version_column is not null;
    result.unchanged := greatest(0, result.unchanged - result.admitted - result.stale
        - case when row_keys is null then 0 else result.deleted end);
    return result;
end
$$;

revoke execute on function aftercommit.compare(aftercommit.source, aftercommit.reading, text[], text, boolean, boolean) from public;

-- Orders those who compare rows of one topic. While the database itself keeps two writers of a row key apart, they need not
-- wait for one another; otherwise, and for a whole table, there is one at a time, until its transaction ends.
create function aftercommit.lock_topic(topic text, alone boolean) returns void
language sql
as $$
    select case when alone then pg_advisory_xact_lock(hashtextextended('aftercommit ' || topic, 0))
        else pg_advisory_xact_lock_shared(hashtextextended('aftercommit ' || topic, 0)) end
$$;

-- The way from a set of rows to the outbox: with the fast statement, and if another producer came between, with the careful one.
create function aftercommit.admit_set(
    source aftercommit.source, reading aftercommit.reading, row_keys text[], slice text, deletes boolean
) returns aftercommit.compared
language plpgsql security definer
    set search_path = pg_catalog, pg_temp
    set timezone = 'UTC' set datestyle = 'ISO, YMD' set extra_float_digits = 1 set intervalstyle = 'iso_8601' set bytea_output = 'hex'
    set standard_conforming_strings = on
    set aftercommit.set_based = 'on'
    set work_mem = '64MB' set jit = off
    set enable_seqscan = on set enable_bitmapscan = on set enable_hashjoin = on set enable_mergejoin = on set enable_nestloop = on
as $$
declare
    registered aftercommit.topic;
begin
    select * into registered from aftercommit.topic where name = source.topic;
    if not found then
        registered := aftercommit.register_topic(source.topic, 'state');
    end if;
    if registered.kind <> 'state' then
        raise exception 'topic "%" is of kind %; a table can only be captured into a state topic', source.topic, registered.kind
            using errcode = 'invalid_parameter_value', hint = 'Choose another topic.';
    end if;
    -- For a few rows a savepoint would cost more than it saves.
    if cardinality(row_keys) < 100 then
        return aftercommit.compare(source, reading, row_keys, slice, deletes, true);
    end if;
    begin
        return aftercommit.compare(source, reading, row_keys, slice, deletes, false);
    exception when unique_violation then
        return aftercommit.compare(source, reading, row_keys, slice, deletes, true);
    end;
end
$$;

revoke execute on function aftercommit.admit_set(aftercommit.source, aftercommit.reading, text[], text, boolean) from public;

-- Whether a text is no more than columns beside literals: whoever may call `capture` must not run SQL with its owner's rights.
create function aftercommit.is_slice(slice text) returns boolean
language sql immutable strict
as $$
    with part as (
        select $p$\s*("[^"]+"|[[:alpha:]_]\w*)\s*$p$ as name,
            $p$((date|timestamp|timestamptz)\s*)?('([^']|'')*'|-?\d+(\.\d+)?|true|false)\s*$p$ as literal
    ), term as (
        select format('%1$s((=|<>|!=|<=|>=|<|>)\s*%2$s|in\s*\(\s*%2$s(,\s*%2$s)*\)\s*|is\s+(not\s+)?null\s*)', name, literal) as term
        from part
    )
    select slice ~* format('^%1$s(\mand\M%1$s)*$', term) from term
$$;

-- What a pipeline calls as the last statement of its transaction: compares the whole source with the ledger, or a slice of it
-- ("event_date = '2025-05-18'"), and admits what differs. Rows that are gone from the source become deletes only if asked for, and
-- never when that would be all of them, or more than `max_delete_ratio`.
create function aftercommit.capture(
    topic text, partition text default null, deletes boolean default false, max_delete_ratio double precision default 0.2,
    out admitted bigint, out unchanged bigint, out stale bigint, out deleted bigint
)
language plpgsql security definer set search_path = pg_catalog, pg_temp
as $$
declare
    attached aftercommit.source;
    compared aftercommit.compared;
    there bigint;
begin
    select * into attached from aftercommit.source where source.topic = capture.topic;
    if not found then
        raise exception 'topic "%" has no source', topic
            using errcode = 'invalid_parameter_value',
            hint = format('Say once where its rows are: aftercommit attach TABLE --topic %s --key COLUMN --by capture', topic);
    elsif deletes and partition is not null and attached.query is not null then
        raise exception 'topic "%": what is gone from a slice of a query cannot be known', topic
            using errcode = 'invalid_parameter_value', hint = 'Make the query a view and attach that, or capture without a slice.';
    end if;
    if not aftercommit.is_slice(partition) then
        raise exception 'topic "%": the partition is not understood: %', topic, partition
            using errcode = 'invalid_parameter_value',
            hint = 'Write columns beside literals, joined by "and": event_date = ''2025-05-18'' and region in (''eu'', ''us'')';
    end if;
    perform aftercommit.lock_topic(topic, true);
    if deletes then
        select count(*) into there from aftercommit.ledger where ledger.topic = capture.topic and op = 'upsert';
    end if;
    compared := aftercommit.admit_set(attached, aftercommit.reading_of(attached), null, partition, deletes);

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
    admitted := compared.admitted;
    unchanged := compared.unchanged;
    stale := compared.stale;
    deleted := compared.deleted;
end
$$;

revoke execute on function aftercommit.capture(text, text, boolean, double precision) from public;

-- A statement has touched rows of an attached table. The arguments: the topic, the expressions for row key and content, a seed, and
-- the shape of the table for which they were made.
create function aftercommit.note() returns trigger
language plpgsql security definer
    set search_path = pg_catalog, pg_temp
    set timezone = 'UTC' set datestyle = 'ISO, YMD' set extra_float_digits = 1 set intervalstyle = 'iso_8601' set bytea_output = 'hex'
    -- A group is a list of row keys, and grows: by hashing, all of them would stand in memory.
    set enable_hashagg = off set work_mem = '64MB' set jit = off
as $$
declare
    is_known boolean;
    sign integer;
begin
    if tg_op = 'TRUNCATE' then
        insert into aftercommit.touched (topic, bucket, sign) values (tg_argv[0], 0, -1);
        return null;
    end if;
    -- If not, a column has come or changed its type, and its changes would go unseen.
    is_known := aftercommit.shape_of(tg_relid) = tg_argv[4];
    foreach sign in array case tg_op when 'INSERT' then '{1}'::integer[] when 'DELETE' then '{-1}' else '{-1, 1}' end loop
        execute format($q$
            insert into aftercommit.touched (topic, bucket, sign, row_keys, hashes, checksum)
            select $1, coalesce(hashtext(row_key), 0) & 1023, $2, array_agg(row_key),
                case when $3 then array_agg(hash) end, case when $3 then $2 * sum(hash) end
            from (select %s as row_key, hash_record_extended(%s, %s) as hash from %I as source offset 0) as touched
            group by 2
            $q$, tg_argv[1], tg_argv[2], tg_argv[3], case sign when 1 then 'rows_new' else 'rows_old' end)
        using tg_argv[0], sign, is_known;
    end loop;
    return null;
end
$$;

-- The same for a row of a partition that came after the table was attached, to which no statement trigger belongs.
create function aftercommit.note_row() returns trigger
language plpgsql security definer
    set search_path = pg_catalog, pg_temp
    set timezone = 'UTC' set datestyle = 'ISO, YMD' set extra_float_digits = 1 set intervalstyle = 'iso_8601' set bytea_output = 'hex'
as $$
begin
    execute format($q$
        insert into aftercommit.touched (topic, bucket, sign, row_keys)
        select $1, 0, 1, array_agg(row_key)
        from (select %1$s as row_key from (select ($2).*) as source union select %1$s from (select ($3).*) as source) as touched
        where row_key is not null
        $q$, tg_argv[1])
    using tg_argv[0], case when tg_op <> 'DELETE' then new end, case when tg_op <> 'INSERT' then old end;
    return null;
end
$$;

-- The commit of a transaction that has touched rows of attached tables: fires for each of its notes, and works at the first.
create function aftercommit.flush() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_hashagg = off set work_mem = '64MB'
as $$
declare
    attached aftercommit.source;
    reading aftercommit.reading;
    some_keys text[];
begin
    if not exists (select from aftercommit.touched where (xact, topic, id) = (new.xact, new.topic, new.id)) then
        return null;
    end if;
    select * into attached from aftercommit.source where topic = new.topic;
    if not found then
        delete from aftercommit.touched where (xact, topic) = (new.xact, new.topic);
        return null;
    end if;
    reading := aftercommit.reading_of(attached);

    -- A statement that begins after the lock sees what everybody who held it has committed.
    if exists (select from aftercommit.touched where (xact, topic) = (new.xact, new.topic) and row_keys is null) then
        delete from aftercommit.touched where (xact, topic) = (new.xact, new.topic);
        perform aftercommit.lock_topic(new.topic, true);
        perform aftercommit.admit_set(attached, reading, null, null, true);
        return null;
    end if;
    perform aftercommit.lock_topic(new.topic, not reading.is_unique);
    for some_keys in
        with noted as (
            delete from aftercommit.touched where (xact, topic) = (new.xact, new.topic)
            returning bucket, sign, row_keys, hashes, checksum
        ),
        suspect as (
            select bucket from noted
            group by bucket
            having count(checksum) < count(*) or sum(checksum) <> 0 or sum(sign * cardinality(row_keys)) <> 0
        ),
        changed as (
            select row_key collate "C" as row_key
            from noted, unnest(row_keys, hashes) as touched (row_key, hash)
            where bucket = any (array(select bucket from suspect))
            group by 1
            having count(hash) < count(*) or sum(sign) <> 0 or sum(sign * hash::numeric) <> 0
        )
        -- With an index on the key, as many as the nearest caches hold; without one, each round reads the whole table.
        select array_agg(row_key order by row_key)
        from (
            select row_key, (row_number() over (order by row_key) - 1) / case when reading.is_unique then 10000 else 1000000 end as part
            from changed
        ) as numbered
        group by part
        order by part
    loop
        perform aftercommit.admit_set(attached, reading, some_keys, null, false);
    end loop;
    return null;
end
$$;

create constraint trigger flush after insert on aftercommit.touched
    deferrable initially deferred for each row execute function aftercommit.flush();

-- Removes what attach() has put up for a topic; what the ledger knows stays.
create function aftercommit.detach(topic text) returns void
language plpgsql
as $$
declare
    hung record;
begin
    for hung in
        select tgname, tgrelid::regclass as relation
        from pg_catalog.pg_trigger
        where tgfoid in ('aftercommit.note'::regproc, 'aftercommit.note_row'::regproc) and tgparentid = 0
            and substring(tgargs from 1 for octet_length(topic) + 1)
                = convert_to(topic, getdatabaseencoding()) || '\x00'::bytea
    loop
        execute format('drop trigger %I on %s', hung.tgname, hung.relation);
    end loop;
    delete from aftercommit.source where source.topic = detach.topic;
end
$$;

-- Reads a source without a row: an error says what is wrong with a query.
create function aftercommit.try_reading(source aftercommit.source) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
    reading aftercommit.reading := aftercommit.reading_of(source);
begin
    execute format('select %s, %s, %s from %s limit 0', reading.row_key, reading.row_version, reading.payload, reading.from_item);
end
$$;

-- Says where the rows of a topic are found. By `trigger`, each transaction that writes to the table admits what it has changed;
-- by `capture`, a call of capture() does. What is there already is not admitted: capture() does that.
create function aftercommit.attach(
    relation text, topic text, key text[], version text default null, exclude text[] default '{}', way text default 'trigger',
    query text default null
) returns void
language plpgsql
as $$
declare
    relation_id regclass := to_regclass(attach.relation);
    attached aftercommit.source;
    reading aftercommit.reading;
    kind "char";
    is_partition boolean;
    members oid[];
    member regclass;
    suffix text := left(md5(attach.topic), 8);
    arguments text;
begin
    attached.relation := case
        when relation_id is not null
        then (select format('%I.%I', nspname, relname) from pg_class join pg_namespace on pg_namespace.oid = relnamespace
            where pg_class.oid = relation_id)
        else attach.relation end;
    perform aftercommit.detach(attach.topic);
    insert into aftercommit.source (topic, relation, query, key_columns, version_column, excluded, way)
    values (attach.topic, attached.relation, attach.query, attach.key, attach.version, attach.exclude, attach.way)
    returning * into attached;
    if attached.query is not null then
        perform aftercommit.try_reading(attached);
        return;
    elsif relation_id is null then
        if attached.way = 'capture' and cardinality(parse_ident(attached.relation)) = 2 then
            return;
        end if;
        raise exception 'there is no table %', attached.relation
            using errcode = 'invalid_parameter_value',
            hint = 'Only by capture can a table be attached that does not exist yet; name its schema then.';
    end if;

    reading := aftercommit.reading_of(attached);
    if attached.way = 'capture' then
        return;
    end if;
    select relkind, relispartition into kind, is_partition
    from pg_class where oid = relation_id and relpersistence <> 't';
    if kind is null or kind not in ('r', 'p') then
        raise exception '% is no table that lasts', attached.relation
            using errcode = 'invalid_parameter_value', hint = 'Triggers see tables only: attach it by capture.';
    elsif is_partition then
        raise exception '% is a partition', attached.relation
            using errcode = 'invalid_parameter_value', hint = 'Attach the table that it belongs to.';
    elsif kind = 'r' and exists (select from pg_inherits where inhparent = relation_id) then
        raise exception 'other tables inherit from %', attached.relation
            using errcode = 'invalid_parameter_value', hint = 'Attach it by capture.';
    end if;

    select array_agg(pg_class.oid) into members
    from (select relation_id::oid as oid union select relid from pg_partition_tree(relation_id)) as member
    join pg_class using (oid)
    where relkind in ('r', 'p');
    foreach member in array members loop
        arguments := format('%L, %L, %L, %L, %L', attached.topic, reading.row_key, reading.content, hashtext(random()::text),
            aftercommit.shape_of(member));
        execute format('create trigger aftercommit_insert_%s after insert on %s referencing new table as rows_new
            for each statement execute function aftercommit.note(%s)', suffix, member, arguments);
        execute format('create trigger aftercommit_update_%s after update on %s referencing old table as rows_old
            new table as rows_new for each statement execute function aftercommit.note(%s)', suffix, member, arguments);
        execute format('create trigger aftercommit_delete_%s after delete on %s referencing old table as rows_old
            for each statement execute function aftercommit.note(%s)', suffix, member, arguments);
        execute format('create trigger aftercommit_truncate_%s after truncate on %s
            for each statement execute function aftercommit.note(%s)', suffix, member, arguments);
    end loop;
    -- Partitions that come later inherit row triggers, and no others.
    if kind = 'p' then
        arguments := format('%L, %L', attached.topic, reading.row_key);
        execute format('create trigger aftercommit_insert_row_%s after insert on %s for each row
            when (new.tableoid <> all (%L::oid[])) execute function aftercommit.note_row(%s)', suffix, relation_id, members, arguments);
        execute format('create trigger aftercommit_update_row_%s after update on %s for each row
            when (new.tableoid <> all (%L::oid[])) execute function aftercommit.note_row(%s)', suffix, relation_id, members, arguments);
        execute format('create trigger aftercommit_delete_row_%s after delete on %s for each row
            when (old.tableoid <> all (%L::oid[])) execute function aftercommit.note_row(%s)', suffix, relation_id, members, arguments);
    end if;
end
$$;

-- What is attached, and for each what is wrong with it now; null: nothing.
create function aftercommit.attached() returns table (
    topic text, relation text, query text, key_columns text[], version_column text, excluded text[], way text, problem text
)
language sql stable
as $$
    select source.topic, source.relation, source.query, source.key_columns, source.version_column, source.excluded, source.way,
        case
            when source.query is not null then null
            when relation_id is null then format('there is no %s now: create it, or attach another table', source.relation)
            when source.way = 'capture' then null
            when on_table.hung < 4
                then format('%s of its 4 triggers are gone or disabled, so changes go unseen: attach it again, then capture', 4 - on_table.hung)
            when without is not null
                then format('partitions that came later are noted row by row, and a truncate of them alone is not seen; attach it again: %s', without)
            when on_table.shape <> aftercommit.shape_of(relation_id)
                then 'its columns have changed, so a run over equal data costs more: attach it again'
        end
    from aftercommit.source
    cross join lateral (select to_regclass(source.relation) as relation_id) as named
    cross join lateral (
        select count(*) as hung, min(split_part(encode(tgargs, 'escape'), '\000', 5)) as shape
        from pg_catalog.pg_trigger
        where tgrelid = relation_id and tgfoid = 'aftercommit.note'::regproc and tgenabled in ('O', 'A')
            and tgname like '%\_' || left(md5(source.topic), 8)
    ) as on_table
    cross join lateral (
        select string_agg(relid::text, ', ' order by relid::text) as without
        from pg_partition_tree(relation_id)
        where not exists (
            select from pg_catalog.pg_trigger
            where tgrelid = relid and tgfoid = 'aftercommit.note'::regproc and tgname like '%\_' || left(md5(source.topic), 8)
        )
    ) as partitions
    order by 1
$$;

-- What will surprise whoever has attached this, in sentences.
create function aftercommit.surprises(topic text) returns setof text
language plpgsql stable
as $$
declare
    attached aftercommit.source;
    relation_id regclass;
    columns text[];
    looked_at bigint;
    restless bigint;
begin
    select * into strict attached from aftercommit.source where source.topic = surprises.topic;
    relation_id := to_regclass(attached.relation);
    if attached.version_column is null then
        return next 'no version column: whatever was committed last counts, be it older or not';
    end if;
    if relation_id is not null then
        return query
            select format('column "%s" may be null, and a row whose key is null fails its transaction: add "not null"', attname)
            from pg_catalog.pg_attribute, pg_class
            where attrelid = relation_id and pg_class.oid = attrelid and relkind in ('r', 'p')
                and attname = any (attached.key_columns) and not attnotnull;
        if not (aftercommit.reading_of(attached)).is_unique then
            return next format('no unique index keeps rows of %s apart by %s: those who write to it wait for one another at their commit',
                attached.relation, array_to_string(attached.key_columns, ', '));
        end if;
        return query
            select format('column "%s" is %s in a new row: each run makes other values, and delivers every row again; --exclude %1$s',
                attname, pg_get_expr(adbin, adrelid))
            from pg_catalog.pg_attrdef
            join pg_catalog.pg_attribute on attrelid = adrelid and attnum = adnum
            where adrelid = relation_id and attname <> all (attached.excluded) and attname <> all (attached.key_columns)
                and pg_get_expr(adbin, adrelid) ~* '(\mnow\(|timestamp\(|current_|localtime|timeofday|random|uuid)';
    end if;
    -- What the last two versions of rows differ in, of those among a sample that have changed.
    with pair as (
        select newest.payload::jsonb as after, (
                select payload::jsonb from aftercommit.outbox as older
                where older.topic = newest.topic and older.row_key = newest.row_key and older.id < newest.id
                order by older.id desc
                limit 1
            ) as before
        from (select * from aftercommit.ledger where ledger.topic = surprises.topic limit 10000) as known
        join aftercommit.outbox as newest on newest.id = known.outbox_id
        where known.generation > 1 and known.op = 'upsert'
        limit 1000
    ),
    difference as (
        select (
                select array_agg(field order by field) from jsonb_each(after) as each (field, value)
                where before -> field is distinct from value
            ) as differing
        from pair
        where jsonb_typeof(before) = 'object' and jsonb_typeof(after) = 'object'
    )
    select differing, count(*), sum(count(*)) over () into columns, restless, looked_at
    from difference
    where differing is not null
    group by differing
    order by count(*) desc
    limit 1;
    if restless >= 10 and restless >= 0.9 * looked_at and cardinality(columns) = 1 then
        return next format('of %s rows that were delivered again, %s differ in "%s" alone; if it says when a run was, --exclude %3$s',
            looked_at, restless, columns[1]);
    end if;
end
$$;

revoke execute on function aftercommit.attached(), aftercommit.surprises(text) from public;
revoke execute on function aftercommit.note(), aftercommit.note_row(), aftercommit.flush(), aftercommit.detach(text),
    aftercommit.try_reading(aftercommit.source),
    aftercommit.attach(text, text, text[], text, text[], text, text) from public;
