"""Rows into the outbox of Aftercommit, from Python, in the transaction that commits what they tell of.

Works on any DB-API connection (sqlite3, psycopg, psycopg2, pg8000, pyodbc …) and needs nothing else. It never commits: that is
the pipeline's to do, together with its own output. A row that is known already, or older than what is known, adds nothing, so a
re-run is free.

    with psycopg.connect(url) as connection:
        ...                                          # the pipeline's own writes
        enqueue(connection, "customers", rows, key="customer_id", version="updated_at")
"""

import base64
import json
import sys
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from itertools import islice
from uuid import UUID

_COLUMNS = ("topic", "row_key", "row_version", "op", "payload")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MARKS = {"qmark": "?", "format": "%s", "numeric": ":{number}", "named": ":{name}", "pyformat": "%({name})s"}


def enqueue(connection, topic, rows, *, key, version=None, op="upsert", table=None, paramstyle=None):
    """Puts `rows`, mappings of column to value, into the outbox. Returns how many were admitted, or None if the driver cannot say.

    `key` names the column, or several, that identify a row; `version` the one that orders its versions, an integer or a datetime.
    `op` is "upsert", "delete" or "event". `table` and `paramstyle` are told by the driver: give them where yours is not known.
    """
    module = sys.modules[type(connection).__module__.split(".")[0]]
    is_sqlite = module.__name__ in ("sqlite3", "_sqlite3")
    table = table or ("outbox" if is_sqlite else "aftercommit.outbox")
    paramstyle = paramstyle or ("qmark" if is_sqlite else module.paramstyle)
    statement = _statement(table, paramstyle, cast_payload=not is_sqlite)
    keys = (key,) if isinstance(key, str) else tuple(key)

    def parameters(row):
        row_version = None if version is None else row_version_of(row[version])
        payload = None if op == "delete" else to_json(row)
        values = (topic, row_key(*(row[name] for name in keys)), row_version, op, payload)
        return dict(zip(_COLUMNS, values)) if paramstyle in ("named", "pyformat") else values

    def by_key(values):
        return values["row_key"] if isinstance(values, dict) else values[1]

    rows, admitted = iter(rows), 0
    cursor = connection.cursor()
    try:
        # Sorted, so that two transactions that do so do not deadlock; rows of one key keep their order.
        while batch := sorted(map(parameters, islice(rows, 1000)), key=by_key):
            cursor.executemany(statement, batch)
            admitted = None if admitted is None or cursor.rowcount < 0 else admitted + cursor.rowcount
    finally:
        cursor.close()
    return admitted


def row_key(*parts):
    """The row key of these values, as `aftercommit.row_key` makes it: several are escaped as in a JSON Pointer, then joined by "/"."""
    texts = [_key_text(part) for part in parts]
    if len(texts) == 1:
        return texts[0]
    return "/".join(text.replace("~", "~0").replace("/", "~1") for text in texts)


def row_version_of(value):
    """An integer as it is; a datetime as microseconds since 1970, one without a time zone taken for UTC."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, datetime):
        return (_in_utc(value) - _EPOCH) // timedelta(microseconds=1)
    raise ValueError(f"a row version is an integer or a datetime, not {type(value).__name__}")


def to_json(value):
    """JSON in which every number keeps its digits: Decimal and large integers too. Times are RFC 3339 in UTC, bytes base64."""
    if value is None or isinstance(value, (bool, str)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        fields = (f"{json.dumps(str(name), ensure_ascii=False)}:{to_json(field)}" for name, field in value.items())
        return "{" + ",".join(fields) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(to_json, value)) + "]"
    if isinstance(value, (int, float, Decimal)):
        return _number(value)
    return json.dumps(_text(value))


def _statement(table, paramstyle, cast_payload):
    marks = [_MARKS[paramstyle].format(number=number, name=name) for number, name in enumerate(_COLUMNS, 1)]
    if cast_payload:
        marks[-1] = f"cast({marks[-1]} as json)"
    return f"insert into {table} ({', '.join(_COLUMNS)}) values ({', '.join(marks)})"


def _key_text(value):
    if value is None:
        raise ValueError("a row key has no null in it")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, Decimal)):
        return _number(value)
    return value if isinstance(value, str) else _text(value)


def _number(value):
    if isinstance(value, int):
        return str(int(value))
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(f"{value} is no JSON number")
    return repr(float(value)) if isinstance(value, float) else format(value, "f")


def _text(value):
    if isinstance(value, datetime):
        return _in_utc(value).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
    if isinstance(value, (date, time)):
        return value.isoformat()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form here; turn it into text or a number first")


def _in_utc(value):
    return value.replace(tzinfo=timezone.utc) if value.tzinfo is None else value.astimezone(timezone.utc)
