#!/usr/bin/env python3
"""Squall and MariaDB in turn on the same work; prints both sides and the ratio.

usage: bench/run.py COMMAND [options]

commands:
  sysbench      the oltp_* workloads, bulk_insert, SELECT 1      [--workloads a,b] [--threads 1,4,64] [--seconds 10] [--rounds 3] [--rows 1000000]
  load          LOAD DATA of the star schema's part (1,000,000 rows) and lineorder (6,000,000)   [--scale 1] [--lines N]
  group-concat  GROUP_CONCAT of 400,000 of a million keys, beside their projection, and DuckDB's string_agg (Python module duckdb)
  fastbit       FastBit's functions on a million parts and ten million pairs, beside their author's times
  compare       loads the star schema into both and compares the answers of counts, sums, groups and joins   [--lines N]
  endurance     an hour of oltp_read_write on Squall with checksums of rows, and kill -9 every five minutes
                [--minutes 60] [--slice 300] [--rows 1000000] [--threads 64]
  logs          point selects with no log, the general log, and every log of statements on, direct and buffered   [--threads 4] [--seconds 10] [--rounds 3]
  connections   10,000 idle connections: memory, how fast they are opened, point selects of four clients beside them   [--connections 10000] [--seconds 10]
  definitions   CREATE + DROP pairs beside tables that stay: what one costs first and last, and what the data directory takes   [--count 10000] [--tables 100]
  online        definitions beside 16 writers: what each takes, and the longest that a writer waits meanwhile   [--rows 1000000]
  partitions    DROP, TRUNCATE, EXCHANGE PARTITION by the size of the partition; statements by the number of partitions   [--rows 1000000]
  fairness      point selects of four clients beside a greedy session of each kind   [--kinds a,b] [--seconds 10] [--rounds 3]
  kill          from KILL QUERY to the error, for statements that work at something long: joins, sorts, ALTER TABLE, locks   [--kinds a,b] [--rounds 3]
  large         statements that change many rows in one transaction: documents flattened under a full-text index, REPLACE of a million rows; time and memory   [--documents 18801] [--count 1000000]
  literals      queries of the full planner whose literals differ each time, with and without kept plans   [--count 1000]
  background    statements run directly, and queued with async.queue and done by as many workers   [--count 10000] [--threads 8] [--rounds 3]
  profile       what a statement costs, as text: system calls, context switches, CPU, where it goes; --profile profiling has names
                [--workloads a,b] [--threads 4,64] [--seconds 10] [--rows 1000000]
  instructions  what a statement costs in instructions of the user side, counted by valgrind, which no other load on the machine changes; few rows, so that all are warm   [--workloads a,b] [--rows 1000]
  scaling       throughput and p50, p99, p99.9 by the number of connections   [--workloads a,b] [--threads 1,4,16,64,256,1024] [--seconds 10]
  accounts      point selects while accounts and global variables change   [--threads 4] [--seconds 10] [--rounds 3]
  instruments   point selects with the performance schema on and off   [--threads 4] [--seconds 3] [--rounds 30]
  history       how soon views of sys_history answer over as many snapshots as a week has: collected from a server at work, and made of five busy tables   [--rounds 3]
  (two builds of Squall beside each other: bench/before.py)
  footprint     start-up time, idle memory, size of the stripped binary

options of all: --profile release|debug, --record (append to bench/results/), --data DIR (generated files, default /tmp/squall-bench)
"""
import argparse, os, pathlib, re, resource, signal, statistics, subprocess, sys, time
import accounts, background, connections, definitions, endurance, history, instructions, instruments, kill, large, literals, online, partitions, profile, ssb
from peers import MariaDB, Squall, commit, machine, record

WORKLOADS = ["oltp_point_select", "oltp_point_select:text", "oltp_read_only", "oltp_write_only", "oltp_read_write", "oltp_insert", "oltp_update_index", "oltp_update_non_index", "oltp_delete", "bulk_insert", "select_one"]
HERE = pathlib.Path(__file__).resolve().parent
# What commands take instead of the defaults of all.
OWN_DEFAULTS = {"instruments": {"threads": "4", "seconds": 3, "rounds": 30}, "large": {"count": 1000000}, "literals": {"count": 1000}}
# Clients that write beside a definition.
ONLINE_WRITERS = 16
# Columns of the table that have a value for each server.
WIDTHS = {"p99_ms": "10.2f", "cpu_us": "9.1f", "client_us": "9.1f", "resident_mib": "7.0f", "conflicts": "11.0f"}


