#!/usr/bin/env python3
"""The star kernel of the column store beside DuckDB, on the Star Schema Benchmark: equal answers, times, bytes.

usage: bench/star.py DIR [--scale N] [--threads N] [--rounds N] [--record]

DIR gets the files of bench/ssb.py if they are not there. Both sides are warm and in memory; a time is the best of the rounds. The
kernel's time has everything from the dimensions' filters on, without parsing and planning, which DuckDB's has (its prepared
statements still plan). Needs the Python module duckdb.
"""
import argparse, json, math, os, pathlib, subprocess, sys, time

import duckdb

import ssb
from peers import record

# Of the fact table alone.
FACT = {
    "shipmode": "SELECT lo_shipmode, COUNT(*), SUM(lo_revenue) FROM lineorder GROUP BY lo_shipmode",
    "quantity": "SELECT lo_quantity, COUNT(*) FROM lineorder GROUP BY lo_quantity",
    "totals": "SELECT COUNT(*), SUM(lo_quantity), MIN(lo_orderdate), MAX(lo_commitdate) FROM lineorder",
    "count": "SELECT COUNT(*) FROM lineorder WHERE lo_discount = 3 AND lo_quantity < 10",
}
QUERIES = ssb.QUERIES | FACT
ROOT = pathlib.Path(__file__).resolve().parent.parent


def load(connection, folder):
    for table in ssb.SCHEMA:
        connection.execute(ssb.create_table(table))
        connection.execute(f"COPY {'dates' if table == 'date' else table} FROM '{folder}/{table}.csv' (HEADER false)")


def duckdb_bytes(folder):
    """Bytes of a database file with the fact table alone."""
    path = f"{folder}/lineorder.duckdb"
    pathlib.Path(path).unlink(missing_ok=True)
    with duckdb.connect(path) as connection:
        # Without the primary key: DuckDB's index of it would be most of the file.
        connection.execute(ssb.create_table("lineorder").replace(", PRIMARY KEY (lo_orderkey, lo_linenumber)", ""))
        connection.execute(f"COPY lineorder FROM '{folder}/lineorder.csv' (HEADER false)")
        connection.execute("CHECKPOINT")
    size = os.path.getsize(path)
    os.unlink(path)
    return size


def duckdb_times(folder, threads, rounds):
    connection = duckdb.connect(config={"threads": threads})
    load(connection, folder)
    for name, query in QUERIES.items():
        best = math.inf
        for _ in range(rounds):
            started = time.perf_counter()
            rows = connection.execute(query).fetchall()
            best = min(best, (time.perf_counter() - started) * 1000)
        # The sum comes first in the second flight and last elsewhere.
        texts = ["|".join(map(str, (*row[1:], row[0]) if name.startswith("Q2") else row)) for row in rows]
        yield name, best, sorted(texts)


def duckdb_list(threads, rounds):
    connection = duckdb.connect(config={"threads": threads})
    connection.execute("CREATE TABLE keys AS SELECT range AS key, ((range * 2654435761) >> 16) % 10 AS tag FROM range(1, 1000001)")
    best, text = math.inf, None
    for _ in range(rounds):
        started = time.perf_counter()
        text = connection.execute("SELECT string_agg(key, ',' ORDER BY key) FROM keys WHERE tag < 4").fetchone()[0]
        best = min(best, (time.perf_counter() - started) * 1000)
    # Without an order DuckDB is faster, and may give any.
    for _ in range(rounds):
        started = time.perf_counter()
        connection.execute("SELECT string_agg(key, ',') FROM keys WHERE tag < 4").fetchone()
        best = min(best, (time.perf_counter() - started) * 1000)
    return best, text


def kernel(folder, threads, rounds):
    command = ["cargo", "bench", "--quiet", "-p", "squall-column-store", "--bench", "ssb", "--", folder, str(threads), str(rounds)]
    output = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("dir"), p.add_argument("--scale", type=int, default=1), p.add_argument("--threads", type=int, default=2)
    p.add_argument("--rounds", type=int, default=5), p.add_argument("--record", action="store_true")
    a = p.parse_args()
    folder = os.path.abspath(a.dir)
    ssb.generate(folder, a.scale)
    segments, *lines, memory, our_list = kernel(folder, a.threads, a.rounds)
    ours = {line["query"]: line for line in lines}
    theirs = {name: (ms, rows) for name, ms, rows in duckdb_times(folder, a.threads, a.rounds)}
    different, times = 0, {}
    print(f"{'':9}{'kernel ms':>12}{'DuckDB ms':>12}{'ratio':>8}")
    for name in QUERIES:
        (their_ms, rows), our_ms = theirs[name], ours[name]["ms"]
        same = sorted(ours[name]["answer"]) == rows
        different += not same
        times[name] = [round(our_ms, 2), round(their_ms, 2)]
        print(f"{name:9}{our_ms:12.2f}{their_ms:12.2f}{our_ms / their_ms:8.2f}{'' if same else '  DIFFERENT ANSWERS'}")
    mean = [math.exp(sum(math.log(times[name][side]) for name in ssb.QUERIES) / len(ssb.QUERIES)) for side in (0, 1)]
    print(f"{'mean':9}{mean[0]:12.2f}{mean[1]:12.2f}{mean[0] / mean[1]:8.2f}   (geometric, of the thirteen)")
    their_list = duckdb_list(a.threads, a.rounds)
    different += their_list[1] != our_list["list"]
    print(f"{'list':9}{our_list['ms']:12.2f}{their_list[0]:12.2f}{our_list['ms'] / their_list[0]:8.2f}   ({our_list['values']:,} of a million keys)")
    sizes = [segments["bytes"], duckdb_bytes(folder)]
    print(f"bytes of lineorder: {sizes[0]:,} in segments, {sizes[1]:,} in DuckDB's file; cached {memory['cached_bytes']:,}")
    if a.record:
        record("star", {
            "scale": a.scale, "threads": a.threads, "duckdb": duckdb.__version__, "rows": segments["rows"], "ms": times,
            "geometric_mean_ms": [round(value, 2) for value in mean], "lineorder_bytes": sizes, "cached_bytes": memory["cached_bytes"],
            "list_ms": [round(our_list["ms"], 2), round(their_list[0], 2)], "differing": different,
        })
    sys.exit(1 if different else 0)


main()
