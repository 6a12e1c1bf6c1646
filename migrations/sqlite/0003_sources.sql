-- Capture: the changed rows of a table become outbox rows by themselves, in the transaction that changed them.
--
-- What the PostgreSQL migration of the same name does with functions is done from outside here: `attach` puts triggers on the
-- table, for each row, which insert into the outbox; `capture` is one statement that the program makes. There is no trigger at a
-- commit, so a row that is deleted and inserted again in one transaction is two changes.

-- Where the rows of a topic are found.
create table source (
    topic text primary key,
    relation text,
    query text,
    -- Lists of names, as JSON.
    key_columns text not null,
    version_column text,
    excluded text not null default '[]',
    way text not null check (way in ('trigger', 'capture')),
    attached_at integer not null default (cast(round((julianday('now') - 2440587.5) * 86400000) as integer) * 1000),
    check ((relation is null) <> (query is null)),
    check (query is null or (way = 'capture' and excluded = '[]'))
) without rowid;