# A workload's name may end in `:text`: statements are then sent as text instead of being prepared.
# `conflicts` counts what sysbench retries: deadlocks (1213), lock time-outs (1205) and, with snapshot isolation, rows
# changed since the snapshot (1020).
def sysbench(server, workload, threads, seconds, rows, action):
    workload, _, way = workload.partition(":")
    script = HERE / "lua" / f"{workload}.lua"
    command = ["sysbench", str(script) if script.exists() else workload, "--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={server.port}", "--mysql-user=root", "--mysql-db=sbtest", f"--threads={threads}", f"--time={seconds}", f"--db-ps-mode={'disable' if way == 'text' else 'auto'}", "--rand-type=uniform", "--percentile=99"]
    if workload.startswith("oltp"):
        command += ["--tables=1", f"--table-size={rows}"]
    cpu, clients = server.cpu_seconds(), children_seconds()
    done = subprocess.run(command + [action], capture_output=True, text=True)
    cpu, clients = server.cpu_seconds() - cpu, children_seconds() - clients
    output = done.stdout + done.stderr
    if done.returncode or re.search(r"\bFATAL\b", output):
        tail = "\n".join(output.splitlines()[-15:])
        print(f"{server.name}: sysbench {workload} {action} with {threads} threads failed:\n{tail}", file=sys.stderr)
        return None
    if action != "run":
        return {}
    found = {name: re.search(pattern, output) for name, pattern in (("queries", r"queries:\s+\d+\s+\(([\d.]+) per sec"), ("transactions", r"transactions:\s+\d+\s+\(([\d.]+) per sec"), ("p99_ms", r"99th percentile:\s+([\d.]+)"), ("conflicts", r"ignored errors:\s+(\d+)"))}
    results = {name: float(match.group(1)) for name, match in found.items() if match}
    total = re.search(r"queries:\s+(\d+)", output)
    if total and int(total.group(1)):
        # What the server itself has spent, user and system time; without the client, which has the same cores.
        results["cpu_us"] = round(cpu * 1e6 / int(total.group(1)), 2)
        results["client_us"] = round(clients * 1e6 / int(total.group(1)), 2)
    results["resident_mib"] = server.resident_bytes() >> 20
    return results


def children_seconds():
    """User and system time of the processes that this one has started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def prepare(server, workload, seconds, rows):
    """The workload's own table: writers have changed the one before."""
    server.sql("DROP DATABASE IF EXISTS sbtest; CREATE DATABASE sbtest")
    if not workload.startswith("select_one"):
        sysbench(server, workload, 1, seconds, rows, "prepare")


def run_sysbench(a):
    """Both servers run at the same time and work in turn, so that what else the machine does meets both; the best of the rounds counts.

    The client has the same cores: `client` is its time per statement, and `limit` the ratio that was left to reach."""
    failed = False
    print(f"{'workload':24}{'threads':>8}{'squall/s':>12}{'mariadb/s':>12}{'ratio':>8}{'p99 ms':>10}{'p99 ms':>10}{'cpu us':>9}{'cpu us':>9}{'client':>9}{'client':>9}{'MiB':>7}{'MiB':>7}{'conflicts':>11}{'conflicts':>11}{'limit':>7}")
    with Squall(a.profile) as squall, MariaDB() as mariadb:
        squall.sql("SET GLOBAL max_connections = 2000")
        prepared = None
        for workload in a.workloads.split(","):
            for threads in map(int, a.threads.split(",")):
                table = workload.partition(":")[0]
                reads = table in ("oltp_point_select", "oltp_read_only", "select_one")
                if prepared not in (table, "oltp_point_select" if reads else None) or not reads:
                    for server in (squall, mariadb):
                        prepare(server, workload, a.seconds, a.rows)
                    prepared = table
                best = {}
                for _ in range(a.rounds):
                    for server in (squall, mariadb):
                        got = sysbench(server, workload, threads, a.seconds, a.rows, "run")
                        failed |= got is None and server is squall
                        print(f"  {server.name:8} {workload:22} {threads:4} threads  {got}", file=sys.stderr, flush=True)
                        if got and got["queries"] > best.get(server, {}).get("queries", 0):
                            best[server] = got
                s, m = best.get(squall, {}), best.get(mariadb, {})
                ours, theirs = s.get("queries", 0), m.get("queries", 0)
                value = lambda field: f"{s.get(field, 0):{WIDTHS[field]}}{m.get(field, 0):{WIDTHS[field]}}"
                print(f"{workload:24}{threads:8}{ours:12.0f}{theirs:12.0f}{ours / theirs if theirs else 0:8.2f}" + "".join(map(value, WIDTHS)) + f"{limit(s, theirs):7.2f}", flush=True)
                if a.record:
                    record("sysbench", {"workload": workload, "threads": threads, "rounds": a.rounds, "squall": s, "mariadb": m})
    return 1 if failed else 0


