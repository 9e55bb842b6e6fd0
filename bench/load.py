#!/usr/bin/env python3
"""LOAD DATA INFILE into the comparison's table, of Squall, MariaDB's InnoDB, its Archive and its MyRocks: rows/s and bytes on disk.

usage: bench/load.py [--rows 2000000] [--sets a,b] [--keys 0,4] [--servers squall,squall-zstd,squall-archive,squall-column,innodb,archive,myrocks] [--build] [--profile release]
                     [--data DIR] [--binary FILE] [--record]

The table has lineorder's columns and ten random words, and no primary key. `squall-zstd` is Squall with COMPRESSION='zstd', `squall-archive` with ENGINE=ARCHIVE,
`squall-column` with ENGINE=COLUMN; Archive takes no keys. Each load is one statement on one connection, by
the server itself from a file, into an empty table without keys or with four. `--build` adds the four keys to the loaded
table with one ALTER TABLE. MyRocks loads with `rocksdb_bulk_load` and needs mariadb-plugin-rocksdb. Bytes on disk are
those of the table's files, without logs, once the server's background work on them has ended.
"""
import argparse, functools, os, pathlib, sys, time
import load_data
from peers import MariaDB, Squall, record

ROCKS = "/usr/lib/mysql/plugin/ha_rocksdb.so"
ADD_KEYS = "ALTER TABLE insert_test " + ", ".join(f"ADD KEY ({column})" for column in load_data.KEYS)


class SquallTables(Squall):
    before = "SELECT 1"

    def __init__(self, a, name, engine):
        super().__init__(a.profile, arguments=["--secure-file-priv", ""], binary=a.binary)
        self.name, self.engine = name, engine

    def table_bytes(self):
        data = pathlib.Path(self.data)
        files = [*data.rglob("keyspaces/*/tables/*"), *data.glob("columns/*/*")]
        return sum(f.stat().st_blocks * 512 for f in files if f.is_file())


# What tables of Squall are made with, by the name of the side.
SQUALL = {"squall": "", "squall-zstd": "COMPRESSION='zstd'", "squall-archive": "ENGINE=ARCHIVE", "squall-column": "ENGINE=COLUMN"}


class InnoDB(MariaDB):
    engine, before = "ENGINE=InnoDB", "SELECT 1"

    def __init__(self):
        super().__init__()
        self.name = "innodb"

    def table_bytes(self):
        return sum(f.stat().st_blocks * 512 for f in pathlib.Path(self.data, "bench").glob("insert_test.ibd"))


class Archive(MariaDB):
    engine, before = "ENGINE=ARCHIVE", "SELECT 1"

    def __init__(self):
        super().__init__()
        self.name = "archive"

    def command(self):
        return super().command() + ["--plugin-load-add=ha_archive"]

    def table_bytes(self):
        return sum(f.stat().st_blocks * 512 for f in pathlib.Path(self.data, "bench").glob("insert_test.ARZ"))


class MyRocks(MariaDB):
    engine, before = "ENGINE=RocksDB", "SET SESSION rocksdb_bulk_load_allow_unsorted = 0; SET SESSION rocksdb_bulk_load = 1"

    def __init__(self):
        super().__init__()
        self.name = "myrocks"

    def command(self):
        return super().command() + ["--plugin-maturity=unknown", "--plugin-load-add=ha_rocksdb", "--rocksdb-flush-log-at-trx-commit=1", "--rocksdb-block-cache-size=1G"]

    def table_bytes(self):
        return sum(f.stat().st_blocks * 512 for f in pathlib.Path(self.data, "#rocksdb").glob("*.sst"))


def settled_bytes(server):
    """The files' size as soon as it has not changed for three seconds."""
    last, since = None, time.monotonic()
    while time.monotonic() - since < 3:
        now = server.table_bytes()
        if now != last:
            last, since = now, time.monotonic()
        time.sleep(0.2)
    return last


