"""How soon sys_history answers over a week of a busy server's history, which `cargo bench -p squall-history-store` makes."""
import os, pathlib, shutil, statistics, subprocess, tempfile, time
import pymysql
from peers import HERE, Squall

# The original took 5.91 s for four rows of io_by_thread_by_latency.
QUESTIONS = {
    "first rows": "SELECT * FROM sys_history.`{view}` LIMIT 4",
    "last rows": "SELECT * FROM sys_history.`{view}` ORDER BY ts DESC LIMIT 4",
    "last snapshot": "SELECT * FROM sys_history.`{view}` WHERE ts = (SELECT MAX(ts) FROM ps_history.global_status)",
    "last ten minutes": "SELECT * FROM sys_history.`{view}` WHERE ts >= (SELECT MAX(ts) - INTERVAL 10 MINUTE FROM ps_history.global_status)",
}


def week(folder):
    """Makes the week: 20,160 snapshots."""
    print("making a week of snapshots (minutes)", flush=True)
    subprocess.run(["cargo", "bench", "--package", "squall-history-store", "--", folder], cwd=HERE.parent, check=True)


def run(profile, rounds, made=None):
    """For each question the slowest view, and the median of all: milliseconds through a client, the best of some rounds."""
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
            cursor.execute("SELECT COUNT(DISTINCT ts) FROM ps_history.global_variables")
            snapshots = cursor.fetchone()[0]
            cursor.execute("SELECT table_name FROM information_schema.tables WHERE table_schema = 'sys_history' ORDER BY table_name")
            views = [name for name, in cursor.fetchall()]
            found = {}
            for question, sql in QUESTIONS.items():
                times = {}
                for view in views:
                    best = None
                    for _ in range(rounds):
                        started = time.perf_counter()
                        cursor.execute(sql.format(view=view))
                        rows = len(cursor.fetchall())
                        best = min(best or 1e9, (time.perf_counter() - started) * 1e3)
                    times[view] = (round(best, 2), rows)
                slowest = max(times, key=lambda view: times[view][0])
                found[question] = {"median_ms": round(statistics.median(time for time, _ in times.values()), 2), "slowest": slowest, "slowest_ms": times[slowest][0], "slowest_rows": times[slowest][1],
                                   "io_by_thread_by_latency_ms": times["io_by_thread_by_latency"][0], "empty": sum(1 for _, rows in times.values() if not rows)}
            return {"snapshots": snapshots, "bytes": size, "views": len(views), **found}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
