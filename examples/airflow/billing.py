"""Bills a day's usage: brings `accounts` up to date and issues `invoices`, each with its outbox rows in one transaction.

Both tasks fail on purpose in their first try: one after its first statement, the other after its commit.
"""

import os
from datetime import timedelta

import psycopg
from airflow.sdk import dag, task

# What is told stands in the transaction that makes it true. To say it again is free: the ledger knows equal rows.
CHARGE = """
    insert into shop.accounts
    select customer_id, sum(cents) from shop.usage where day <= %(day)s group by customer_id
    on conflict (customer_id) do update set cents = excluded.cents
"""
TELL_OF_ACCOUNTS = """
    insert into aftercommit.outbox (topic, row_key, op, payload)
    select 'accounts', customer_id, 'upsert', row_to_json(a) from shop.accounts as a order by customer_id
"""
ISSUE = """
    insert into shop.invoices
    select customer_id, day, sum(cents) from shop.usage where day = %(day)s group by customer_id, day
    on conflict (customer_id, day) do nothing
"""
TELL_OF_INVOICES = """
    insert into aftercommit.outbox (topic, row_key, op, payload)
    select 'invoices', customer_id || '/' || day, 'event', row_to_json(i)
    from shop.invoices as i where day = %(day)s order by customer_id
"""


@dag(schedule=None, default_args={"retries": 1, "retry_delay": timedelta(0)})
def billing():
    @task
    def charge(ds=None, ti=None):
        with psycopg.connect(os.environ["SHOP"]) as shop:
            shop.execute(CHARGE, {"day": ds})
            if ti.try_number == 1:
                raise RuntimeError("on purpose, with a transaction half done")
            shop.execute(TELL_OF_ACCOUNTS)

    @task
    def issue(ds=None, ti=None):
        with psycopg.connect(os.environ["SHOP"]) as shop:
            shop.execute(ISSUE, {"day": ds})
            shop.execute(TELL_OF_INVOICES, {"day": ds})
        if ti.try_number == 1:
            raise RuntimeError("on purpose, with everything committed")

    charge() >> issue()


billing()
