"""mysql-connector-python: the prepared protocol with every type, cursors, change user and reset."""
import mysql.connector
from cases import D, PORT, TYPES, check, run


def connect(**options):
    defaults = dict(host="127.0.0.1", port=PORT, user="root", use_pure=True, autocommit=True, charset="utf8mb4", collation="utf8mb4_general_ci")
    return mysql.connector.connect(**{**defaults, **options})


def fresh(con):
    cur = con.cursor()
    cur.execute("DROP DATABASE IF EXISTS client_connector")
    cur.execute("CREATE DATABASE client_connector")
    cur.execute("USE client_connector")
    return cur


def every_type_prepared():
    con = connect()
    cur = fresh(con)
    # This client takes a binary YEAR for a string, from any server.
    types = [t for t in TYPES if t[1] != "YEAR"]
    cur.execute("CREATE TABLE t (id INT PRIMARY KEY, " + ", ".join(f"{c} {t}" for c, t, _, _ in types) + ")")
    prepared = con.cursor(prepared=True)
    insert = f"INSERT INTO t VALUES (?, {', '.join(['?'] * len(types))})"
    prepared.execute(insert, [1] + [v for _, _, v, _ in types])
    prepared.execute(insert, [2] + [None] * len(types))
    prepared.execute("SELECT * FROM t WHERE id >= ? ORDER BY id", (1,))
    one, two = prepared.fetchall()
    for (column, _, _, want), got in zip(types, one[1:]):
        if want is not None:
            if isinstance(want, bytes) and isinstance(got, str):
                got = got.encode("latin1")
            check(bytes(got) if isinstance(got, bytearray) else got, want, column)
    check(tuple(two), (2,) + (None,) * len(types), "row of NULLs")


def prepared_many_times():
    con = connect()
    cur = fresh(con)
    cur.execute("CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20))")
    prepared = con.cursor(prepared=True)
    for i in range(300):
        prepared.execute("INSERT INTO t VALUES (?, ?)", (i, f"row {i}"))
    for i in range(300):
        prepared.execute("SELECT s FROM t WHERE id = ?", (i,))
        check(prepared.fetchall(), [(f"row {i}",)], f"row {i}")


def encrypted_and_not():
    for off in (True, False):
        con = connect(ssl_disabled=off)
        cur = con.cursor()
        cur.execute("SHOW STATUS LIKE 'Ssl_version'")
        check(bool(cur.fetchone()[1]), not off, "TLS")


def compressed():
    con = connect(compress=True)
    cur = fresh(con)
    cur.execute("SHOW STATUS LIKE 'Compression'")
    check(cur.fetchone()[1], "ON", "compression")
    cur.execute("CREATE TABLE t (id INT PRIMARY KEY, s LONGTEXT)")
    cur.executemany("INSERT INTO t VALUES (%s, %s)", [(n, "é" * 10 ** n) for n in range(6)])
    cur.execute("SELECT id, s FROM t ORDER BY id")
    check([len(s) for _, s in cur.fetchall()], [10 ** n for n in range(6)], "texts")


def reset_and_change_user():
    con = connect()
    cur = con.cursor()
    cur.execute("SET @a = 1")
    con.cmd_reset_connection()
    cur = con.cursor()
    cur.execute("SELECT @a")
    check(cur.fetchall(), [(None,)], "@a after reset")
    cur.execute("SET @a = 1")
    con.cmd_change_user("root", "", "information_schema")
    cur = con.cursor()
    cur.execute("SELECT @a, DATABASE()")
    check(cur.fetchall(), [(None, "information_schema")], "after change user")


def metadata():
    con = connect()
    cur = fresh(con)
    cur.execute("CREATE TABLE t (id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, d DECIMAL(10,2) NOT NULL, s VARCHAR(20), KEY (s))")
    cur.execute("SELECT id, d AS price, s, 1 + 1 FROM t")
    types = [(c[0], c[1], c[6]) for c in cur.description]
    cur.fetchall()
    check(types, [("id", 3, 0), ("price", 246, 0), ("s", 253, 1), ("1 + 1", 8, 0)], "names, types and NULL-ability")


def multiple_results():
    con = connect()
    cur = con.cursor()
    rows = []
    cur.execute("SELECT 1; SELECT 2, 3")
    rows.append(cur.fetchall())
    while cur.nextset():
        rows.append(cur.fetchall())
    check(rows, [[(1,)], [(2, 3)]], "results")


def queries_in_the_background():
    con = connect()
    cur = fresh(con)
    cur.execute("CREATE TABLE t (id INT PRIMARY KEY, d DECIMAL(5,2))")
    cur.execute("INSERT INTO t VALUES (1, 1.5), (2, NULL)")
    con.commit()
    cur.callproc("async.queue", ("SELECT * FROM t ORDER BY id",))
    number = [result.fetchall() for result in cur.stored_results()][0][0][0]
    prepared = con.cursor(prepared=True)
    for _ in range(2):
        prepared.execute("CALL async.wait(?)", (number,))
        check(prepared.fetchall(), [(1, D("1.50")), (2, None)], "prepared wait")
        prepared.nextset()
    check(cur.callproc("async.wait_list", (str(number),)), ("",), "the INOUT argument")
    check([result.fetchall() for result in cur.stored_results()], [[(1, D("1.50")), (2, None)]], "wait_list")


run([every_type_prepared, prepared_many_times, encrypted_and_not, compressed, reset_and_change_user, metadata, multiple_results, queries_in_the_background])
