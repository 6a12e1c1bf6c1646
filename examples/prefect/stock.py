"""Tells of a day's stock, and of what runs low, by HTTP: for jobs that cannot reach the database.

    python stock.py STOCK_CSV

AFTERCOMMIT_API names the relay's admin server, AFTERCOMMIT_TOKEN holds its token. The tasks that send fail on purpose in their
first try, after the answer has arrived.
"""

import csv
import json
import os
import sys

import httpx
from prefect import flow, task
from prefect.runtime import flow_run, task_run

FEW = 10


@task
def read(file: str) -> list[dict]:
    with open(file, newline="") as lines:
        return [row | {"pieces": int(row["pieces"])} for row in csv.DictReader(lines)]


@task(retries=2, retry_delay_seconds=0)
def send(topic: str, key: str, rows: list[dict]) -> None:
    """Puts rows into the outbox, all or none. A retry is the same request; what another run sends again, the ledger knows."""
    answer = httpx.post(
        os.environ["AFTERCOMMIT_API"] + "v1/outbox",
        params={"topic": topic, "key": key},
        headers={
            "authorization": f"Bearer {os.environ['AFTERCOMMIT_TOKEN']}",
            "content-type": "application/x-ndjson",
            "idempotency-key": f"{flow_run.id}-{topic}",
        },
        content="\n".join(json.dumps(row) for row in rows),
        timeout=60,
    )
    answer.raise_for_status()
    print(topic, answer.json())
    if task_run.run_count == 1:
        raise RuntimeError("on purpose, with everything committed")


@flow
def tell_of_stock(file: str) -> None:
    stock = read(file)
    send("stock", "sku", stock)
    send("runs_low", "sku,day", [row for row in stock if row["pieces"] < FEW])


if __name__ == "__main__":
    tell_of_stock(sys.argv[1])
