#!/usr/bin/env python3
"""What backups cost a server that works, and how long they take.

usage: bench/backup.py [--workloads a,b] [--threads 4] [--seconds 10] [--rounds 3] [--megabytes 2000] [--profile release] [--data DIR] [--record]

Sysbench runs alone and beside backups in turn. Each backup is a full one, into a directory of its own, and the next begins when it ends: a server with a
backup each night has this for minutes a day. `ratio` is the rate beside backups by that alone, the median over the rounds. Then the time of a full backup, of
one right after it, which copies what is new, and of restoring, all without load.
"""
import argparse, os, shutil, statistics, subprocess, tempfile, threading, time

from peers import Squall, record
from run import prepare, sysbench

PIECE_MEGABYTES = 50


def fill(server, megabytes):
    """A table of values that nothing compresses."""
    server.sql("CREATE DATABASE filled; CREATE TABLE filled.big (id BIGINT AUTO_INCREMENT PRIMARY KEY, v VARBINARY(1000))")
    for _ in range(0, megabytes, PIECE_MEGABYTES):
        server.sql(f"SET cte_max_recursion_depth = 1000000; INSERT INTO filled.big (v) WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < {PIECE_MEGABYTES * 1000}) SELECT RANDOM_BYTES(1000) FROM n")


def back_up(server, folder):
    """Seconds, and the columns of the answer."""
    started = time.perf_counter()
    answer = server.sql(f"BACKUP SERVER TO '{folder}'").split("\t")
    return time.perf_counter() - started, answer


class Backups(threading.Thread):
    """Full backups one after the other, until it is told to stop."""

    def __init__(self, server, folder):
        super().__init__()
        self.server, self.folder, self.stopped, self.made = server, folder, threading.Event(), 0

    def run(self):
        while not self.stopped.is_set():
            back_up(self.server, self.folder)
            shutil.rmtree(self.folder)
            self.made += 1

    def stop(self):
        self.stopped.set()
        self.join()


def compare(a, server, folder):
    print(f"{'workload':24}{'threads':>8}{'alone/s':>12}{'beside/s':>12}{'ratio':>8}{'p99 ms':>9}{'p99 ms':>9}{'backups':>9}", flush=True)
    for workload in a.workloads.split(","):
        prepare(server, workload, a.seconds, 100_000)
        rounds, made = [], 0
        for number in range(a.rounds):
            got = {}
            for beside in (False, True) if number % 2 == 0 else (True, False):
                backups = Backups(server, os.path.join(folder, "beside")) if beside else None
                if backups:
                    backups.start()
                got[beside] = sysbench(server, workload, a.threads, a.seconds, 100_000, "run")
                if backups:
                    backups.stop()
                    made += backups.made
            if not all(got.values()):
                raise SystemExit(f"{workload} failed")
            rounds.append(got)
        median = lambda beside, field: statistics.median(got[beside][field] for got in rounds)
        ratio = statistics.median(got[True]["queries"] / got[False]["queries"] for got in rounds)
        numbers = [median(False, "queries"), median(True, "queries"), ratio, median(False, "p99_ms"), median(True, "p99_ms")]
        print(f"{workload:24}{a.threads:8}{numbers[0]:12.0f}{numbers[1]:12.0f}{ratio:8.3f}{numbers[3]:9.2f}{numbers[4]:9.2f}{made:9}", flush=True)
        if a.record:
            record("backup", {"measure": f"{workload} beside full backups, queries/s, {a.threads} connections", "squall": round(numbers[1]), "before": round(numbers[0]), "ratio": round(ratio, 3), "note": f"bench/backup.py, {a.profile} build, {a.megabytes} MB; before: without backups"})


def times(a, server, folder):
    backups = os.path.join(folder, "backups")
    full, answer = back_up(server, backups)
    again, _ = back_up(server, backups)
    started = time.perf_counter()
    subprocess.run([server.binary, "restore", "--from", backups, "--to", os.path.join(folder, "restored"), "--quiet"], check=True, stdout=subprocess.DEVNULL)
    restored = time.perf_counter() - started
    megabytes = int(answer[2]) / 1e6
    print(f"{megabytes:.0f} MB: full backup {full:.1f} s ({megabytes / full:.0f} MB/s), the next one {again:.2f} s, restore {restored:.1f} s ({megabytes / restored:.0f} MB/s)")
    if a.record:
        for measure, seconds in (("full backup", full), ("a backup right after it", again), ("restore", restored)):
            record("backup", {"measure": f"{measure} of {megabytes:.0f} MB, s", "squall": round(seconds, 2), "note": f"bench/backup.py, {a.profile} build"})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", default="oltp_point_select,oltp_read_write,oltp_write_only")
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--megabytes", type=int, default=2000)
    parser.add_argument("--profile", default="release")
    parser.add_argument("--data", help="where the server and its backups are put, a folder on a disk")
    parser.add_argument("--record", action="store_true")
    a = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="bench-backup-", dir=a.data)
    try:
        with Squall(a.profile, os.path.join(folder)) as server:
            fill(server, a.megabytes)
            compare(a, server, folder)
            times(a, server, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
