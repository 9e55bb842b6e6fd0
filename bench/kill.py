"""How soon a statement ends that is killed: `bench/run.py kill`.

For each kind of work: the statement is sent, gets some time to come to where it works longest, is killed with KILL QUERY from another
connection, and is timed from there to its error. Such as end by themselves in less than that are not counted.
"""
import select, sys, time
from connections import QUERY, Client, packet

ROWS = 300_000
# A statement that goes on for so long is given up.
SECONDS_MAX = 20
# Kinds of work: what to run before (or None) and the statement.
KINDS = {
    "parsing": (None, "SELECT " + "1+" * 3_000_000 + "1"),
    "long list": (None, "SELECT COUNT(*) FROM t WHERE id IN (" + ",".join(map(str, range(3_000_000))) + ")"),
    "planning: joins": (None, "SELECT COUNT(*) FROM " + ", ".join(f"t t{i}" for i in range(61)) + " WHERE " + " AND ".join(f"t{i}.id = t{i + 1}.n" for i in range(60))),
    "planning: ANDs": (None, "SELECT COUNT(*) FROM t WHERE " + " AND ".join(f"n <> {i}" for i in range(100_000))),
    "planning: derived tables": (None, "SELECT * FROM " + "(SELECT a FROM " * 900 + "(SELECT id a FROM t) x" + ") x" * 900),
    "hash join": (None, "SELECT COUNT(*) FROM t a JOIN t b ON a.m = b.m"),
    "nested loops": (None, "SELECT COUNT(*) FROM t a, t b WHERE a.n + b.n < 0"),
    "sort": (None, "SELECT * FROM t a JOIN t b ON a.m = b.m ORDER BY RAND()"),
    "group": (None, "SELECT COUNT(*) FROM (SELECT a.n + b.n x, COUNT(*) FROM t a JOIN t b ON a.m = b.m GROUP BY x) g"),
    "distinct": (None, "SELECT COUNT(DISTINCT a.n, b.n) FROM t a JOIN t b ON a.m = b.m"),
    "window": (None, "SELECT SUM(x) FROM (SELECT ROW_NUMBER() OVER (ORDER BY a.s, b.s) x FROM t a JOIN t b ON a.m = b.m) w"),
    "recursion": (None, "WITH RECURSIVE r (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i > 0) SELECT COUNT(*) FROM r"),
    "GROUP_CONCAT": ("SET group_concat_max_len = 4000000000", "SELECT LENGTH(GROUP_CONCAT(a.s, b.s ORDER BY a.s)) FROM t a JOIN t b ON a.m = b.m"),
    "JSON_ARRAYAGG": (None, "SELECT LENGTH(JSON_ARRAYAGG(a.s)) FROM t a JOIN t b ON a.m = b.m"),
    "one long document": (None, "SELECT JSON_LENGTH(JSON_MERGE_PRESERVE(CONCAT('[', REPEAT('{\"a\":1},', 1500000), '1]'), '[1]'))"),
    "one long text": (None, "SELECT LENGTH(REGEXP_REPLACE(REPEAT('ab', 20000000), '(a)(b)', '$2$1'))"),
    "JSON_TABLE": (None, "SELECT SUM(x) FROM JSON_TABLE(CONCAT('[', REPEAT('1,', 3000000), '1]'), '$[*]' COLUMNS (x INT PATH '$')) j"),
    "correlated subquery": (None, "SELECT COUNT(*) FROM t a WHERE (SELECT COUNT(*) FROM t b WHERE b.n > a.n) > 400000"),
    "compound statement": (None, "BEGIN NOT ATOMIC DECLARE i BIGINT DEFAULT 0; WHILE i >= 0 DO SET i = i + 1; END WHILE; END"),
    "INSERT … SELECT": ("CREATE TABLE IF NOT EXISTS u LIKE t", "INSERT INTO u SELECT a.id * 1000000 + b.id, a.n, a.m, a.s FROM t a JOIN t b ON a.m = b.m"),
    "UPDATE": (None, "UPDATE t SET s = CONCAT(n, REPEAT('y', 30)), n = n + 1"),
    "UPDATE in a transaction": ("BEGIN", "UPDATE t SET s = CONCAT(n, REPEAT('y', 30)), n = n + 1"),
    "DELETE by join": (None, "DELETE a FROM t a JOIN t b ON a.m = b.m JOIN t c ON c.m = b.m"),
    "ADD INDEX": (None, "ALTER TABLE t ADD INDEX by_s (s), ADD INDEX by_sn (s, n)"),
    "MODIFY": (None, "ALTER TABLE t MODIFY n BIGINT NOT NULL"),
    "to a column table": (None, "ALTER TABLE t ENGINE = COLUMN"),
    "CREATE TABLE … SELECT": (None, "CREATE TABLE w SELECT a.n x, b.s y FROM t a JOIN t b ON a.m = b.m"),
    "CHECK TABLE": (None, "CHECK TABLE t"),
    "ANALYZE TABLE": (None, "ANALYZE TABLE t"),
    "OPTIMIZE TABLE": (None, "OPTIMIZE TABLE t"),
    "CHECKSUM TABLE": (None, "CHECKSUM TABLE t"),
    "lock of a row": (None, "UPDATE held SET id = 3"),
    "lock of a table": (None, "ALTER TABLE held ADD COLUMN a INT"),
    "GET_LOCK": (None, "SELECT GET_LOCK('held', 1000)"),
    "SLEEP": (None, "SELECT SLEEP(1000)"),
}


