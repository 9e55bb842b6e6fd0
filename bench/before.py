#!/usr/bin/env python3
"""Two builds of Squall beside each other: what a change of the program has done to speed.

usage: bench/before.py BEFORE [AFTER] [--data DIR] [--workloads a,b] [--threads 1,4] [--seconds 5] [--rounds 5] [--rows 100000]
                       [--queries 7] [--instructions] [--record] [--note TEXT]

BEFORE and AFTER are binaries; AFTER is the release build of this checkout by default. Both run at the same time and work in turn, one first in every other
round, so that what else the machine does meets both. A ratio is the median over the rounds: above 1, AFTER is faster. Sysbench's workloads first, then the
queries of bench/columns.py (--queries rounds; 0 leaves them out), then, with --instructions, what a statement costs under valgrind.
"""
import argparse, pathlib, statistics, sys

import columns, instructions, ssb
from peers import Squall, record, squall_binary
from run import WORKLOADS, prepare, sysbench


# Workloads that may run again on what they have left.
REPEATABLE = [workload for workload in WORKLOADS if workload not in ("bulk_insert", "oltp_delete")]


def in_turn(servers, round_number):
    """The servers, the other one first in every other round."""
    return servers if round_number % 2 == 0 else servers[::-1]


def compare_workloads(a, servers):
    """Ratios of rates, by workload and threads."""
    found = {}
    print(f"{'workload':28}{'threads':>8}{'before/s':>12}{'after/s':>12}{'ratio':>8}{'p99 ms':>9}{'p99 ms':>9}{'cpu us':>9}{'cpu us':>9}")
    for workload in a.workloads.split(","):
        for threads in map(int, a.threads.split(",")):
            for server in servers:
                prepare(server, workload, a.seconds, a.rows)
            rounds = []
            for number in range(a.rounds):
                got = {server.name: sysbench(server, workload, threads, a.seconds, a.rows, "run") for server in in_turn(servers, number)}
                if not all(got.values()):
                    raise SystemExit(f"{workload} failed")
                rounds.append(got)
            median = lambda side, field: statistics.median(got[side].get(field, 0) for got in rounds)
            ratio = statistics.median(got["after"]["queries"] / got["before"]["queries"] for got in rounds)
            numbers = [median(side, field) for field in ("queries", "p99_ms", "cpu_us") for side in ("before", "after")]
            print(f"{workload:28}{threads:8}{numbers[0]:12.0f}{numbers[1]:12.0f}{ratio:8.3f}" + "".join(f"{number:9.2f}" for number in numbers[2:]), flush=True)
            found[f"{workload} {threads}"] = {"ratio": round(ratio, 3), "queries": numbers[:2], "p99_ms": numbers[2:4], "cpu_us": numbers[4:]}
    return found


def compare_queries(a, servers):
    """Milliseconds of each query of column tables, the best of its rounds."""
    folder = str(pathlib.Path(a.data).absolute())
    ssb.generate(folder, 1)
    for server in servers:
        print(f"{server.name}: lineorder is loaded in {columns.load(server, folder, 'COLUMN')['lineorder']} s", flush=True)
    cursors = {server.name: columns.connect(server).cursor() for server in servers}
    found = {}
    for name, query in columns.QUERIES.items():
        best = {}
        for number in range(a.queries):
            for server in in_turn(servers, number):
                ms, rows = columns.best_of(1, lambda: columns.run(cursors[server.name], query))
                best[server.name] = min(best.get(server.name, (ms, rows)), (ms, rows), key=lambda found: found[0])
        if columns.normal(best["before"][1]) != columns.normal(best["after"][1]):
            raise SystemExit(f"{name}: different answers")
        found[name] = [round(best[side][0], 2) for side in ("before", "after")]
        print(f"{name:12}{found[name][0]:10.2f} ms{found[name][1]:10.2f} ms{found[name][0] / found[name][1]:8.3f}", flush=True)
    means = [columns.mean([found[name][side] for name in found]) for side in (0, 1)]
    print(f"{'mean':12}{means[0]:10.2f} ms{means[1]:10.2f} ms{means[0] / means[1]:8.3f}")
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("before"), p.add_argument("after", nargs="?"), p.add_argument("--data", default="/tmp/squall-bench")
    p.add_argument("--workloads", default=",".join(REPEATABLE)), p.add_argument("--threads", default="1,4")
    p.add_argument("--seconds", type=int, default=5), p.add_argument("--rounds", type=int, default=5), p.add_argument("--rows", type=int, default=100000)
    p.add_argument("--queries", type=int, default=7)
    p.add_argument("--instructions", action="store_true"), p.add_argument("--record", action="store_true"), p.add_argument("--note")
    a = p.parse_args()
    binaries = {"before": a.before, "after": a.after or squall_binary("release")}

    def started():
        for name, binary in binaries.items():
            server = Squall(arguments=["--secure-file-priv", ""], binary=binary)
            server.name = name
            yield server

    found = {}
    before, after = started()
    with before, after:
        if a.workloads:
            found["workloads"] = compare_workloads(a, [before, after])
        if a.queries:
            found["column_queries_ms"] = compare_queries(a, [before, after])
    if a.instructions:
        found["instructions"] = {}
        for workload, *counts in instructions.run(list(started()), ["oltp_point_select", "oltp_point_select:text", "oltp_read_only", "select_one", "oltp_update_index", "oltp_write_only"], 1000):
            print(f"{workload:28}{counts[0]:12}{counts[1]:12}{counts[0] / counts[1]:8.3f}", flush=True)
            found["instructions"][workload] = counts
    if a.record:
        for measure, (old, new), ratio in figures(found):
            record("before-after", {"measure": measure, "before": old, "squall": new, "ratio": round(ratio, 3), "note": "bench/before.py; " + (a.note or "ratio above 1: faster than before")})


def figures(found):
    """Each measure with its two values and how many times as fast the new one is."""
    for name, workload in found.get("workloads", {}).items():
        yield f"{name} threads, statements/s", workload["queries"], workload["ratio"]
    for name, (old, new) in found.get("column_queries_ms", {}).items():
        yield f"column tables, {name}, ms", (old, new), old / new
    for name, (old, new) in found.get("instructions", {}).items():
        yield f"{name}, instructions a statement", (old, new), old / new


if __name__ == "__main__":
    sys.exit(main())
