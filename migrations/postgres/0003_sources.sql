-- Capture: the changed rows of a table become outbox rows by themselves, in the transaction that changed them.
--
--   a statement ──▶ note(): (0005) the touched row keys, and a hash of what was there before and is there now
--   the commit  ──▶ flush(): (0005) where those do not add up to nothing, compare(): the rows as they are now against the ledger
--   capture()   ──▶ (0004) compare() of a whole table, query or slice, at the pipeline's own call
--
-- Why notes and not row triggers: a pipeline that deletes and inserts again would make two changes of each row. Here only
-- what differs at the commit counts. Why hashes: a pipeline that runs again changes nothing, and should cost little.
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
    -- Whose the relation was when it was attached or, if there was none, when it was first captured. What its owner puts there (types, rules of
    -- a view) is run with the rights of this schema's owner, so nobody else may put another in its place.
    owner name,
    attached_at timestamptz not null default now(),
    -- Counts whole comparisons: an older snapshot than the last one meets 40001 here (see `take_turn`).
    turn bigint not null default 0,
    check ((relation is null) <> (query is null)),
    check (query is null or (way = 'capture' and excluded = '{}'))
);

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

-- A row version from what a version column holds. Times become microseconds since 1970, in UTC; an infinite one is none, nor is
-- one beyond the year 294246, where microseconds leave 64 bits.
create function aftercommit.version_of(bigint) returns bigint
language sql immutable strict parallel safe
as $$ select $1 $$;
create function aftercommit.version_of(timestamptz) returns bigint
language sql immutable strict parallel safe
as $$ select case when isfinite($1) and extract(epoch from $1) < 9223372036854 then (extract(epoch from $1) * 1000000)::bigint end $$;
create function aftercommit.version_of(timestamp) returns bigint
language sql immutable strict parallel safe
as $$ select case when isfinite($1) and extract(epoch from $1) < 9223372036854 then (extract(epoch from $1) * 1000000)::bigint end $$;
create function aftercommit.version_of(date) returns bigint
language sql immutable strict parallel safe
as $$ select case when isfinite($1) and extract(epoch from $1) < 9223372036854 then (extract(epoch from $1) * 1000000)::bigint end $$;

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

-- The first of some columns that a relation has not; null: it has all.
create function aftercommit.missing_column(relation regclass, names text[]) returns text
language sql stable
as $$
    select name
    from unnest(names) with ordinality as each (name, place)
    where name is not null and not exists (
        select from pg_catalog.pg_attribute
        where attrelid = relation and attname = name and attnum > 0 and not attisdropped
    )
    order by place
    limit 1
$$;

-- What to say to whoever named a column that is not there.
create function aftercommit.way_to_columns(relation regclass) returns text
language sql stable
as $$
    select format('It has %s. Correct the name; if the column was renamed or has gone, attach the table again.',
        string_agg(quote_ident(attname), ', ' order by attnum))
    from pg_catalog.pg_attribute
    where attrelid = relation and attnum > 0 and not attisdropped
$$;

-- Whether another role has put a relation in the place of what was attached; a superuser and the schema's owner may.
create function aftercommit.is_of_another(source aftercommit.source, relation regclass) returns boolean
language sql stable
as $$
    select exists (
        select from pg_catalog.pg_class join pg_catalog.pg_roles on pg_roles.oid = relowner
        where pg_class.oid = relation and rolname <> source.owner and not rolsuper
            and relowner <> (select nspowner from pg_catalog.pg_namespace where nspname = 'aftercommit')
    )
$$;

create function aftercommit.reading_of(source aftercommit.source) returns aftercommit.reading
language plpgsql stable
as $$
declare
    reading aftercommit.reading;
    relation_id regclass;
    is_parent boolean;
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
        reading.payload := 'row_to_json(source.*)';
        return reading;
    end if;

    relation_id := to_regclass(source.relation);
    if relation_id is null then
        raise exception 'topic "%": its source, %, does not exist', source.topic, source.relation
            using errcode = 'invalid_parameter_value',
            hint = 'Create it, or detach the topic; a transaction that has written to it and drops it detaches first.';
    end if;
    if aftercommit.is_of_another(source, relation_id) then
        raise exception 'topic "%": % belongs no longer to %, as when it was attached', source.topic, source.relation, source.owner
            using errcode = 'insufficient_privilege',
            hint = 'What its owner puts there is run with the rights of the owner of the schema aftercommit: if that is meant, attach it again.';
    end if;
    missing := aftercommit.missing_column(relation_id, source.key_columns || source.version_column);
    if missing is not null then
        raise exception 'topic "%": % has no column "%"', source.topic, source.relation, missing
            using errcode = 'invalid_parameter_value', hint = aftercommit.way_to_columns(relation_id);
    end if;
    select format_type(atttypid, null) into version_type
    from pg_attribute where attrelid = relation_id and attname = source.version_column;
    if version_type not in ('smallint', 'integer', 'bigint', 'date', 'timestamp without time zone', 'timestamp with time zone') then
        raise exception 'topic "%": the version column "%" is of type %', source.topic, source.version_column, version_type
            using errcode = 'invalid_parameter_value',
            hint = 'A row version is a whole number or a time: use such a column, or leave the version out.';
    end if;

    select relkind = 'r' and exists (select from pg_inherits where inhparent = relation_id) into is_parent
    from pg_class where oid = relation_id;
    -- Rows of tables that inherit from it fire no trigger of it.
    reading.from_item := format(case when is_parent and source.way = 'trigger' then 'only %s as source' else '%s as source' end, relation_id);
    reading.shape := aftercommit.shape_of(relation_id);
    reading.payload := 'row_to_json(source.*)';
    if source.excluded <> '{}' then
        select format('(select row_to_json(picked.*) from (select %s) as picked)', string_agg(format('source.%I', attname), ', ' order by attnum))
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

    reading.is_unique := not (is_parent and source.way = 'capture') and exists (
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
