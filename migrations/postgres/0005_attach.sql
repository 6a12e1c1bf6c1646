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
    set array_nulls = on set lc_monetary = 'C' set xmlbinary = 'base64' set standard_conforming_strings = on
    -- A group is a list of row keys, and grows: by hashing, all of them would stand in memory.
    set enable_hashagg = off set work_mem = '64MB' set jit = off
as $$
declare
    is_known boolean;
    sign integer;
    missing text;
begin
    if tg_op = 'TRUNCATE' then
        -- It also empties what came after this snapshot, and of that the ledger would show nothing.
        if aftercommit.keeps_snapshot() then
            raise exception 'topic "%": its table cannot be truncated in isolation %', tg_argv[0], upper(current_setting('transaction_isolation'))
                using errcode = 'feature_not_supported', hint = 'Truncate it in READ COMMITTED, or delete its rows.';
        end if;
        insert into aftercommit.touched (topic, bucket, sign) values (tg_argv[0], 0, -1);
        return null;
    end if;
    -- If not, a column has come, gone, or changed its name or type: what was to be hashed may not be there, and every row is compared.
    is_known := aftercommit.shape_of(tg_relid) = tg_argv[4];
    if not is_known then
        select aftercommit.missing_column(tg_relid, key_columns) into missing from aftercommit.source where topic = tg_argv[0];
        if missing is not null then
            raise exception 'topic "%": % has no column "%"', tg_argv[0], tg_relid::regclass, missing
                using errcode = 'invalid_parameter_value', hint = aftercommit.way_to_columns(tg_relid);
        end if;
    end if;
    foreach sign in array case tg_op when 'INSERT' then '{1}'::integer[] when 'DELETE' then '{-1}' else '{-1, 1}' end loop
        execute format($q$
            insert into aftercommit.touched (topic, bucket, sign, row_keys, hashes, checksum)
            select $1, coalesce(hashtext(row_key), 0) & 1023, $2, array_agg(row_key),
                case when $3 then array_agg(hash) end, case when $3 then $2 * sum(hash) end
            from (select %s as row_key, %s as hash from %I as source offset 0) as touched
            group by 2
            $q$, tg_argv[1], case when is_known then format('hash_record_extended(%s, %s)', tg_argv[2], tg_argv[3]) else 'null::bigint' end,
            case sign when 1 then 'rows_new' else 'rows_old' end)
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
    set array_nulls = on set lc_monetary = 'C' set xmlbinary = 'base64' set standard_conforming_strings = on
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
    is_old boolean := aftercommit.keeps_snapshot();
begin
    if not exists (select from aftercommit.touched where (xact, topic, id) = (new.xact, new.topic, new.id)) then
        return null;
    end if;
    select * into attached from aftercommit.source where topic = new.topic;
    if not found then
        if is_old then
            raise exception 'could not serialize access: topic "%" was attached after this transaction had begun', new.topic
                using errcode = 'serialization_failure', hint = 'Run the transaction again.';
        end if;
        delete from aftercommit.touched where (xact, topic) = (new.xact, new.topic);
        return null;
    end if;
    reading := aftercommit.reading_of(attached);
    if is_old and not reading.is_unique then
        raise exception 'topic "%": without a unique index over its row key, its table cannot be written in isolation %', new.topic,
                upper(current_setting('transaction_isolation'))
            using errcode = 'feature_not_supported',
            hint = format('Put a unique index on %s, or write to it in READ COMMITTED.', array_to_string(attached.key_columns, ', '));
    end if;

    -- A statement that begins after the turn was taken sees what everybody who had it has committed.
    if exists (select from aftercommit.touched where (xact, topic) = (new.xact, new.topic) and row_keys is null) then
        delete from aftercommit.touched where (xact, topic) = (new.xact, new.topic);
        perform aftercommit.take_turn(new.topic, true);
        perform aftercommit.admit_set(attached, reading, null, null, true);
        return null;
    end if;
    perform aftercommit.take_turn(new.topic, not reading.is_unique);
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

