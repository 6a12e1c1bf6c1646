-- Attach: triggers note what a transaction touches in a table, and its commit compares that with the ledger.

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
    relation_kind "char";
    is_partition boolean;
    members oid[];
    member regclass;
    suffix text := left(md5(attach.topic), 8);
    arguments text;
    event text;
    tables text;
    touched text;
begin
    if exists (select from aftercommit.topic where name = attach.topic and topic.kind <> 'state') then
        raise exception 'topic "%" is of kind event; a table is attached to a state topic', attach.topic
            using errcode = 'invalid_parameter_value', hint = 'Choose another topic.';
    end if;
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
    select relkind, relispartition into relation_kind, is_partition
    from pg_class where oid = relation_id and relpersistence <> 't';
    if relation_kind is null or relation_kind not in ('r', 'p') then
        raise exception '% is no table that lasts', attached.relation
            using errcode = 'invalid_parameter_value', hint = 'Triggers see tables only: attach it by capture.';
    elsif is_partition then
        raise exception '% is a partition', attached.relation
            using errcode = 'invalid_parameter_value', hint = 'Attach the table that it belongs to.';
    elsif relation_kind = 'r' and exists (select from pg_inherits where inhparent = relation_id) then
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
        for event, tables in values ('insert', 'referencing new table as rows_new'),
            ('update', 'referencing old table as rows_old new table as rows_new'),
            ('delete', 'referencing old table as rows_old'),
            ('truncate', '')
        loop
            execute format('create trigger aftercommit_%1$s_%2$s after %1$s on %3$s %4$s
                for each statement execute function aftercommit.note(%5$s)', event, suffix, member, tables, arguments);
        end loop;
    end loop;
    -- Partitions that come later inherit row triggers, and no others.
    if relation_kind = 'p' then
        arguments := format('%L, %L', attached.topic, reading.row_key);
        for event, touched in values ('insert', 'new'), ('update', 'new'), ('delete', 'old') loop
            execute format('create trigger aftercommit_%1$s_row_%2$s after %1$s on %3$s for each row
                when (%4$s.tableoid <> all (%5$L::oid[])) execute function aftercommit.note_row(%6$s)',
                event, suffix, relation_id, touched, members, arguments);
        end loop;
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
        return query
            select format('%s belongs to %s: what its owner puts there (types, rules of a view) is run with the rights of %s, who owns the '
                'schema aftercommit; let that be a role with few other rights', attached.relation, relowner::regrole, nspowner::regrole)
            from pg_catalog.pg_class, pg_catalog.pg_namespace
            where pg_class.oid = relation_id and nspname = 'aftercommit' and relowner <> nspowner
                and not (select rolsuper from pg_catalog.pg_roles where pg_roles.oid = relowner);
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
