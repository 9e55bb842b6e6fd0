"""Calls of a script per second, and what they cost in memory, beside MariaDB's stored functions in SQL and DuckDB's functions in Python.

    bench/javascript.py [--profile release] [--rows 200000] [--sessions 1,2,4] [--seconds 5] [--realms] [--record]

The first part calls one function for each row of a table, in one statement: `JS('arguments[0]+1', n)`, a function in JavaScript, one in SQL. The second
has N sessions call it at once (JS-15): with no lock of the server the sum grows with N up to the number of cores. Before both, `cargo bench` measures realms alone: a
new one, one that is set back, a call of the script `1` in each.
"""
import argparse, json, os, subprocess, sys, threading, time
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from connections import Client
from peers import MariaDB, Squall, record

NUMBERS = "INSERT INTO t WITH RECURSIVE r (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < {rows}) SELECT i, i FROM r"


def best(run, rounds=3):
    """The shortest time of some, seconds."""
    times = []
    for _ in range(rounds):
        begun = time.monotonic()
        run()
        times.append(time.monotonic() - begun)
    return min(times)


def shown(name, rows, seconds, more=""):
    print(f"{name:34} {rows / seconds:12,.0f} calls/s {seconds / rows * 1e6:8.2f} µs {more}")
    return round(rows / seconds)


def realms():
    """What realms cost without the server, microseconds."""
    done = subprocess.run(["cargo", "bench", "--quiet", "-p", "squall-javascript", "--bench", "realms"], check=True, capture_output=True, text=True)
    result = json.loads(done.stdout)
    print("\n".join(f"{name:34} {value:12,.2f}" for name, value in result.items()))
    return result


def squall(a):
    result = {}
    with Squall(a.profile) as server:
        client = Client(server.port)
        client.run("CREATE DATABASE d; USE d; SET cte_max_recursion_depth = 4294967295; CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)")
        client.run(NUMBERS.format(rows=a.rows))
        client.run("CREATE FUNCTION js_add(n INT) RETURNS INT NO SQL LANGUAGE JAVASCRIPT AS 'return n + 1'")
        client.run("CREATE FUNCTION sql_add(n INT) RETURNS INT NO SQL RETURN n + 1")
        before = server.resident_bytes()
        for name, call in (("squall JS()", "JS('arguments[0]+1', n)"), ("squall LANGUAGE JAVASCRIPT", "js_add(n)"), ("squall function in SQL", "sql_add(n)")):
            seconds = best(lambda: client.run(f"SELECT SUM({call}) FROM t"))
            result[name] = shown(name, a.rows, seconds)
        result["memory_bytes"] = server.resident_bytes() - before
        print(f"{'squall memory':34} {result['memory_bytes'] / 1e6:12.1f} MB more")
        for sessions in map(int, a.sessions.split(",")):
            result[f"sessions_{sessions}"] = in_sessions(server.port, sessions, a.seconds)
    return result


def in_sessions(port, sessions, seconds):
    """Calls per second of some sessions at once."""
    rows, stop = 20_000, time.monotonic() + seconds
    counts = [0] * sessions

    def work(at):
        client = Client(port)
        client.run("USE d")
        while time.monotonic() < stop:
            client.run(f"SELECT SUM(JS('var s = 0; for (var i = 0; i < 100; i++) s += i; s + arguments[0]', n)) FROM t WHERE id <= {rows}")
            counts[at] += rows

    begun = time.monotonic()
    threads = [threading.Thread(target=work, args=(at,)) for at in range(sessions)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    return shown(f"squall, {sessions} sessions", sum(counts), time.monotonic() - begun)


def mariadb(a):
    with MariaDB() as server:
        client = Client(server.port)
        client.run("CREATE DATABASE d; USE d; SET max_recursive_iterations = 4294967295; CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)")
        client.run(NUMBERS.format(rows=a.rows))
        client.run("CREATE FUNCTION sql_add(n INT) RETURNS INT NO SQL RETURN n + 1")
        seconds = best(lambda: client.run("SELECT SUM(sql_add(n)) FROM t"))
        return {"mariadb function in SQL": shown("mariadb function in SQL", a.rows, seconds)}


def duckdb(a):
    try:
        import duckdb
    except ImportError:
        print("duckdb is not installed: pip install duckdb")
        return {}
    con = duckdb.connect()
    con.execute(f"CREATE TABLE t AS SELECT range AS n FROM range({a.rows})")
    con.create_function("add_one", lambda n: n + 1, ["BIGINT"], "BIGINT")
    seconds = best(lambda: con.execute("SELECT SUM(add_one(n)) FROM t").fetchall())
    return {"duckdb function in Python": shown("duckdb function in Python", a.rows, seconds)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--profile", default="release")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--sessions", default="1,2,4")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--realms", action="store_true", help="measure realms alone")
    parser.add_argument("--record", action="store_true")
    a = parser.parse_args()
    of_realms = realms()
    if a.record:
        record("realms", of_realms)
    if a.realms:
        return
    result = {**squall(a), **mariadb(a), **duckdb(a)}
    if a.record:
        record("javascript", {"profile": a.profile, **result})


main()