def limit(found, theirs):
    """The ratio that a server would reach that took nothing of the processors, which the client then had for itself."""
    client = found.get("client_us", 0)
    return os.cpu_count() * 1e6 / client / theirs if client and theirs else 0


def timed(action):
    started = time.perf_counter()
    result = action()
    return time.perf_counter() - started, result


def load_table(server, folder, table):
    name = "dates" if table == "date" else table
    server.sql(f"{ssb.create_table(table)};", "ssb")
    return timed(lambda: server.sql(f"LOAD DATA LOCAL INFILE '{folder}/{table}.csv' INTO TABLE {name} FIELDS TERMINATED BY ','", "ssb"))[0]


def open_for_load(server):
    server.sql("CREATE DATABASE ssb; SET GLOBAL local_infile = 1")


def run_load(a):
    rows = ssb.generate(a.data, a.scale, 1000000, a.lines)
    counts = {"part": 1000000, "lineorder": rows}
    results = {}
    for server in (Squall(a.profile), MariaDB()):
        with server:
            open_for_load(server)
            for table in counts:
                seconds = load_table(server, a.data, table)
                results[server.name, table] = counts[table] / seconds
                print(f"  {server.name:8} {table}: {seconds:.1f} s, peak memory {server.peak_bytes() >> 20} MiB, data directory {server.disk_bytes() >> 20} MiB", file=sys.stderr, flush=True)
    print(f"{'load':24}{'squall rows/s':>16}{'mariadb rows/s':>16}{'ratio':>8}")
    for table in counts:
        ours, theirs = results["squall", table], results["mariadb", table]
        print(f"{table:24}{ours:16.0f}{theirs:16.0f}{ours / theirs:8.2f}")
        if a.record:
            record("load", {"table": table, "squall_rows_per_s": round(ours), "mariadb_rows_per_s": round(theirs)})
    return 0


def run_group_concat(a):
    import lists  # needs duckdb

    ssb.generate(a.data, a.scale, 1000000, a.lines)
    rounds, found, texts = 7, {}, {}
    for server in (Squall(a.profile), MariaDB()):
        with server:
            open_for_load(server)
            load_table(server, a.data, "part")
            if server.name == "squall":
                server.sql("CREATE TABLE part_columns ENGINE=COLUMN AS SELECT * FROM part", "ssb")
                found["squall columns"], found["squall columns_projection"], texts["columns"] = lists.of_server(server, "part_columns", rounds)
            found[server.name], found[server.name + "_projection"], texts[server.name] = lists.of_server(server, "part", rounds)
    found["duckdb"], texts["duckdb"] = lists.of_duckdb(f"{a.data}/part.csv", rounds, os.cpu_count())
    # The row order inside a GROUP_CONCAT without ORDER BY is not defined.
    keys = {name: sorted(text.split(b",")) for name, text in texts.items()}
    if any(other != keys["squall"] for other in keys.values()):
        print("the lists differ")
        return 1
    print(f"GROUP_CONCAT of {len(keys['squall'])} of 1000000 keys, best of {rounds}, through a client but for DuckDB:")
    for name, ms in found.items():
        print(f"{name:24}{ms:8.1f} ms{found['squall columns'] / ms:8.2f} squall columns/this")
    if a.record:
        record("group-concat", {f"{name}_ms": round(ms, 1) for name, ms in found.items()})
    return 0


# Seconds of FastBit's author: the blog's (load, list) and the library's own notes, on machines of their time.
FASTBIT_SECONDS = {"fb_insert2": 15, "fb_inlist": 0.16, "fb_load": 4.02, "fb_resort": 0.41, "count": 0.01, "fb_delete": 0.4}


