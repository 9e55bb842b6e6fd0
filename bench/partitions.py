"""Tables with partitions: `bench/run.py partitions`.

What a change of a definition costs by the size of the partition, and what a statement costs by the number of partitions."""
import statistics, time
import pymysql

# A partition's rows, written by one INSERT: its numbers are those below `rows`.
DIGITS = "(SELECT 0 d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 UNION SELECT 7 UNION SELECT 8 UNION SELECT 9)"
STATEMENTS = {
    "point": lambda n, rows: f"SELECT v FROM t WHERE id = {n * 7919 % rows}",
    "update": lambda n, rows: f"UPDATE t SET v = v + 1 WHERE id = {n * 7919 % rows}",
    # Not of the partitioning column: each partition is looked into.
    "by_key": lambda n, rows: f"SELECT id FROM t WHERE k = {n * 7919 % rows}",
    "range": lambda n, rows: f"SELECT SUM(v) FROM t WHERE id BETWEEN {n * 7919 % rows} AND {n * 7919 % rows + 99}",
}


def fill(cursor, table, rows):
    """Rows 0, 1, … of a table of three columns."""
    digits = len(str(rows - 1))
    number = " + ".join(f"t{n}.d * {10 ** n}" for n in range(digits))
    cursor.execute(f"INSERT INTO {table} SELECT * FROM (SELECT {number} AS id, 0 AS v, {number} AS k FROM " + ", ".join(f"{DIGITS} t{n}" for n in range(digits)) + f") q WHERE id < {rows}")


def milliseconds(action):
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1000


def changes(server, sizes):
    """Milliseconds of DROP, TRUNCATE and EXCHANGE PARTITION by the rows of the partition."""
    found = {}
    with server, pymysql.connect(host="127.0.0.1", port=server.port, user="root", autocommit=True) as conn, conn.cursor() as cursor:
        cursor.execute("CREATE DATABASE p")
        cursor.execute("USE p")
        for rows in sizes:
            cursor.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT, k INT, KEY (k)) PARTITION BY RANGE (id) "
                           f"(PARTITION full VALUES LESS THAN ({rows}), PARTITION rest VALUES LESS THAN MAXVALUE)")
            cursor.execute("CREATE TABLE other (id INT PRIMARY KEY, v INT, k INT, KEY (k))")
            fill(cursor, "t", rows)
            times = found[rows] = {}
            # The first gives the rows away for an empty table; the second takes them back, and reads each to check it.
            for name in ("exchange", "exchange_checked"):
                times[name] = milliseconds(lambda: cursor.execute("ALTER TABLE t EXCHANGE PARTITION full WITH TABLE other"))
            times["truncate"] = milliseconds(lambda: cursor.execute("ALTER TABLE t TRUNCATE PARTITION full"))
            fill(cursor, "t", rows)
            times["drop"] = milliseconds(lambda: cursor.execute("ALTER TABLE t DROP PARTITION full"))
            cursor.execute("SELECT COUNT(*) FROM t")
            assert cursor.fetchone()[0] == 0
            cursor.execute("DROP TABLE t, other")
    return found


def statements(server, counts, rows, repeats=2000):
    """Median microseconds of each statement by the number of partitions; 1 is a table without."""
    found = {}
    with server, pymysql.connect(host="127.0.0.1", port=server.port, user="root", autocommit=True) as conn, conn.cursor() as cursor:
        cursor.execute("CREATE DATABASE p")
        cursor.execute("USE p")
        for count in counts:
            parts = "" if count == 1 else f" PARTITION BY HASH (id) PARTITIONS {count}"
            cursor.execute(f"CREATE TABLE t (id INT PRIMARY KEY, v INT, k INT, KEY (k)){parts}")
            fill(cursor, "t", rows)
            times = found[count] = {}
            for name, text in STATEMENTS.items():
                taken = [milliseconds(lambda: cursor.execute(text(n, rows))) for n in range(repeats)]
                times[name] = round(statistics.median(taken) * 1000, 1)
            cursor.execute("DROP TABLE t")
    return found
