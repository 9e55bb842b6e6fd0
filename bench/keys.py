#!/usr/bin/env python3
"""A prepared statement with a long list of keys in IN: how long PREPARE and EXECUTE take, beside MariaDB, in one run.

usage: bench/keys.py [--rows N] [--rounds N] [--binary FILE] [--profile release] [--record]

The keys are two fifths of a table's. The list is made by GROUP_CONCAT, or by fb_inlist, and stays in the server, in a user variable. Squall's tables
are by row and by column. Without a list the keys are those of a bitmap table (`fb_rows`), or in MariaDB of a subquery.
"""
import argparse, statistics, time

from connections import Client
from peers import MariaDB, Squall, record

# The recursion's depth has another name in MariaDB.
DEPTH = {"squall": "cte_max_recursion_depth", "mariadb": "max_recursive_iterations"}


def seconds(client, sql):
    started = time.perf_counter()
    client.run(sql)
    return time.perf_counter() - started


BITMAPS = "/var/lib/fastbit/part"
KEYS = "SELECT p_partkey WHERE p_mfgr=''MFGR#1'' OR p_mfgr=''MFGR#2''"
# What a statement is made of, by its name; the server has the text in a user variable.
STATEMENTS = {
    "squall": {
        "list": "CONCAT('SELECT COUNT(*) FROM part WHERE p_partkey IN (', @keys, ')')",
        "list, by column": "CONCAT('SELECT COUNT(*) FROM part_columns WHERE p_partkey IN (', @keys, ')')",
        "fb_inlist": f"CONCAT('SELECT COUNT(*) FROM part WHERE p_partkey IN ', fastbit.fb_inlist('{BITMAPS}', '{KEYS}'))",
        "fb_rows": f"'SELECT COUNT(*) FROM part WHERE p_partkey IN (SELECT p_partkey FROM fb_rows(\\'{BITMAPS}\\', \"{KEYS}\") r)'",
        "fb_rows, by column": f"'SELECT COUNT(*) FROM part_columns WHERE p_partkey IN (SELECT p_partkey FROM fb_rows(\\'{BITMAPS}\\', \"{KEYS}\") r)'",
    },
    "mariadb": {
        "list": "CONCAT('SELECT COUNT(*) FROM part WHERE p_partkey IN (', @keys, ')')",
        "subquery": "'SELECT COUNT(*) FROM part WHERE p_partkey IN (SELECT p_partkey FROM part WHERE p_mfgr IN (\\'MFGR#1\\', \\'MFGR#2\\'))'",
    },
}


def measure(server, rows, rounds):
    """Seconds of PREPARE and of EXECUTE, medians, for each statement."""
    depth = DEPTH[server.name]
    client = Client(server.port)
    client.run(f"CREATE DATABASE list; USE list; SET {depth} = {rows}; SET group_concat_max_len = 1000000000; SET GLOBAL max_allowed_packet = 1073741824")
    client = Client(server.port)
    client.run(f"USE list; SET {depth} = {rows}; SET group_concat_max_len = 1000000000")
    client.run("CREATE TABLE part (p_partkey INT PRIMARY KEY, p_mfgr VARCHAR(10))")
    client.run(f"INSERT INTO part WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {rows}) SELECT n, CONCAT('MFGR#', 1 + n * 2654435761 % 5) FROM s")
    client.run("SET @keys = (SELECT GROUP_CONCAT(p_partkey) FROM part WHERE p_mfgr IN ('MFGR#1', 'MFGR#2'))")
    if server.name == "squall":
        client.run("CREATE TABLE part_columns (p_partkey INT PRIMARY KEY, p_mfgr VARCHAR(10)) ENGINE=COLUMN")
        client.run("INSERT INTO part_columns SELECT * FROM part")
        client.run(f"SELECT fb_create('{BITMAPS}', 'p_partkey:int,p_mfgr:text')")
        client.run(f"SELECT fb_insert2('{BITMAPS}', p_partkey, p_mfgr) FROM part GROUP BY 1")
    found = {}
    for name, text in STATEMENTS[server.name].items():
        client.run(f"SET @query = {text}")
        times = [(seconds(client, "PREPARE counted FROM @query"), seconds(client, "EXECUTE counted")) for _ in range(rounds)]
        prepare, execute = (statistics.median(of) for of in zip(*times))
        found[name] = {"prepare_s": round(prepare, 4), "execute_s": round(execute, 4)}
        print(f"{server.name:10}{name:20}{prepare:12.4f}{execute:12.4f}", flush=True)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--binary")
    parser.add_argument("--profile", default="release")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    result = {"rows": options.rows, "rounds": options.rounds}
    print(f"{'':30}{'prepare s':>12}{'execute s':>12}")
    for name, server in [("squall", Squall(options.profile, binary=options.binary)), ("mariadb", MariaDB())]:
        with server:
            result[name] = measure(server, options.rows, options.rounds)
    if options.record:
        record("keys", result)


if __name__ == "__main__":
    main()
