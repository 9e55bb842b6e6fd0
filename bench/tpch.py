#!/usr/bin/env python3
"""TPC-H beside DuckDB or MariaDB: loads, and the 22 queries through a client. All answers are compared: rows, their order, and numbers up to
their last digits.

usage: bench/tpch.py DIR [--scale N] [--engine COLUMN|InnoDB] [--peer duckdb|mariadb] [--others] [--queries Q1,Q21,…] [--rounds N] [--threads N] [--limit SECONDS]
                     [--profile release] [--binary FILE] [--before FILE] [--note TEXT] [--explain] [--record]

DIR gets the data (DIR/scale-N, made once by tpchgen-cli, `pip install tpchgen-cli`). All sides are warm; a time is the best of the
rounds, of which a query that takes more than five seconds gets one. A query that takes longer than --limit is ended and has no time.
--others asks other questions of the same tables: windows, ROLLUP, distinct counts, all kinds of joins and subqueries (bench/analytic_queries.py).
--before measures another binary of Squall in the same run; --note is recorded with each figure. --explain prints EXPLAIN ANALYZE of each query instead. Squall's time has
its client, protocol, parsing and planning; so has MariaDB's, DuckDB is in the measuring process, in memory. Both have the primary keys. Needs
the Python modules duckdb and mysqlclient: rows become Python's in C on both sides.
"""
import argparse, datetime, decimal, math, os, subprocess, sys, time

import duckdb, MySQLdb

import analytic_queries
from columns import best_of, mean
from peers import MariaDB, Squall, record
from tpch_queries import QUERIES, SCHEMA

# Numbers are equal if they differ by no more than this: an average and a quotient have four more digits than their argument here.
TOLERANCE = decimal.Decimal("0.0001")
# And by no more than this share: sums of DuckDB's doubles.
SHARE = decimal.Decimal("1e-9")
LONG_MS = 5000


def generate(folder, scale):
    """The folder of the data, which is made unless it is there."""
    path = os.path.join(folder, f"scale-{scale}")
    if not os.path.exists(os.path.join(path, "generated")):
        os.makedirs(path, exist_ok=True)
        subprocess.run(["tpchgen-cli", "tbl", "-s", str(scale), "--output-dir", path, "--overwrite"], check=True)
        # A separator also ends each line, which would be one more field.
        subprocess.run(["sed", "-i", "s/|$//", *(os.path.join(path, f"{table}.tbl") for table in SCHEMA)], check=True)
        open(os.path.join(path, "generated"), "w").close()
    return path


def texts(query):
    """A query in words of MySQL and of DuckDB."""
    return query if isinstance(query, tuple) else (query, query)


def number(value):
    return decimal.Decimal(value) if isinstance(value, int) and not isinstance(value, bool) else decimal.Decimal(str(value))


def is_number(value):
    return isinstance(value, (int, float, decimal.Decimal))


def is_equal(ours, theirs):
    if is_number(ours) and is_number(theirs):
        ours, theirs = number(ours), number(theirs)
        return abs(ours - theirs) <= TOLERANCE + SHARE * abs(theirs)
    if isinstance(theirs, datetime.date) and isinstance(ours, datetime.date):
        return ours.isoformat()[:10] == theirs.isoformat()[:10]
    return ours == theirs


def difference(ours, theirs):
    """What differs first; None if nothing does."""
    if len(ours) != len(theirs):
        return f"{len(ours)} rows, not {len(theirs)}"
    for at, (our_row, their_row) in enumerate(zip(ours, theirs)):
        if len(our_row) != len(their_row) or not all(map(is_equal, our_row, their_row)):
            return f"row {at + 1} is {our_row}, not {their_row}"
    return None


def squall(binary, options):
    return Squall(options.profile, arguments=["--secure-file-priv", ""], binary=binary)


class Side:
    """A server with the tables loaded, and a client."""

    def __init__(self, server, options, data, limit="max_execution_time = {}", unit=1000):
        self.server = server
        self.server.start()
        self.server.sql("CREATE DATABASE tpch")
        started = time.perf_counter()
        for table, columns in SCHEMA.items():
            self.server.sql(f"CREATE TABLE {table} ({columns}) ENGINE={options.engine}", "tpch")
            self.server.sql(f"LOAD DATA INFILE '{data}/{table}.tbl' INTO TABLE {table} FIELDS TERMINATED BY '|'", "tpch")
        self.load_seconds = round(time.perf_counter() - started, 2)
        self.cursor = MySQLdb.connect(host="127.0.0.1", port=self.server.port, user="root", database="tpch", charset="utf8mb4", autocommit=True).cursor()
        self.cursor.execute("SET " + limit.format(options.limit * unit))

    def run(self, sql):
        self.cursor.execute(sql)
        return self.cursor.fetchall()

    def measure(self, sql, rounds):
        """Milliseconds and rows; no milliseconds, and the reason, where it fails or takes too long."""
        try:
            ms, rows = best_of(1, lambda: self.run(sql))
            if ms < LONG_MS and rounds > 1:
                ms = min(ms, best_of(rounds - 1, lambda: self.run(sql))[0])
            return ms, rows
        except MySQLdb.MySQLError as error:
            return None, error

    def stop(self):
        self.server.__exit__()


class MariaDBPeer(Side):
    """MariaDB as the other side: a query that takes too long has no time."""
    name, version, errors = "mariadb", "", MySQLdb.MySQLError

    def __init__(self, options, data):
        super().__init__(MariaDB(), options, data, limit="max_statement_time = {}", unit=1)
        self.version = self.run("SELECT VERSION()")[0][0]
        for table in SCHEMA:
            self.run(f"ANALYZE TABLE {table}")