def run_fastbit(a):
    ssb.generate(a.data, a.scale, 1000000, a.lines)
    lines, file = 10_000_000, os.path.join(a.data, "pairs.csv")
    if not os.path.exists(file):
        with open(file, "w") as out:
            out.writelines(f"{i * 7919 % 1000},{i}\n" for i in range(lines))
    columns = "p_partkey,p_name,p_mfgr,p_category,p_brand,p_color,p_type,p_size,p_container"
    specification = ",".join(f"{column}:{'int' if column == 'p_partkey' else 'text'}" for column in columns.split(","))
    path, pairs = "/var/lib/fastbit/part", "/tmp/fbtest"
    statements = {
        "fb_insert2": (f"SELECT fb_insert2('{path}',{columns}) FROM part GROUP BY 1", 1),
        "fb_inlist": (f"SELECT fastbit.fb_inlist('{path}', \"select p_partkey where p_mfgr='MFGR#1' or p_mfgr='MFGR#2'\") INTO @plist", 5),
        "fb_load": (f"SELECT fb_load('{pairs}', '{file}')", 1),
        "fb_resort": (f"SELECT fb_resort('{path}', 'p_mfgr')", 1),
        "count": (f"CALL fastbit.select('{pairs}', 'select count(*)')", 5),
        "fb_delete": (f"SELECT fb_delete('{pairs}', 'c2 >= 0')", 1),
    }
    with Squall(a.profile, arguments=["--secure-file-priv="]) as server:
        open_for_load(server)
        load_table(server, a.data, "part")
        server.sql(f"SELECT fb_create('{path}', '{specification}'), fb_create('{pairs}', 'c2:int,c3:int')")
        client = connections.Client(server.port)
        client.run("USE ssb")
        print(f"{'':12}{'ms':>10}{'author ms':>12}{'ratio':>8}")
        for name, (statement, rounds) in statements.items():
            seconds = min(timed(lambda: client.run(statement))[0] for _ in range(rounds))
            author = FASTBIT_SECONDS[name]
            print(f"{name:12}{seconds * 1e3:10.1f}{author * 1e3:12.0f}{author / seconds:8.2f}", flush=True)
            if a.record:
                record("fastbit", {"call": name, "ms": round(seconds * 1e3, 1), "author_ms": author * 1e3})
        print(f"memory at most {server.peak_bytes() >> 20} MiB")
    return 0


QUERIES = [
    "SELECT COUNT(*), MIN(p_partkey), MAX(p_partkey), SUM(p_size), AVG(p_size), COUNT(DISTINCT p_brand) FROM part",
    "SELECT p_mfgr, COUNT(*), SUM(p_size), MIN(p_name), MAX(p_color) FROM part GROUP BY p_mfgr ORDER BY p_mfgr",
    "SELECT p_category, COUNT(*) c FROM part WHERE p_size BETWEEN 10 AND 20 AND p_container LIKE 'JUMBO%' GROUP BY p_category HAVING c > 10 ORDER BY c DESC, p_category",
    "SELECT COUNT(*), SUM(lo_revenue), SUM(lo_extendedprice * lo_discount), AVG(lo_quantity), MIN(lo_orderdate), MAX(lo_commitdate) FROM lineorder",
    "SELECT lo_shipmode, COUNT(*), SUM(lo_revenue - lo_supplycost), AVG(lo_discount) FROM lineorder GROUP BY lo_shipmode ORDER BY lo_shipmode",
    "SELECT * FROM lineorder WHERE lo_orderkey IN (1, 2, 33, 39, 5000) ORDER BY lo_orderkey, lo_linenumber",
    "SELECT lo_orderkey, COUNT(*), SUM(lo_quantity) FROM lineorder GROUP BY lo_orderkey ORDER BY 3 DESC, 1 LIMIT 20",
    *ssb.QUERIES.values(),
]


def run_compare(a):
    ssb.generate(a.data, a.scale, a.part_rows, a.lines)
    squall, mariadb, differing = Squall(a.profile), MariaDB(), 0
    with squall, mariadb:
        for server in (squall, mariadb):
            open_for_load(server)
            for table in ssb.SCHEMA:
                seconds = load_table(server, a.data, table)
                print(f"  {server.name}: {table} loaded in {seconds:.1f} s", file=sys.stderr, flush=True)
        squall.sql("SELECT 1")
        for query in QUERIES:
            ours, theirs = timed(lambda: squall.sql(query, "ssb")), timed(lambda: mariadb.sql(query, "ssb"))
            same = ours[1] == theirs[1] or ("ORDER BY" in query and sorted(ours[1].splitlines()) == sorted(theirs[1].splitlines()))
            differing += not same
            print(f"{'same' if same else 'DIFFERENT':10}squall {ours[0]:7.2f} s  mariadb {theirs[0]:7.2f} s  {query[:100]}", flush=True)
            if not same:
                print("   squall: ", ours[1][:300].replace("\n", " | "), "\n   mariadb:", theirs[1][:300].replace("\n", " | "))
        # kill -9 and everything is there again.
        before = squall.sql("SELECT COUNT(*), SUM(lo_revenue) FROM lineorder", "ssb")
        squall.stop(signal.SIGKILL)
        seconds = squall.start()
        after = squall.sql("SELECT COUNT(*), SUM(lo_revenue) FROM lineorder", "ssb")
        print(f"after kill -9: answering again in {seconds * 1e3:.0f} ms, lineorder {'the same' if before == after else 'DIFFERENT'}")
        differing += before != after
    print(f"compare: {len(QUERIES) + 1 - differing} passed, {differing} failed")
    return 1 if differing else 0


