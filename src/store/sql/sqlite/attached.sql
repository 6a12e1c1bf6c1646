-- What is wrong with each is found by looking at its triggers.
select topic, relation, query, key_columns, version_column, excluded, way, null as problem
from source
order by topic
