#!/usr/bin/env python3
"""ENGINE=COLUMN beside DuckDB and MariaDB's InnoDB on the Star Schema Benchmark: loads, the thirteen queries and some of one
column, through a client; equal answers, times, memory, bytes.

usage: bench/columns.py DIR [--scale N] [--threads N] [--rounds N] [--mariadb Q1.1,Q2.1,…] [--profile release] [--binary FILE] [--record]

DIR gets the files of bench/ssb.py if they are not there. All sides are warm; a time is the best of the rounds. Squall's has its
client, protocol, parsing and planning; DuckDB is in the measuring process, in memory, with its primary keys. MariaDB runs the
queries that are named, once each (it takes seconds for one), on a buffer pool that holds everything. `mixed` repeats the
queries on Squall while a second client updates rows of lineorder by key. Needs the Python modules duckdb and PyMySQL.
"""
import argparse, math, os, pathlib, resource, sys, threading, time

import duckdb, pymysql

import ssb
from peers import MariaDB, Squall, record

# Of the fact table alone.
FACT = {
    "shipmode": "SELECT lo_shipmode, COUNT(*), SUM(lo_revenue) FROM lineorder GROUP BY lo_shipmode",
    "quantity": "SELECT lo_quantity, COUNT(*) FROM lineorder GROUP BY lo_quantity",
    "totals": "SELECT COUNT(*), SUM(lo_quantity), MIN(lo_orderdate), MAX(lo_commitdate) FROM lineorder",
    "count": "SELECT COUNT(*) FROM lineorder WHERE lo_discount = 3 AND lo_quantity < 10",
    "distinct": "SELECT COUNT(DISTINCT lo_shipmode) FROM lineorder",
}
QUERIES = ssb.QUERIES | FACT
# The same numbers from either side, whatever their types.
def normal(rows):
    return sorted("|".join("" if value is None else str(value) for value in row) for row in rows)


def best_of(rounds, action):
    best = math.inf
    for _ in range(rounds):
        started = time.perf_counter()
        rows = action()
        best = min(best, (time.perf_counter() - started) * 1000)
    return best, rows


def load(server, folder, engine):
    """Seconds for each table."""
    server.sql("CREATE DATABASE ssb")
    seconds = {}
    for table in ssb.SCHEMA:
        server.sql(f"{ssb.create_table(table)} ENGINE={engine}", "ssb")
        name = "dates" if table == "date" else table
        started = time.perf_counter()
        server.sql(f"LOAD DATA INFILE '{folder}/{table}.csv' INTO TABLE {name} FIELDS TERMINATED BY ','", "ssb")
        seconds[table] = round(time.perf_counter() - started, 2)
    return seconds


def connect(server):
    return pymysql.connect(host="127.0.0.1", port=server.port, user="root", database="ssb", autocommit=True)


def run(cursor, sql):
    cursor.execute(sql)
    return cursor.fetchall()


class DuckDB:
    def __init__(self, folder, threads):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        self.connection = duckdb.connect(config={"threads": threads})
        self.seconds = {}
        for table in ssb.SCHEMA:
            self.connection.execute(ssb.create_table(table))
            started = time.perf_counter()
            self.connection.execute(f"COPY {'dates' if table == 'date' else table} FROM '{folder}/{table}.csv' (HEADER false)")
            self.seconds[table] = round(time.perf_counter() - started, 2)
        self.before = before

    def run(self, sql):
        return self.connection.execute(sql).fetchall()

    def resident_bytes(self):
        pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() - self.before * 1024