# Statements that turn logs on, by server; a slow log that every statement is slow enough for.
LOGS = {
    "off": {"squall": "", "mariadb": ""},
    "general": {"squall": "SET GLOBAL general_log = ON", "mariadb": "SET GLOBAL general_log = ON"},
    "all": {
        "squall": "SET GLOBAL general_log = ON, GLOBAL long_query_time = 0, GLOBAL slow_query_log = ON, GLOBAL query_log_file_enabled = ON",
        "mariadb": "SET GLOBAL general_log = ON, GLOBAL long_query_time = 0, GLOBAL slow_query_log = ON",
    },
}
LOGS["buffered"] = {"squall": "SET GLOBAL log_write_mode = 'buffered'; " + LOGS["all"]["squall"], "mariadb": LOGS["all"]["mariadb"]}
LOGS_OFF = "SET GLOBAL general_log = OFF, GLOBAL slow_query_log = OFF, GLOBAL long_query_time = 10"


def run_logs(a):
    results, failed = {}, False
    workloads = [workload for workload in a.workloads.split(",") if workload.startswith("oltp_point_select")]
    for server in (Squall(a.profile), MariaDB()):
        with server:
            server.sql("CREATE DATABASE sbtest")
            sysbench(server, workloads[0], 1, a.seconds, a.rows, "prepare")
            for workload in workloads:
                for threads in map(int, a.threads.split(",")):
                    # In turn, round by round, so that what else the machine does meets all of them.
                    for _ in range(a.rounds):
                        for logs, switch in LOGS.items():
                            server.sql(switch[server.name])
                            got = sysbench(server, workload, threads, a.seconds, a.rows, "run")
                            server.sql(LOGS_OFF + (", GLOBAL query_log_file_enabled = OFF, GLOBAL log_write_mode = 'direct'" if server.name == "squall" else ""))
                            for log in pathlib.Path(server.data).glob("*.log"):
                                log.unlink(missing_ok=True)
                            failed |= got is None
                            results.setdefault((server.name, workload, threads, logs), []).append(got or {})
                            print(f"  {server.name:8} {workload:22} {threads:3} threads, logs {logs:8} {got}", file=sys.stderr, flush=True)
    median = lambda key, field: statistics.median(run.get(field, 0) for run in results[key])
    print(f"{'workload':24}{'threads':>8}{'logs':>9}{'squall/s':>12}{'loss':>8}{'cpu us':>8}{'mariadb/s':>12}{'loss':>8}{'cpu us':>8}")
    for workload in workloads:
        for threads in map(int, a.threads.split(",")):
            for logs in LOGS:
                line, values = f"{workload:24}{threads:8}{logs:>9}", {}
                for name in ("squall", "mariadb"):
                    off, on = median((name, workload, threads, "off"), "queries"), median((name, workload, threads, logs), "queries")
                    cpu = median((name, workload, threads, logs), "cpu_us")
                    values[name] = {"queries": round(on), "loss_percent": round(100 - 100 * on / off, 1) if off else 0, "cpu_us": cpu}
                    line += f"{on:12.0f}{values[name]['loss_percent']:7.1f}%{cpu:8.1f}"
                print(line)
                if a.record:
                    record("logs", {"workload": workload, "threads": threads, "logs": logs, **values})
    return 1 if failed else 0


def run_footprint(a):
    with Squall(a.profile) as server:
        server.sql("SELECT 1")
        server.stop()
        seconds = min((server.start(), server.stop())[0] for _ in range(5))
        server.start()
        server.sql("SELECT 1")
        time.sleep(1)
        idle, size = server.resident_bytes(), os.path.getsize(server.binary)
    print(f"start-up {seconds * 1e3:.0f} ms, idle memory {idle / 2**20:.1f} MiB, binary {size / 1e6:.1f} MB")
    if a.record:
        record("footprint", {"start_ms": round(seconds * 1e3), "idle_bytes": idle, "binary_bytes": size})
    return 0


def run_profile(a):
    workloads = profile.WORKLOADS if a.workloads == ",".join(WORKLOADS) else a.workloads.split(",")
    with Squall(a.profile) as squall, MariaDB() as mariadb:
        heading = f"{time.strftime('%Y-%m-%d', time.gmtime())}, commit {commit()}, {machine()}, sysbench on the same machine"
        profile.run((squall, mariadb), workloads, list(map(int, a.threads.split(","))), a.seconds, a.rows, heading, a.record)
    return 0


