-- Attached: what is found where, what is wrong with it, and what will surprise.

-- What is attached, and for each what is wrong with it now; null: nothing.
create function aftercommit.attached() returns table (
    topic text, relation text, query text, key_columns text[], version_column text, excluded text[], way text, problem text
)
language sql stable set search_path = pg_catalog, pg_temp
as $$
    select source.topic, source.relation, source.query, source.key_columns, source.version_column, source.excluded, source.way,
        case
            when source.query is not null then null
            when relation_id is null then format('there is no %s now: create it, or attach another table', source.relation)
            when owner.problem is not null then owner.problem
            when source.way = 'capture' then null
            when on_table.hung < 4
                then format('%s of its 4 triggers are gone or disabled, so changes go unseen: attach it again, then capture', 4 - on_table.hung)
            when without is not null
                then format('partitions that came later are noted row by row, and a truncate of them alone is not seen; attach it again: %s', without)
            when exists (select from pg_inherits where inhparent = relation_id) and not partitions.are_some
                then 'other tables inherit from it now, and their rows go unseen: attach it by capture'
            when on_table.shape <> aftercommit.shape_of(relation_id)
                then 'its columns have changed, so every row that is touched is compared: attach it again; if its key changed its type, then capture with deletes'
            when on_table.is_foreign
                then 'its partitions are noted row by row, as after a restore: attach it again'
        end
    from aftercommit.source
    cross join lateral (select to_regclass(source.relation) as relation_id) as named
    cross join lateral (
        select count(*) filter (where tgfoid = 'aftercommit.note'::regproc and tgenabled in ('O', 'A')) as hung,
            min(split_part(encode(tgargs, 'escape'), $z$\000$z$, 5)) filter (where tgfoid = 'aftercommit.note'::regproc) as shape,
            -- They name the tables that have triggers of their own by oids.
            bool_or(tgfoid = 'aftercommit.note_row'::regproc and strpos(pg_get_triggerdef(oid), relation_id::oid::text) = 0) as is_foreign
        from pg_trigger
        where tgrelid = relation_id and tgfoid in ('aftercommit.note'::regproc, 'aftercommit.note_row'::regproc)
            and right(tgname, 9) = '_' || left(md5(source.topic), 8)
    ) as on_table
    cross join lateral (
        select string_agg(relid::text, ', ' order by relid::text) filter (where not exists (
                select from pg_trigger
                where tgrelid = relid and tgfoid = 'aftercommit.note'::regproc and right(tgname, 9) = '_' || left(md5(source.topic), 8)
            )) as without,
            count(*) > 0 as are_some
        from pg_partition_tree(relation_id)
    ) as partitions
    left join lateral (
        select format('it belongs to %s now, and not to %s: if that is meant, attach it again', rolname, source.owner) as problem
        from pg_class join pg_roles on pg_roles.oid = relowner
        where pg_class.oid = relation_id and aftercommit.is_of_another(source, pg_class.oid)
    ) as owner on true
    order by 1
$$;

-- What will surprise whoever has attached this, in sentences.
create function aftercommit.surprises(topic text) returns setof text
language plpgsql stable set search_path = pg_catalog, pg_temp
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
    if relation_id is null and attached.query is null then
        return next format('nothing is called %s yet: whoever makes it first, of those who may in its schema, is taken for its owner', attached.relation);
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
        if attached.way = 'trigger' and not (aftercommit.reading_of(attached)).is_unique then
            return next format('no unique index keeps rows of %s apart by %s: those who write to it wait for one another at their commit, '
                'and can do so in READ COMMITTED only', attached.relation, array_to_string(attached.key_columns, ', '));
        end if;
        return query
            select format('column "%s" is %s in a new row: each run makes other values, and delivers every row again; --exclude %1$s',
                attname, pg_get_expr(adbin, adrelid))
            from pg_catalog.pg_attrdef
            join pg_catalog.pg_attribute on attrelid = adrelid and attnum = adnum
            where adrelid = relation_id and attname <> all (attached.excluded) and attname <> all (attached.key_columns)
                and pg_get_expr(adbin, adrelid) ~* $p$(\mnow\(|timestamp\(|current_|localtime|timeofday|random|uuid)$p$;
        return query
            select format('the view reads the clock (%s): each run makes other values, and delivers every row again; --exclude that column',
                substring(pg_get_viewdef(oid) from $p$(?i)\m(?:now\(\)|current_timestamp|current_date|localtimestamp|clock_timestamp\(\))$p$))
            from pg_class
            where oid = relation_id and relkind in ('v', 'm')
                and pg_get_viewdef(oid) ~* $p$\m(?:now\(\)|current_timestamp|current_date|localtimestamp|clock_timestamp\(\))$p$;
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
