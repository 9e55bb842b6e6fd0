#!/usr/bin/env python3
"""Values of sequences: how many a second a query, an INSERT and single statements get, beside MariaDB, in one run.

usage: bench/sequences.py [--rows N] [--rounds N] [--binary FILE] [--before FILE] [--profile release] [--record]

The query takes the greatest of NEXTVAL of each row of a table of numbers. A sequence that reserves 1,000 values at a time shows what reserving costs, one of
1,000,000 what a value costs; the same query without NEXTVAL is there to compare. Times are the best of the rounds. `--before` measures another
build as well. Processor time is the server's, of all its threads.
"""
import argparse, time

from connections import Client
from peers import MariaDB, Squall, record

STATEMENTS = 5000


def best(rounds, server, client, sql):
    """Seconds of the fastest round, and the server's processor time of a round."""
    times, before = [], server.cpu_seconds()
    for _ in range(rounds):
        started = time.perf_counter()
        client.run(sql)
        times.append(time.perf_counter() - started)
    return min(times), (server.cpu_seconds() - before) / rounds


def measure(server, label, rows, rounds):
    """Rows, values or statements a second, and nanoseconds of processor time for each, by what was done."""
    client = Client(server.port)
    client.run("CREATE DATABASE bench; USE bench; CREATE SEQUENCE s; CREATE SEQUENCE wide CACHE 1000000; CREATE TABLE numbers (id INT PRIMARY KEY); "
               "CREATE TABLE t (id BIGINT PRIMARY KEY DEFAULT (NEXTVAL(wide)), n INT)")
    client.run(f"INSERT INTO numbers SELECT seq FROM seq_1_to_{rows}")
    found = {}

    def note(what, count, seconds, processor):
        found[what] = {"a second": round(count / seconds), "processor ns": round(processor / count * 1e9)}
        print(f"{label:16}{what:40}{found[what]['a second']:14,}{found[what]['processor ns']:14,}", flush=True)

    for what, of in [("rows without a sequence", "id + 1"), ("values, CACHE 1000", "NEXTVAL(s)"), ("values, CACHE 1000000", "NEXTVAL(wide)"),
                     ("pairs of two sequences", "NEXTVAL(s) + NEXTVAL(wide)")]:
        note(what, rows, *best(rounds, server, client, f"SELECT MAX({of}) FROM numbers"))
    note("rows of INSERT … SELECT with a DEFAULT", rows // 10, *best(rounds, server, client, f"INSERT INTO t (n) SELECT id FROM numbers WHERE id <= {rows // 10}"))
    started, before = time.perf_counter(), server.cpu_seconds()
    for _ in range(STATEMENTS):
        client.run("SELECT NEXTVAL(wide)")
    note("statements", STATEMENTS, time.perf_counter() - started, server.cpu_seconds() - before)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--binary")
    parser.add_argument("--before")
    parser.add_argument("--profile", default="release")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    servers = [("squall", Squall(options.profile, binary=options.binary)), ("mariadb", MariaDB())]
    if options.before:
        servers.insert(1, ("squall_before", Squall(binary=options.before)))
    found = {}
    for label, server in servers:
        with server:
            for what, measures in measure(server, label, options.rows, options.rounds).items():
                for unit, value in measures.items():
                    found.setdefault(f"{what}: {unit}", {})[label] = value
    if options.record:
        record("sequences", {"rows": options.rows, "rounds": options.rounds, **found})


if __name__ == "__main__":
    main()