def run_instructions(a):
    workloads = profile.WORKLOADS if a.workloads == ",".join(WORKLOADS) else a.workloads.split(",")
    print(f"{'instructions per statement':28}{'squall':>10}{'mariadb':>10}{'ratio':>8}")
    for workload, squall, mariadb in instructions.run((Squall(a.profile), MariaDB()), workloads, a.rows):
        print(f"{workload:28}{squall:10}{mariadb:10}{squall / mariadb:8.2f}", flush=True)
        if a.record:
            record("instructions", {"workload": workload, "squall": squall, "mariadb": mariadb})
    return 0


def run_scaling(a):
    workloads = profile.WORKLOADS if a.workloads == ",".join(WORKLOADS) else a.workloads.split(",")
    columns = {"queries": "10.0f", "cpu_us": "9.1f", "p50_ms": "10.3f", "p99_ms": "10.2f", "p999_ms": "10.2f"}
    print(f"{'workload':24}{'connections':>12}{'squall/s':>10}{'mariadb/s':>10}{'cpu us':>9}{'':>9}{'p50 ms':>10}{'':>10}{'p99 ms':>10}{'':>10}{'p99.9 ms':>10}")
    with Squall(a.profile) as squall, MariaDB() as mariadb:
        for workload, number, found in profile.scaling((squall, mariadb), workloads, list(map(int, a.threads.split(","))), a.seconds, a.rows):
            value = lambda field: "".join(f"{found[server.name].get(field, 0):{columns[field]}}" for server in (squall, mariadb))
            print(f"{workload:24}{number:12}" + "".join(map(value, columns)), flush=True)
            if a.record:
                record("scaling", {"workload": workload, "connections": number, **found})
    return 0


def run_accounts(a):
    workloads = [workload for workload in a.workloads.split(",") if workload.startswith("oltp_point_select")]
    with Squall(a.profile) as squall, MariaDB() as mariadb:
        for found in accounts.run((squall, mariadb), workloads, list(map(int, a.threads.split(","))), a.seconds, a.rounds, a.rows):
            print("{server:8} {workload:22}{connections:5} connections{queries:9}/s, with {changes_per_s} changes/s {with_changes}/s, loss {loss_percent} %".format(**found), flush=True)
            if a.record:
                record("accounts", found)
    return 0


def run_instruments(a):
    for found in instruments.run(a.profile, list(map(int, a.threads.split(","))), a.seconds, a.rounds, a.rows):
        print("{server:8}{connections:5} connections: {off}/s with the performance schema off, {on}/s with it on, cost {cost_percent} % (half of the rounds {cost_percent_low} to {cost_percent_high}); {cpu_us_off} and {cpu_us_on} µs of processor time".format(**found), flush=True)
        if a.record:
            record("instruments", found)
    return 0


def run_history(a):
    found = {"collected": history.collected(a.profile, a.rounds), "week": history.run(a.profile, a.rounds)}
    for kind, part in found.items():
        print(f"{kind}: {part['snapshots']:,} snapshots, {part['bytes'] / 1e6:.1f} MB, {part['views']} views; milliseconds through a client")
        for question in history.QUESTIONS:
            one = part[question]
            print(f"{question:18} median {one['median_ms']:8.2f}   io_by_thread_by_latency {one['io_by_thread_by_latency_ms']:8.2f}   slowest {one['slowest_ms']:8.2f} ({one['slowest']}, {one['slowest_rows']} rows)   without rows {one['empty']}")
    print(f"a snapshot of the server at work took {found['collected']['collect_ms']} ms")
    if a.record:
        record("history", found)
    return 0


def run_endurance(a):
    done, wrong = endurance.run(Squall(a.profile), sysbench, a.minutes, a.slice, a.rows, int(a.threads.split(",")[-1]))
    print(f"endurance: {done}, " + ("; ".join(wrong) if wrong else "nothing wrong"))
    if a.record and not wrong:
        record("endurance", done)
    return 1 if wrong else 0


def run_connections(a):
    count = connections.open_files_allowed(a.connections)
    for server in (Squall(a.profile), MariaDB()):
        result = connections.connections(server, count, a.seconds)
        print(f"{server.name}: {result['connections']} connections take {result['mib']} MiB ({result['bytes_each']} bytes each), {result['opened_per_s']} opened/s; point selects/s with 4 clients {result['point_selects_before']} before, {result['point_selects_beside']} beside them (p99 {result['p99_us_before']} and {result['p99_us_beside']} us)")
        if a.record:
            record("connections", {"server": server.name, **result})
    return 0


