"""Drives examples/python/aftercommit_outbox.py. Arguments: the database (a path, or postgres://…)."""

import importlib.util
import json
import sqlite3
import sys
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from uuid import UUID

path = Path(__file__).parents[2] / "examples/python/aftercommit_outbox.py"
spec = importlib.util.spec_from_file_location("aftercommit_outbox", path)
outbox = importlib.util.module_from_spec(spec)
spec.loader.exec_module(outbox)

BERLIN = timezone(timedelta(hours=2))
ROW = {
    "id": 9223372036854775807,
    "line": "a/b~c",
    "amount": Decimal("12345678901234567890.10"),
    "tiny": Decimal("1E-7"),
    "ratio": 0.1,
    "at": datetime(2026, 11, 29, 20, 5, 37, 123456, tzinfo=BERLIN),
    "day": date(2026, 11, 29),
    "who": UUID(int=7),
    "raw": b"\x00\xff~",
    "name": 'Zoë "Z"',
    "tags": ["a", None, True, {"n": 1}],
}
PAYLOAD = (
    '{"id":9223372036854775807,"line":"a/b~c","amount":12345678901234567890.10,"tiny":0.0000001,"ratio":0.1,'
    '"at":"2026-11-29T18:05:37.123456Z","day":"2026-11-29","who":"00000000-0000-0000-0000-000000000007","raw":"AP9+",'
    '"name":"Zoë \\"Z\\"","tags":["a",null,true,{"n":1}]}'
)


def connect(database):
    if database.startswith("postgres"):
        import psycopg

        return psycopg.connect(database), "aftercommit.outbox", "%s"
    return sqlite3.connect(database, timeout=10), "outbox", "?"


def same(found, wanted):
    assert found == wanted, f"{found!r} is not {wanted!r}"


def refused(call):
    try:
        call()
    except ValueError:
        return
    raise AssertionError("it was not refused")


def in_the_database(database):
    connection, table, _ = connect(database)
    enqueue = outbox.enqueue
    enqueue(connection, "lost", [{"id": 1}], key="id")
    connection.rollback()
    same(enqueue(connection, "orders", [ROW], key=("id", "line"), version="at"), 1)
    same(enqueue(connection, "orders", [ROW], key=("id", "line"), version="at"), 0)
    same(enqueue(connection, "many", ({"id": n % 1500, "n": n} for n in range(3000)), key="id"), 3000)
    same(enqueue(connection, "orders", [ROW], key=("id", "line"), op="delete"), 1)
    connection.commit()
    cursor = connection.cursor()
    cursor.execute(f"select row_key, row_version, cast(payload as text) from {table} where topic = 'orders' order by id")
    stored, gone = cursor.fetchall()
    same(stored, ("9223372036854775807/a~1b~0c", 1795975537123456, PAYLOAD))
    same(gone, ("9223372036854775807/a~1b~0c", None, "null"))
    cursor.execute(f"select count(*) from {table} where topic = 'lost'")
    same(cursor.fetchone()[0], 0)
    cursor.execute(
        f"select count(*) from {table} as one join {table} as other on one.topic = other.topic and one.row_key = other.row_key"
        " where one.topic = 'many' and one.id > other.id and one.generation < other.generation"
    )
    same(cursor.fetchone()[0], 0)
    connection.close()


def in_every_paramstyle():
    connection = sqlite3.connect(":memory:")
    connection.execute("create table outbox (topic, row_key, row_version, op, payload)")

    # What sqlite3 does not speak by itself is seen by what would be sent.
    class Cursor:
        rowcount = -1

        def executemany(self, statement, batch):
            seen.append((statement, list(batch)))

        def close(self):
            pass

    class Connection:
        def cursor(self):
            return Cursor()

    for style, marks in {
        "format": "%s, %s, %s, %s, cast(%s as json)",
        "numeric": ":1, :2, :3, :4, cast(:5 as json)",
        "pyformat": "%(topic)s, %(row_key)s, %(row_version)s, %(op)s, cast(%(payload)s as json)",
    }.items():
        seen = []
        same(outbox.enqueue(Connection(), "t", [{"id": 1}], key="id", paramstyle=style), None)
        same(seen[0][0], f"insert into aftercommit.outbox (topic, row_key, row_version, op, payload) values ({marks})")
    for style in ("qmark", "named"):
        same(outbox.enqueue(connection, "t", [{"id": 1}], key="id", paramstyle=style), 1)
    same(connection.execute("select distinct row_key, payload from outbox").fetchall(), [("1", '{"id":1}')])


def what_is_no_row_is_refused():
    for call in (
        lambda: outbox.row_key("a", None),
        lambda: outbox.to_json(float("nan")),
        lambda: outbox.to_json(Decimal("Infinity")),
        lambda: outbox.row_version_of(1.5),
        lambda: outbox.row_version_of(True),
        lambda: outbox.row_version_of(None),
    ):
        refused(call)
    same(outbox.row_version_of(datetime(1969, 12, 31, 23, 59, 59, 999999)), -1)
    same(outbox.row_key("a/b"), "a/b")
    same(json.loads(outbox.to_json({"a": {"b": [1]}})), {"a": {"b": [1]}})


in_the_database(sys.argv[1])
in_every_paramstyle()
what_is_no_row_is_refused()
