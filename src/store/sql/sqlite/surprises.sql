-- What will surprise whoever has attached this, in sentences; the last one looks at what the two newest versions of rows differ in.
with attached as (
    select * from source where topic = $1
),
pair as (
    select newest.payload as after, (
            select payload from outbox as older
            where older.topic = newest.topic and older.row_key = newest.row_key and older.id < newest.id
            order by older.id desc
            limit 1
        ) as before
    from (select * from ledger where topic = $1 limit 10000) as known
    join outbox as newest on newest.id = known.outbox_id
    where known.generation > 1 and known.op = 'upsert'
    limit 1000
),
difference as (
    select (
            select json_group_array(key) from (
                select each.key from json_each(after) as each
                left join json_each(before) as other on other.key = each.key
                where each.value is not other.value
                order by each.key
            )
        ) as differing
    from pair
    where json_type(before) = 'object' and json_type(after) = 'object'
),
counted as (
    select differing, count(*) as rows, sum(count(*)) over () as all_rows
    from difference
    where differing <> '[]'
    group by differing
    order by rows desc
    limit 1
)
select 'no version column: whatever was committed last counts, be it older or not' as surprise
from attached
where version_column is null
union all
select 'a row that is deleted and inserted again in one transaction is delivered twice: write "insert … on conflict do update", or attach it --by capture'
from attached
where way = 'trigger'
union all
select format('column "%s" is %s in a new row: each run makes other values, and delivers every row again; --exclude %s',
    name, dflt_value, name)
from attached, pragma_table_xinfo(relation)
where (dflt_value like '%current\_%' escape '\' or dflt_value like '%now%' or dflt_value like '%random%')
    and name not in (select value from json_each(excluded)) and name not in (select value from json_each(key_columns))
union all
select 'the view reads the clock, or chance: each run makes other values, and delivers every row again; --exclude that column'
from attached
join sqlite_master on sqlite_master.type = 'view' and sqlite_master.name = attached.relation collate nocase
where sql like '%current\_%' escape '\' or sql like '%''now''%' or sql like '%random%(%'
union all
select format('of %d rows that were delivered again, %d differ in "%s" alone; if it says when a run was, --exclude %s',
    all_rows, rows, differing ->> 0, differing ->> 0)
from counted
where rows >= 10 and rows >= 0.9 * all_rows and json_array_length(differing) = 1
