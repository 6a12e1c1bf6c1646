-- Topic, table or query, and how its rows are told apart.
insert or replace into source (topic, relation, query, key_columns, version_column, excluded, way)
select $1, $2, $3, $4, $5, $6, $7 where $8 in (0, 1)