class DuckDB:
    name, version, errors = "duckdb", duckdb.__version__, duckdb.Error

    def __init__(self, data, threads):
        self.connection = duckdb.connect(config={"threads": threads, "default_null_order": "nulls_first_on_asc_last_on_desc"})
        started = time.perf_counter()
        for table, columns in SCHEMA.items():
            self.connection.execute(f"CREATE TABLE {table} ({columns})")
            self.connection.execute(f"COPY {table} FROM '{data}/{table}.tbl' (DELIMITER '|', HEADER false, QUOTE '')")
        self.load_seconds = round(time.perf_counter() - started, 2)

    def run(self, sql):
        return self.connection.execute(sql).fetchall()

    def stop(self):
        self.connection.close()


def explain(side, queries):
    for name, query in queries.items():
        print(f"\n{name}")
        try:
            for row in side.run(f"EXPLAIN ANALYZE {texts(query)[0]}"):
                print(*row)
        except MySQLdb.MySQLError as error:
            print(error)


def compare(options, queries, peer, sides):
    """Times of all sides by query, printed on the way, and the number of wrong answers."""
    times, different, width = {}, 0, max(6, 1 + max(map(len, queries)))
    heads = ["Squall ms"] + (["before ms"] if options.before else []) + [f"{peer.name} ms", "ratio"]
    print(f"{'':{width}}" + "".join(f"{head:>12}" for head in heads))
    for name, query in queries.items():
        found, remarks = [], []
        ours, theirs = texts(query)
        if peer.name == "mariadb":
            theirs = ours
        try:
            their_ms, their_rows = best_of(1, lambda: peer.run(theirs))
            if their_ms < LONG_MS and options.rounds > 1:
                their_ms = min(their_ms, best_of(options.rounds - 1, lambda: peer.run(theirs))[0])
        except peer.errors as error:
            their_ms, their_rows = None, None
            remarks.append(f"{peer.name}: {error}")
        for side in sides:
            ms, rows = side.measure(ours, options.rounds)
            wrong = None if ms is None or their_rows is None else difference(rows, their_rows)
            if ms is None:
                remarks.append(f"{rows}")
            elif wrong:
                remarks.append(f"DIFFERENT ANSWERS: {wrong}")
            different += side is sides[0] and (wrong is not None or ms is None and rows.args[0] != 3024)
            found.append(ms)
        times[name] = found + [their_ms]
        shown = "".join(f"{ms:12.1f}" if ms is not None else f"{'–':>12}" for ms in times[name])
        ratio = f"{found[0] / their_ms:12.2f}" if found[0] is not None and their_ms is not None else f"{'–':>12}"
        print(f"{name:{width}}{shown}{ratio}  {'; '.join(remarks)}", flush=True)
    return times, different


def means(times):
    """Geometric means of Squall, before and the peer over the queries that all of them answered."""
    whole = [row for row in times.values() if None not in row]
    return [mean(side) for side in zip(*whole)], len(whole)


def record_all(options, times, sides, peer):
    common = {peer.name: peer.version, "threads": options.threads} | ({"note": options.note} if options.note else {})
    size = f"{options.engine}, scale {options.scale}" + (", other questions" if options.others else "")
    averages, count = means(times)
    rows = times | {f"geometric mean of {count}": averages}
    for name, row in rows.items():
        line = {"measure": f"{name}, {size}, ms", "squall": round(row[0], 1) if row[0] else f"> {options.limit} s",
                "peer": {peer.name: round(row[-1], 1) if row[-1] else f"> {options.limit} s"}}
        if options.before:
            line["before"] = round(row[1], 1) if row[1] else f"> {options.limit} s"
        if row[0] and row[-1]:
            line["ratio"] = round(row[0] / row[-1], 2)
        record("tpch", common | line)
    record("tpch", common | {"measure": f"load, {size}, s", "squall": sides[0].load_seconds, "peer": {peer.name: peer.load_seconds}})


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("dir"), p.add_argument("--scale", type=float, default=1), p.add_argument("--engine", default="COLUMN")
    p.add_argument("--queries", default=""), p.add_argument("--others", action="store_true"), p.add_argument("--rounds", type=int, default=5), p.add_argument("--threads", type=int, default=2)
    p.add_argument("--limit", type=int, default=60), p.add_argument("--profile", default="release"), p.add_argument("--binary")
    p.add_argument("--peer", choices=["duckdb", "mariadb"], default="duckdb")
    p.add_argument("--before"), p.add_argument("--note"), p.add_argument("--explain", action="store_true"), p.add_argument("--record", action="store_true")
    options = p.parse_args()
    options.scale = int(options.scale) if options.scale == int(options.scale) else options.scale
    queries = analytic_queries.QUERIES if options.others else QUERIES
    queries = {name: queries[name] for name in options.queries.split(",")} if options.queries else queries
    data = generate(os.path.abspath(options.dir), options.scale)
    sides, peer = [], None
    try:
        for binary in [options.binary] + ([options.before] if options.before else []):
            sides.append(Side(squall(binary, options), options, data))
        if options.explain:
            return explain(sides[0], queries)
        peer = DuckDB(data, options.threads) if options.peer == "duckdb" else MariaDBPeer(options, data)
        times, different = compare(options, queries, peer, sides)
    finally:
        for side in sides + ([peer] if peer else []):
            side.stop()
    averages, count = means(times)
    if count:
        print(f"{'mean':6}" + "".join(f"{ms:12.1f}" for ms in averages) + f"{averages[0] / averages[-1]:12.2f}  (geometric, of {count})")
    print(f"load: {sides[0].load_seconds} s, {peer.name} {peer.load_seconds} s")
    if options.record:
        record_all(options, times, sides, peer)
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