def mixed(server, rounds):
    """Geometric means of the queries alone and beside updates, and updates per second."""
    alone, beside = [], []
    cursor = connect(server).cursor()
    for query in ssb.QUERIES.values():
        alone.append(best_of(rounds, lambda: run(cursor, query))[0])
    stop, done = threading.Event(), [0]

    def update():
        with connect(server).cursor() as changes:
            key = 1
            while not stop.is_set():
                key = key * 7919 % 5_999_993 + 1
                done[0] += changes.execute(f"UPDATE lineorder SET lo_tax = lo_tax + 1 WHERE lo_orderkey = {key} AND lo_linenumber = 1")
    thread = threading.Thread(target=update)
    started = time.perf_counter()
    thread.start()
    for query in ssb.QUERIES.values():
        beside.append(best_of(rounds, lambda: run(cursor, query))[0])
    stop.set()
    thread.join()
    rate = done[0] / (time.perf_counter() - started)
    before = run(cursor, "SELECT SUM(lo_tax) FROM lineorder")[0][0]
    run(cursor, "UPDATE lineorder SET lo_tax = lo_tax + 1000 WHERE lo_orderkey = 1 AND lo_linenumber = 1")
    after = run(cursor, "SELECT SUM(lo_tax) FROM lineorder")[0][0]
    if after - before != 1000:
        raise SystemExit("a change is not in the next answer")
    return mean(alone), mean(beside), rate


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("dir"), p.add_argument("--scale", type=int, default=1), p.add_argument("--threads", type=int, default=2)
    p.add_argument("--rounds", type=int, default=7), p.add_argument("--mariadb", default=""), p.add_argument("--profile", default="release")
    p.add_argument("--binary"), p.add_argument("--record", action="store_true")
    a = p.parse_args()
    folder = os.path.abspath(a.dir)
    ssb.generate(folder, a.scale)
    times, different = {}, 0
    with Squall(a.profile, arguments=["--secure-file-priv", ""], binary=a.binary) as server:
        loads = load(server, folder, "COLUMN")
        cursor = connect(server).cursor()
        ours = {name: best_of(a.rounds, lambda: run(cursor, query)) for name, query in QUERIES.items()}
        memory = server.resident_bytes()
        size = int(run(cursor, "SELECT SUM(file_bytes) FROM information_schema.column_tables WHERE table_name = 'lineorder'")[0][0])
        together = mixed(server, max(a.rounds // 2, 1))
    peer = DuckDB(folder, a.threads)
    theirs = {name: best_of(a.rounds, lambda: peer.run(query)) for name, query in QUERIES.items()}
    their_memory = peer.resident_bytes()
    print(f"{'':9}{'Squall ms':>12}{'DuckDB ms':>12}{'ratio':>8}")
    for name in QUERIES:
        (our_ms, our_rows), (their_ms, their_rows) = ours[name], theirs[name]
        same = normal(our_rows) == normal(their_rows)
        different += not same
        times[name] = [round(our_ms, 2), round(their_ms, 2)]
        print(f"{name:9}{our_ms:12.2f}{their_ms:12.2f}{our_ms / their_ms:8.2f}{'' if same else '  DIFFERENT ANSWERS'}")
    means = [mean([times[name][side] for name in ssb.QUERIES]) for side in (0, 1)]
    print(f"{'mean':9}{means[0]:12.2f}{means[1]:12.2f}{means[0] / means[1]:8.2f}   (geometric, of the thirteen)")
    print(f"load of lineorder: {loads['lineorder']} s, DuckDB {peer.seconds['lineorder']} s; its segments {size:,} bytes")
    print(f"memory: {memory >> 20} MiB, DuckDB {their_memory >> 20} MiB")
    print(f"mixed: {together[0]:.1f} ms alone, {together[1]:.1f} ms beside {together[2]:.0f} updates/s; each change was in the next answer")
    slow = {}
    if a.mariadb:
        with MariaDB() as server:
            slow["load_s"] = load(server, folder, "InnoDB")["lineorder"]
            cursor = connect(server).cursor()
            for name in a.mariadb.split(","):
                ms, rows = best_of(1, lambda: run(cursor, QUERIES[name]))
                same = normal(rows) == normal(ours[name][1])
                different += not same
                slow[name] = round(ms)
                print(f"MariaDB {name}: {ms:,.0f} ms, {ms / ours[name][0]:,.0f} times ours{'' if same else '  DIFFERENT ANSWERS'}", flush=True)
    if a.record:
        record("columns", {
            "scale": a.scale, "threads": a.threads, "duckdb": duckdb.__version__, "ms": times, "geometric_mean_ms": [round(value, 2) for value in means],
            "load_s": [loads["lineorder"], peer.seconds["lineorder"]], "segment_bytes": size, "memory_bytes": [memory, their_memory],
            "mixed": [round(value, 2) for value in together], "mariadb": slow, "differing": different,
        })
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
