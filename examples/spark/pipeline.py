"""Takes a file of orders into two attached tables: `orders` by appending, `totals` by way of a staging table.

    python pipeline.py ORDERS_CSV POSTGRES_URL DRIVER_JAR

It knows nothing of Aftercommit: triggers on the attached tables do the rest, in the transactions that write.
"""

import sys

import psycopg
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import count, sum

UPSERT = """
    insert into shop.totals select customer_id, orders, cents, now() from shop.staged_totals
    on conflict (customer_id) do update set orders = excluded.orders, cents = excluded.cents, loaded_at = excluded.loaded_at
"""

file, url, driver = sys.argv[1:]
with psycopg.connect(url) as shop:
    where = {
        "url": f"jdbc:postgresql://{shop.info.host}:{shop.info.port}/{shop.info.dbname}",
        "user": shop.info.user,
        "driver": "org.postgresql.Driver",
    }
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.jars", driver)
    .config("spark.ui.enabled", "false")
    .config("spark.sql.shuffle.partitions", "4")
    .getOrCreate()
)


def read(table: str) -> DataFrame:
    return spark.read.format("jdbc").options(dbtable=table, **where).load()


def write(rows: DataFrame, table: str, mode: str) -> None:
    # Spark commits each partition by itself: one partition, so that it is all of the rows or none. `truncate` keeps a
    # table that `overwrite` would otherwise drop.
    rows.coalesce(1).write.format("jdbc").mode(mode).options(dbtable=table, truncate="true", **where).save()


orders = spark.read.csv(file, header=True, schema="order_id long, customer_id long, day date, cents long")

# Append what is not there yet.
write(orders.join(read("shop.orders"), "order_id", "left_anti"), "shop.orders", "append")

# `overwrite` commits the emptying before it writes: right for a staging table, never for an attached one.
totals = orders.groupBy("customer_id").agg(count("*").alias("orders"), sum("cents").alias("cents"))
write(totals, "shop.staged_totals", "overwrite")
with psycopg.connect(url) as shop:
    shop.execute(UPSERT)