def run_fairness(a):
    kinds = a.kinds.split(",") if a.kinds else list(connections.GREEDY)
    results = {server.name: connections.fairness(server, kinds, a.seconds, a.rounds) for server in (Squall(a.profile), MariaDB())}
    print(f"{'point selects beside':24}{'squall p50':>12}{'p99':>10}{'max us':>10}{'mariadb p50':>14}{'p99':>10}{'max us':>10}")
    for kind in kinds:
        ours, theirs = results["squall"][kind], results["mariadb"][kind]
        print(f"{kind:24}{ours['p50_us']:12}{ours['p99_us']:10}{ours['max_us']:10}{theirs['p50_us']:14}{theirs['p99_us']:10}{theirs['max_us']:10}")
        if a.record:
            record("fairness", {"beside": kind, "squall": ours, "mariadb": theirs})
    return 0


def run_kill(a):
    kinds = a.kinds.split(",") if a.kinds else list(kill.KINDS)
    times, ended = kill.run(Squall(a.profile), kinds, a.rounds)
    print(f"{'milliseconds from KILL':28}{'median':>10}{'most':>10}")
    for kind in kinds:
        of_kind = sorted(times.get(kind, []))
        if of_kind:
            print(f"{kind:28}{statistics.median(of_kind):10.1f}{of_kind[-1]:10.1f}")
            if a.record:
                record("kill", {"kind": kind, "median_ms": round(statistics.median(of_kind), 1), "max_ms": round(of_kind[-1], 1), "kills": len(of_kind)})
        if kind in ended:
            print(f"{kind:28} ended by itself after {', '.join(ended[kind])}")
    return 0


def run_literals(a):
    (ours, unkept), (theirs, _) = (literals.run(server, a.count) for server in (Squall(a.profile), MariaDB()))
    print(f"{'microseconds':64}{'squall':>8}{'unkept':>8}{'mariadb':>9}{'ratio':>8}")
    for name, time in ours.items():
        print(f"{name:64}{time:8}{unkept[name]:8}{theirs[name]:9}{time / theirs[name]:8.2f}")
        if a.record:
            record("plans-for-other-literals", {"measure": f"{name}, µs", "squall": time, "before": unkept[name], "peer": {"mariadb": theirs[name]}, "note": f"bench/run.py literals, {a.profile} build, one connection, medians of {a.count}; before: plan_cache_size = 0"})
    return 0


def run_large(a):
    path = pathlib.Path(a.data) / f"documents-{a.documents}.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    large.write_documents(path, a.documents)
    # MariaDB copies texts that are flattened already: it has no function for it.
    runs = [list(large.run(server, flatten, path, a.count)) for server, flatten in ((Squall(a.profile), "RAPID_FLATTEN_JSON(doc)"), (MariaDB(), "REPLACE(doc, ',', '\\n')"))]
    print(f"{'':30}{'squall s':>10}{'MiB':>8}{'mariadb s':>11}{'MiB':>8}{'ratio':>8}")
    for (name, seconds, mib), (_, other, other_mib) in zip(*runs):
        print(f"{name:30}{seconds:10.2f}{mib:8}{other:11.2f}{other_mib:8}{other / seconds:8.2f}")
        if a.record:
            record("large", {"what": name, "documents": a.documents, "squall_s": round(seconds, 2), "squall_mib": mib, "mariadb_s": round(other, 2), "mariadb_mib": other_mib})
    return 0


