"""Reads the segment that `other_readers.rs` writes with Spark on this machine, and compares every value.

usage: read_segment_with_spark.py FILE
"""
import datetime, sys

from pyspark.sql import SparkSession

from read_segment import EXPECTED

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
# Nothing but this machine's own address is asked for.
builder = builder.config("spark.driver.host", "127.0.0.1").config("spark.driver.bindAddress", "127.0.0.1")
# Times of day are a type that Spark has only on request.
spark = builder.config("spark.sql.timeType.enabled", "true").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
frame = spark.read.parquet(sys.argv[1])
rows = frame.collect()
for column, expected in EXPECTED.items():
    found = [row[column] for row in rows]
    found = [bytes(value) if isinstance(value, bytearray) else value for value in found]
    # Unsigned numbers of 64 bits are decimals there, which are equal to whole numbers.
    if found != expected:
        sys.exit(f"spark: column {column}: {found!r} instead of {expected!r}")
counted = frame.where("price < 0").agg({"big": "max"}).collect()
if counted[0][0] != -(2**63):
    sys.exit(f"spark: {counted!r}")
spark.stop()
