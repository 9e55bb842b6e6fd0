"""How soon sys_history answers: over a week of a busy server's history, which `cargo bench -p squall-history-store` makes of five tables, and over as many
snapshots of all tables of a server at work."""
import os, pathlib, shutil, statistics, subprocess, tempfile, threading, time
import pymysql
from peers import HERE, Squall

# The original took 5.91 s for four rows of io_by_thread_by_latency.
QUESTIONS = {
    "first rows": "SELECT * FROM sys_history.`{view}` LIMIT 4",
    "last rows": "SELECT * FROM sys_history.`{view}` ORDER BY ts DESC LIMIT 4",
    "last snapshot": "SELECT * FROM sys_history.`{view}` WHERE ts = (SELECT MAX(ts) FROM ps_history.global_status)",
    # Ten minutes of a server that makes one each 30 seconds.
    "last 20 snapshots": "SELECT * FROM sys_history.`{view}` WHERE ts >= '{since}'",
}


def week(folder):
    """Makes the week: 20,160 snapshots."""
    print("making a week of snapshots (minutes)", flush=True)
    subprocess.run(["cargo", "bench", "--package", "squall-history-store", "--", folder], cwd=HERE.parent, check=True)


def answered(cursor, rounds):
    """For each question the slowest view, and the median of all: milliseconds through a client, the best of some rounds."""
    cursor.execute("SELECT COUNT(DISTINCT ts) FROM ps_history.global_variables")
    snapshots = cursor.fetchone()[0]
    cursor.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'sys_history' ORDER BY table_name")
    views = [name for name, in cursor.fetchall()]
    cursor.execute("SELECT CAST(ts AS CHAR) FROM (SELECT DISTINCT ts FROM ps_history.global_variables ORDER BY ts DESC LIMIT 20) AS last ORDER BY ts LIMIT 1")
    since = cursor.fetchone()[0]
    found = {}
    for question, sql in QUESTIONS.items():
        times = {}
        for view in views:
            best = None
            for _ in range(rounds):
                started = time.perf_counter()
                cursor.execute(sql.format(view=view, since=since))
                rows = len(cursor.fetchall())
                best = min(best or 1e9, (time.perf_counter() - started) * 1e3)
            times[view] = (round(best, 2), rows)
        slowest = max(times, key=lambda view: times[view][0])
        found[question] = {"median_ms": round(statistics.median(time for time, _ in times.values()), 2), "slowest": slowest, "slowest_ms": times[slowest][0], "slowest_rows": times[slowest][1],
                           "io_by_thread_by_latency_ms": times["io_by_thread_by_latency"][0], "empty": sum(1 for _, rows in times.values() if not rows)}
    return {"snapshots": snapshots, "views": len(views), **found}


# Something of every kind that views tell of, before the first snapshot.
LOAD = """CREATE DATABASE shop; USE shop
CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(40), KEY (a), KEY unused (b, a))
CREATE TABLE c (id INT, a INT, b VARCHAR(40)) ENGINE=COLUMN
SET cte_max_recursion_depth = 100000
INSERT INTO t WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < 50000) SELECT id, id % 97, MD5(id) FROM n
INSERT INTO c SELECT * FROM t
OPTIMIZE TABLE c
SELECT COUNT(*), SUM(a) FROM c WHERE b LIKE 'a%'
SELECT a, COUNT(*) FROM t GROUP BY a ORDER BY 2 DESC LIMIT 3
SELECT DISTINCT a + id AS s FROM t ORDER BY s LIMIT 3
SELECT 1 / 0
SELECT COUNT(*) FROM t WHERE b LIKE '%a%'"""


def collected(profile, rounds, snapshots=20_160):
    """As many snapshots of a server at work as a week has, one after the other, so that views are full."""
    with Squall(profile) as server:
        connect = lambda: pymysql.connect(host="127.0.0.1", port=server.port, user="root", autocommit=True).cursor()
        cursor = connect()
        for line in LOAD.splitlines():
            for statement in line.split("; "):
                cursor.execute(statement)
        ended = threading.Event()

        def work(number):
            own = connect()
            while not ended.wait(0.02):
                own.execute(f"SELECT COUNT(*) FROM shop.t WHERE a = {number % 97}")
                own.execute(f"UPDATE shop.t SET a = a + 1 WHERE id = {number}")
                number += 2

        def wait():
            # Two do so, and one has the row.
            own = connect()
            while not ended.is_set():
                own.execute("BEGIN")
                own.execute("UPDATE shop.t SET a = 1 WHERE id = 50000")
                ended.wait(0.05)
                own.execute("COMMIT")

        def define():
            # It waits for those that have changed the table.
            own = connect()
            while not ended.wait(0.05):
                own.execute("ALTER TABLE shop.t COMMENT 'at work'")

        threads = [threading.Thread(target=work, args=[number]) for number in (1, 2)] + [threading.Thread(target=wait) for _ in range(2)] + [threading.Thread(target=define)]
        for thread in threads:
            thread.start()
        try:
            started = time.perf_counter()
            for _ in range(snapshots):
                cursor.execute("CALL ps_history.collect()")
            each = (time.perf_counter() - started) * 1e3 / snapshots
        finally:
            ended.set()
            for thread in threads:
                thread.join()
        files = pathlib.Path(server.data, "history").rglob("*")
        size = sum(file.stat().st_size for file in files if file.is_file())
        return {"bytes": size, "collect_ms": round(each, 2), **answered(cursor, rounds)}


def run(profile, rounds, made=None):
    """Over a week of a busy server, of whose tables five are full."""
    folder = tempfile.mkdtemp(prefix="bench-history-")
    try:
        if made is None:
            made = os.path.join(folder, "week")
            week(made)
        server = Squall(profile)
        shutil.copytree(made, os.path.join(server.data, "history"))
        size = sum(file.stat().st_size for file in pathlib.Path(made).rglob("*") if file.is_file())
        with server:
            cursor = pymysql.connect(host="127.0.0.1", port=server.port, user="root", autocommit=True).cursor()
            return {"bytes": size, **answered(cursor, rounds)}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
