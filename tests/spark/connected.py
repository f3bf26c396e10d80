"""Enriches over Spark Connect and prints what came; run as a process of its own."""

from __future__ import annotations

import json
import sys

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from carrier_enrich import Receipt, Settings
from carrier_enrich.spark import enrich, set_up_local

given = json.loads(sys.argv[1])
set_up_local()
spark = SparkSession.builder.remote("local[2]").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", "2")
receipts: list[Receipt] = []
out = enrich(
    spark.createDataFrame(pq.read_table(given["source"])),
    given["phone"],
    country_column=given["country_column"],
    settings=Settings.of({}, **given["settings"]),
    on_receipt=receipts.append,
)
table: pa.Table = out.toArrow()
pq.write_table(table, given["target"])
sys.stdout.write(json.dumps({"session": type(spark).__module__, **receipts[0].to_dict()}))
spark.stop()
