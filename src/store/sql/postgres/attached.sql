select topic, relation, query, to_json(key_columns)::text as key_columns, version_column, to_json(excluded)::text as excluded,
    way, problem
from aftercommit.attached()