-- Removes what attach() has put up for a topic; what the ledger knows stays. What this transaction has written is admitted before.
create function aftercommit.detach(topic text) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
    hung record;
begin
    if exists (select from aftercommit.touched where xact = pg_current_xact_id_if_assigned() and touched.topic = detach.topic) then
        set constraints aftercommit.flush immediate;
        set constraints aftercommit.flush deferred;
    end if;
    for hung in
        select tgname, tgrelid::regclass as relation
        from pg_trigger
        where tgfoid in ('aftercommit.note'::regproc, 'aftercommit.note_row'::regproc) and tgparentid = 0
            and substring(tgargs from 1 for octet_length(topic) + 1) = convert_to(topic, getdatabaseencoding()) || decode('00', 'hex')
    loop
        execute format('drop trigger %I on %s', hung.tgname, hung.relation);
    end loop;
    -- The last lock: who writes to the tables waits for them first, and for this at the commit.
    delete from aftercommit.source where source.topic = detach.topic;
end
$$;

-- Reads a source without a row, with the rights that a capture has: an error says what is wrong with it.
create function aftercommit.try_reading(source aftercommit.source) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set row_security = off
as $$
declare
    reading aftercommit.reading := aftercommit.reading_of(source);
begin
    execute format('select %s, %s, %s from %s limit 0', reading.row_key, reading.row_version, reading.payload, reading.from_item);
exception when insufficient_privilege then
    raise exception 'topic "%": %', source.topic, sqlerrm
        using errcode = 'insufficient_privilege',
        hint = format('%I, who owns the schema aftercommit, reads it: grant select to that role and, where rows have policies, bypassrls.', current_user);
end
$$;

-- Says where the rows of a topic are found. By `trigger`, each transaction that writes to the table admits what it has changed;
-- by `capture`, a call of capture() does. What is there already is not admitted: capture() does that. Another table takes the place of
-- the one that is attached only if `replace` says so. The name is looked up by the caller's search_path, and nothing else is.
create function aftercommit.attach(
    relation text, topic text, key text[], version text default null, exclude text[] default '{}', way text default 'trigger',
    query text default null, replace boolean default false
) returns void
language plpgsql
as $$
begin
    perform aftercommit.attach_relation(pg_catalog.to_regclass(attach.relation), attach.relation, attach.topic, attach.key, attach.version,
        attach.exclude, attach.way, attach.query, attach.replace);
end
$$;

create function aftercommit.attach_relation(
    relation_id regclass, relation text, topic text, key text[], version text, exclude text[], way text, query text, replace boolean
) returns void
language plpgsql set search_path = pg_catalog, pg_temp
as $$
declare
    attached aftercommit.source;
    before aftercommit.source;
    missing text;
begin
    if exists (select from aftercommit.topic where name = attach_relation.topic and topic.kind <> 'state') then
        raise exception 'topic "%" is of kind event; a table is attached to a state topic', topic
            using errcode = 'invalid_parameter_value', hint = 'Choose another topic.';
    end if;
    attached := row(topic, null, query, key, version, exclude, way, null, now(), 0);
    if relation_id is not null then
        select format('%I.%I', nspname, relname), pg_get_userbyid(relowner) into attached.relation, attached.owner
        from pg_class join pg_namespace on pg_namespace.oid = relnamespace
        where pg_class.oid = relation_id;
    elsif query is null then
        attached.relation := aftercommit.name_to_come(relation, way);
    end if;
    select * into before from aftercommit.source where source.topic = attach_relation.topic;
    if found and not replace and (before.relation, before.query) is distinct from (attached.relation, attached.query) then
        raise exception 'topic "%" has its rows in % already', topic, coalesce(before.relation, 'a query')
            using errcode = 'invalid_parameter_value',
            hint = 'Choose another topic, or detach this one first. To put another table in its place on purpose, replace it (--replace).';
    end if;
    if relation_id is not null then
        perform aftercommit.require_table(relation_id, attached);
        missing := aftercommit.missing_column(relation_id, exclude);
        if missing is not null then
            raise exception 'topic "%": % has no column "%" to exclude', topic, attached.relation, missing
                using errcode = 'invalid_parameter_value', hint = aftercommit.way_to_columns(relation_id);
        end if;
    end if;
    if relation_id is not null or query is not null then
        perform aftercommit.try_reading(attached);
    end if;

    if way = 'trigger' then
        execute format('lock table %s in share row exclusive mode', relation_id);
    end if;
    perform aftercommit.detach(topic);
    insert into aftercommit.source select attached.*;
    if way = 'trigger' then
        perform aftercommit.put_up_triggers(relation_id, attached);
    end if;