def load(server, file, keys):
    keyed = "".join(f", KEY ({column})" for column in load_data.KEYS[:keys])
    server.sql(f"DROP DATABASE IF EXISTS bench; CREATE DATABASE bench; USE bench; CREATE TABLE insert_test ({load_data.COLUMNS}{keyed}) {server.engine}")
    settled_bytes(server)
    bytes_before, cpu = server.table_bytes(), server.cpu_seconds()
    started = time.perf_counter()
    # Whoever loads in bulk has finished when that mode ends.
    server.sql(f"{server.before}; LOAD DATA INFILE '{file}' INTO TABLE insert_test; {'SET SESSION rocksdb_bulk_load = 0' if server.name == 'myrocks' else ''}", "bench")
    seconds = time.perf_counter() - started
    return seconds, server.cpu_seconds() - cpu, settled_bytes(server) - bytes_before


def run(a):
    counts = load_data.generate(a.data, a.rows)
    raw = {name: os.path.getsize(f"{a.data}/{name}.tsv") for name in counts}
    makers = {"innodb": InnoDB, "archive": Archive, "myrocks": MyRocks}
    makers |= {name: functools.partial(SquallTables, a, name, engine) for name, engine in SQUALL.items()}
    wanted = [name for name in a.servers.split(",") if name != "myrocks" or os.path.exists(ROCKS)]
    results = {}
    for set_name in a.sets.split(","):
        file = os.path.abspath(f"{a.data}/{set_name}.tsv")
        for keys in map(int, a.keys.split(",")):
            for name in wanted:
                if name == "archive" and keys:
                    continue
                with makers[name]() as server:
                    seconds, cpu, size = load(server, file, keys)
                    count = int(server.sql("SELECT COUNT(*) FROM insert_test", "bench"))
                    if count != counts[set_name]:
                        raise SystemExit(f"{name} has {count} of {counts[set_name]} rows")
                    results[set_name, keys, name] = {"rows_per_s": round(count / seconds), "cpu_s": round(cpu, 1), "disk_bytes": size, "of_raw": round(size / raw[set_name], 3), "peak_mib": server.peak_bytes() >> 20}
                    if a.build and keys == 0:
                        started = time.perf_counter()
                        server.sql(ADD_KEYS, "bench")
                        results[set_name, keys, name]["add_4_keys_s"] = round(time.perf_counter() - started, 2)
                        results[set_name, keys, name]["with_added_keys_bytes"] = settled_bytes(server)
                    print(f"  set {set_name}, {keys} keys, {name:11} {results[set_name, keys, name]}", file=sys.stderr, flush=True)
    print(f"{'load':16}" + "".join(f"{name + ' rows/s':>18}" for name in wanted) + "".join(f"{name + ' MiB':>14}" for name in wanted) + "   speed and size against each peer")
    for set_name in a.sets.split(","):
        for keys in map(int, a.keys.split(",")):
            line = {name: results[set_name, keys, name] for name in wanted if (set_name, keys, name) in results}
            ours = [(name, line[name]) for name in line if name.startswith("squall")]
            peers = [(name, line[name]) for name in line if not name.startswith("squall")]
            against = "".join(f"   {us}/{them} {our['rows_per_s'] / their['rows_per_s']:.2f} × rows/s, {our['disk_bytes'] / max(their['disk_bytes'], 1):.2f} × bytes" for us, our in ours for them, their in peers)
            print(f"{'set ' + set_name + f', {keys} keys':16}" + "".join(f"{line[name]['rows_per_s'] if name in line else '':>18}" for name in wanted) + "".join(f"{line[name]['disk_bytes'] >> 20 if name in line else '':>14}" for name in wanted) + against)
            if a.record:
                record("load", {"set": set_name, "keys": keys, "rows": counts[set_name], "raw_bytes": raw[set_name], **line})
    return 0


if __name__ == "__main__":
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rows", type=int, default=2000000), p.add_argument("--sets", default="a,b"), p.add_argument("--keys", default="0,4")
    p.add_argument("--servers", default="squall,squall-zstd,squall-archive,squall-column,innodb,archive,myrocks"), p.add_argument("--build", action="store_true"), p.add_argument("--profile", default="release")
    p.add_argument("--data", default="/tmp/squall-bench"), p.add_argument("--binary"), p.add_argument("--record", action="store_true")
    sys.exit(run(p.parse_args()))
