#!/usr/bin/env python3
"""A prepared statement with a long list of keys in IN: how long PREPARE and EXECUTE take, beside MariaDB, in one run.

usage: bench/keys.py [--rows N] [--rounds N] [--binary FILE] [--profile release] [--record]

The keys are two fifths of a table's. The list is made by GROUP_CONCAT and stays in the server, in a user variable.
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


def measure(server, depth, rows, rounds):
    """Seconds of each PREPARE and of each EXECUTE."""
    client = Client(server.port)
    client.run(f"CREATE DATABASE list; USE list; SET {depth} = {rows}; SET group_concat_max_len = 1000000000; SET GLOBAL max_allowed_packet = 1073741824")
    client = Client(server.port)
    client.run(f"USE list; SET {depth} = {rows}; SET group_concat_max_len = 1000000000")
    client.run("CREATE TABLE part (p_partkey INT PRIMARY KEY, p_mfgr VARCHAR(10))")
    client.run(f"INSERT INTO part WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {rows}) SELECT n, CONCAT('MFGR#', 1 + n * 2654435761 % 5) FROM s")
    client.run("SET @keys = (SELECT GROUP_CONCAT(p_partkey) FROM part WHERE p_mfgr IN ('MFGR#1', 'MFGR#2'))")
    client.run("SET @query = CONCAT('SELECT COUNT(*) FROM part WHERE p_partkey IN (', @keys, ')')")
    times = [(seconds(client, "PREPARE counted FROM @query"), seconds(client, "EXECUTE counted")) for _ in range(rounds)]
    return [statistics.median(prepare for prepare, _ in times), statistics.median(execute for _, execute in times)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--binary")
    parser.add_argument("--profile", default="release")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    result = {"rows": options.rows, "rounds": options.rounds}
    print(f"{'':10}{'prepare s':>12}{'execute s':>12}")
    for name, server in [("squall", Squall(options.profile, binary=options.binary)), ("mariadb", MariaDB())]:
        with server:
            prepare, execute = measure(server, DEPTH[name], options.rows, options.rounds)
        result[name] = {"prepare_s": round(prepare, 3), "execute_s": round(execute, 3)}
        print(f"{name:10}{prepare:12.3f}{execute:12.3f}")
    if options.record:
        record("keys", result)


if __name__ == "__main__":
    main()