end
$$;

-- The full name of a relation that does not exist yet.
create function aftercommit.name_to_come(relation text, way text) returns text
language plpgsql
as $$
declare
    parts text[] := parse_ident(relation);
begin
    if way <> 'capture' or cardinality(parts) <> 2 then
        raise exception 'there is no table %', relation
            using errcode = 'no_data_found',
            hint = 'Only by capture can a table be attached that does not exist yet; name its schema then.';
    elsif parts[1] like 'pg_%' then
        raise exception '% is no table that lasts', relation
            using errcode = 'invalid_parameter_value', hint = 'Use a table in a schema of your own.';
    end if;
    return format('%I.%I', parts[1], parts[2]);
end
$$;

-- Refuses what the way of attaching cannot serve.
create function aftercommit.require_table(relation_id regclass, attached aftercommit.source) returns void
language plpgsql
as $$
declare
    class pg_class;
begin
    select * into class from pg_class where oid = relation_id;
    if class.relpersistence = 't' then
        raise exception '% is no table that lasts', attached.relation
            using errcode = 'invalid_parameter_value', hint = 'Attach a table that is not temporary.';
    elsif attached.way = 'capture' then
        return;
    elsif class.relkind not in ('r', 'p') then
        raise exception '% is no table that lasts', attached.relation
            using errcode = 'invalid_parameter_value', hint = 'Triggers see tables only: attach it by capture.';
    elsif class.relispartition then
        raise exception '% is a partition', attached.relation
            using errcode = 'invalid_parameter_value', hint = 'Attach the table that it belongs to.';
    elsif class.relkind = 'r' and exists (select from pg_inherits where inhparent = relation_id) then
        raise exception 'other tables inherit from %', attached.relation
            using errcode = 'invalid_parameter_value', hint = 'Attach it by capture.';
    end if;
end
$$;

create function aftercommit.put_up_triggers(relation_id regclass, attached aftercommit.source) returns void
language plpgsql
as $$
declare
    reading aftercommit.reading := aftercommit.reading_of(attached);
    members oid[];
    member regclass;
    suffix text := left(md5(attached.topic), 8);
    arguments text;
    event text;
    tables text;
    touched text;
begin
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
    if (select relkind from pg_class where oid = relation_id) = 'p' then
        arguments := format('%L, %L', attached.topic, reading.row_key);
        for event, touched in values ('insert', 'new'), ('update', 'new'), ('delete', 'old') loop
            execute format('create trigger aftercommit_%1$s_row_%2$s after %1$s on %3$s for each row
                when (%4$s.tableoid <> all (%5$L::oid[])) execute function aftercommit.note_row(%6$s)',
                event, suffix, relation_id, touched, members, arguments);
        end loop;
    end if;
end
$$;

revoke execute on function aftercommit.note(), aftercommit.note_row(), aftercommit.flush(), aftercommit.detach(text),
    aftercommit.try_reading(aftercommit.source),
    aftercommit.attach(text, text, text[], text, text[], text, text, boolean),
    aftercommit.attach_relation(regclass, text, text, text[], text, text[], text, text, boolean) from public;