def prepare(port):
    client = Client(port)
    client.run("CREATE DATABASE kills; USE kills; SET GLOBAL cte_max_recursion_depth = 4294967295; SET cte_max_recursion_depth = 4294967295;"
               "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL, m INT NOT NULL, s VARCHAR(60) NOT NULL, KEY by_n (n));"
               "CREATE TABLE held (id INT PRIMARY KEY); INSERT INTO held VALUES (1); SET GLOBAL max_allowed_packet = 1073741824")
    client.run(f"INSERT INTO t WITH RECURSIVE r (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < {ROWS}) SELECT i, i, i % 30, REPEAT(CHAR(97 + i % 26), 30) FROM r")
    holder = Client(port)
    holder.run("USE kills; DO GET_LOCK('held', 0); BEGIN; UPDATE held SET id = 2")
    return client, holder


def run(server, kinds, rounds):
    """Milliseconds from KILL to the error, by kind; and how long those took that ended by themselves."""
    times, ended = {}, {}
    with server:
        killer, holder = prepare(server.port)
        # It may be on the event loop of a statement that keeps that to itself.
        killer.socket.settimeout(SECONDS_MAX)
        for kind in kinds:
            before, sql = KINDS[kind]
            print(f"  {kind}", file=sys.stderr, flush=True)
            for number in range(rounds):
                victim = Client(server.port)
                victim.run("USE kills")
                if before:
                    victim.run(before)
                wait = (0.1, 0.3, 1.0)[number % 3]
                started = time.perf_counter()
                victim.socket.sendall(packet(QUERY + sql.encode()))
                if select.select([victim.socket], [], [], wait)[0]:
                    after = f"{(time.perf_counter() - started) * 1e3:.0f} ms"
                    try:
                        victim.finish()
                    except RuntimeError as error:
                        after += f" ({error})"
                    ended.setdefault(kind, []).append(after)
                    victim.socket.close()
                    continue
                killed = time.perf_counter()
                killer.run(f"KILL QUERY {victim.id}")
                victim.socket.settimeout(SECONDS_MAX)
                try:
                    victim.finish()
                except RuntimeError:
                    pass
                except TimeoutError:
                    print(f"{kind}: goes on {SECONDS_MAX} s after it was killed", file=sys.stderr, flush=True)
                times.setdefault(kind, []).append((time.perf_counter() - killed) * 1e3)
                victim.socket.close()
                if kind == "UPDATE in a transaction":
                    time.sleep(0.5)
        holder.socket.close()
    return times, ended