def run_partitions(a):
    sizes, counts = [a.rows // 100, a.rows // 10, a.rows], [1, 8, 64, 512]
    results = {}
    for make in (lambda: Squall(a.profile), MariaDB):
        server = make()
        results[server.name] = (partitions.changes(server, sizes), partitions.statements(make(), counts, a.rows // 10))
        print(f"  {server.name} done", file=sys.stderr, flush=True)
    for part, (what, unit) in enumerate((("rows of the partition", "ms"), ("partitions", "us"))):
        print(f"{what:24}" + f"{'statement':>18}{f'squall {unit}':>12}{f'mariadb {unit}':>12}{'ratio':>8}")
        for size, times in results["squall"][part].items():
            for name, ours in times.items():
                theirs = results["mariadb"][part][size][name]
                print(f"{size:<24}{name:>18}{ours:12.2f}{theirs:12.2f}{theirs / ours:8.2f}")
    if a.record:
        for name, (changes, statements) in results.items():
            record("partitions", {"server": name, "rows": a.rows, "changes_ms": changes, "statements_us": statements})
    return 0


def run_definitions(a):
    for server in (Squall(a.profile), MariaDB()):
        result = definitions.pairs(server, a.count, a.tables)
        print(f"{server.name}: {result['pairs']} CREATE + DROP pairs beside {result['kept']} tables take {result['ms_first']} ms each at first and {result['ms_last']} at last; {result['mib_before']} MiB before, {result['mib_after']} after, {result['mib_restarted']} after a restart (stop {result['stop_s']} s, start {result['start_s']} s)")
        if a.record:
            record("definitions", {"server": server.name, **result})
    return 0


def run_online(a):
    results, failed = {}, False
    for server in (Squall(a.profile), MariaDB()):
        with server:
            results[server.name], right = online.run(server, a.rows, ONLINE_WRITERS)
        failed |= not right
        print(f"{server.name}: {'all rows are there, and every key has them' if right else 'ROWS OR KEYS ARE WRONG'}")
    print(f"{a.rows} rows, {ONLINE_WRITERS} writers{'ms':>18}{'ms':>12}{'writes/s':>12}{'writes/s':>12}{'longest ms':>12}{'longest ms':>12}")
    for name, ours in results["squall"].items():
        pairs = [(ours[field], results["mariadb"][name][field]) for field in ("longest_ms", "writes_per_s", "longest_write_ms")]
        print(f"{name:24}" + "".join(f"{value:12}" for pair in pairs for value in pair))
    if a.record:
        for name, changes in results.items():
            record("online", {"server": name, "rows": a.rows, "writers": ONLINE_WRITERS, "changes": changes})
    return failed


def run_background(a):
    workers = int(a.threads.split(",")[0]) if a.threads != "1,4,64" else 8
    results, starts, sleeps = background.run(Squall(a.profile), a.count, workers, a.rounds)
    print(f"{'statements/s, ' + str(workers) + ' at once':26}{'directly':>10}{'queued':>10}{'ratio':>8}")
    for name, (direct, queued) in results.items():
        print(f"{name:26}{direct:10.0f}{queued:10.0f}{queued / direct:8.2f}")
    p50, p99, most = starts[len(starts) // 2], starts[len(starts) * 99 // 100], starts[-1]
    print(f"from CALL to start: p50 {p50} us, p99 {p99} us, at most {most} us; 8 sleeps of a second {sleeps[8]:.2f} s, 16 {sleeps[16]:.2f} s")
    if a.record:
        record("background", {"workers": workers, "count": a.count, "start_us": {"p50": p50, "p99": p99, "max": most}, "sleeps_s": sleeps,
                              **{name: {"direct_per_s": round(direct), "queued_per_s": round(queued), "ratio": round(queued / direct, 2)} for name, (direct, queued) in results.items()}})
    return 0


def main():
    commands = {"background": run_background, "connections": run_connections, "definitions": run_definitions, "partitions": run_partitions, "fairness": run_fairness, "endurance": run_endurance, "sysbench": run_sysbench, "load": run_load, "group-concat": run_group_concat, "fastbit": run_fastbit, "compare": run_compare, "logs": run_logs, "footprint": run_footprint, "profile": run_profile, "instructions": run_instructions, "scaling": run_scaling, "accounts": run_accounts, "instruments": run_instruments, "kill": run_kill, "large": run_large, "literals": run_literals, "online": run_online, "history": run_history}
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("command", choices=commands)
    p.add_argument("--profile", default="release", choices=["release", "profiling", "debug"])
    p.add_argument("--record", action="store_true")
    p.add_argument("--data", default="/tmp/squall-bench")
    p.add_argument("--workloads", default=",".join(WORKLOADS)), p.add_argument("--threads", default="1,4,64")
    p.add_argument("--seconds", type=int, default=10), p.add_argument("--rows", type=int, default=1000000)
    p.add_argument("--minutes", type=float, default=60), p.add_argument("--slice", type=int, default=300)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--count", type=int, default=10000), p.add_argument("--documents", type=int, default=18801), p.add_argument("--connections", type=int, default=10000), p.add_argument("--tables", type=int, default=100), p.add_argument("--kinds")
    p.add_argument("--scale", type=int, default=1), p.add_argument("--lines", type=int), p.add_argument("--part-rows", type=int, default=1000000)
    p.set_defaults(**OWN_DEFAULTS.get(p.parse_args().command, {}))
    a = p.parse_args()
    sys.exit(commands[a.command](a))


if __name__ == "__main__":
    main()
