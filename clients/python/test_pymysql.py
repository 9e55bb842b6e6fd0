"""PyMySQL: the text protocol, TLS, authentication, errors, transactions, LOCAL INFILE, big rows, KILL, a schedule from the web."""
import datetime, http.server, os, pathlib, ssl, tempfile, threading, time
import pymysql
from pymysql.constants import CLIENT
from cases import PORT, SOCKET, TYPES, check, run


def connect(**options):
    defaults = dict(host="127.0.0.1", port=PORT, user="root", charset="utf8mb4", autocommit=True, local_infile=True)
    return pymysql.connect(**{**defaults, **options})


def fresh(con, name="client_py"):
    cur = con.cursor()
    cur.execute(f"DROP DATABASE IF EXISTS {name}")
    cur.execute(f"CREATE DATABASE {name}")
    cur.execute(f"USE {name}")
    return cur


def every_type_as_text():
    con = connect()
    cur = fresh(con)
    cur.execute("CREATE TABLE t (id INT PRIMARY KEY, " + ", ".join(f"{c} {t}" for c, t, _, _ in TYPES) + ")")
    cur.execute(f"INSERT INTO t VALUES (1, {', '.join(['%s'] * len(TYPES))})", [v for _, _, v, _ in TYPES])
    cur.execute(f"INSERT INTO t VALUES (2, {', '.join(['NULL'] * len(TYPES))})")
    cur.execute("SELECT * FROM t ORDER BY id")
    one, two = cur.fetchall()
    for (column, _, _, want), got in zip(TYPES, one[1:]):
        if want is not None:
            check(got, want, column)
    names = [c for c, _, _, _ in TYPES]
    check(one[1 + names.index("c_bit")], b"\x02\x03", "c_bit")
    check(one[1 + names.index("c_set")], "x,z", "c_set")
    check(two, (2,) + (None,) * len(TYPES), "row of NULLs")


def tls():
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    con = connect(ssl=context)
    cur = con.cursor()
    cur.execute("SHOW STATUS LIKE 'Ssl_cipher'")
    if not cur.fetchone()[1]:
        raise AssertionError("no cipher on a TLS connection")


def unix_socket():
    if SOCKET:
        con = connect(unix_socket=SOCKET)
        cur = con.cursor()
        cur.execute("SELECT 1")
        check(cur.fetchone(), (1,), "over the socket")


def passwords():
    root = connect()
    cur = root.cursor()
    for user, plugin in (("py_sha2", "caching_sha2_password"), ("py_native", "mysql_native_password")):
        cur.execute(f"DROP USER IF EXISTS {user}@'127.0.0.1', {user}@localhost")
        for host in ("127.0.0.1", "localhost"):
            cur.execute(f"CREATE USER {user}@'{host}' IDENTIFIED WITH {plugin} BY 'pässword'")
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        for options in (dict(ssl=context), dict(), dict()):  # full over TLS, then fast
            # Bytes, because this client sends text as latin1 whatever the connection's character set.
            con = connect(user=user, password="pässword".encode(), **options)
            c = con.cursor()
            c.execute("SELECT CURRENT_USER()")
            check(c.fetchone()[0].split("@")[0], user, "user")
        try:
            connect(user=user, password="wrong")
            raise AssertionError("a wrong password was taken")
        except pymysql.err.OperationalError as e:
            check(e.args[0], 1045, "wrong password")


def full_authentication_by_rsa():
    cur = connect().cursor()
    cur.execute("DROP USER IF EXISTS py_rsa@'127.0.0.1', py_rsa@localhost")
    for host in ("127.0.0.1", "localhost"):
        cur.execute(f"CREATE USER py_rsa@'{host}' IDENTIFIED WITH caching_sha2_password BY 'secret'")
    con = connect(user="py_rsa", password="secret", ssl_disabled=True)
    con.ping()


def errors():
    con = connect()
    cur = fresh(con)
    cur.execute("CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(3) NOT NULL, n TINYINT, d DATE)")
    cur.execute("INSERT INTO t VALUES (1, 'a', 1, '2024-01-01')")
    for sql, code in [
        ("SELEC 1", 1064), ("SELECT * FROM nowhere", 1146), ("SELECT nothing FROM t", 1054), ("USE nowhere", 1049),
        ("INSERT INTO t VALUES (1, 'a', 1, NULL)", 1062), ("INSERT INTO t VALUES (1)", 1136),
        ("INSERT INTO t VALUES (2, 'abcd', 1, NULL)", 1406), ("INSERT INTO t VALUES (2, 'a', 300, NULL)", 1264),
        ("INSERT INTO t VALUES (2, 'a', 1, '2024-02-30')", 1292), ("INSERT INTO t VALUES (2, NULL, 1, NULL)", 1048),
        ("", 1065), ("CREATE TABLE t (a INT)", 1050), ("DROP TABLE nowhere", 1051), ("SELECT nofunction(1)", 1305),
    ]:
        try:
            cur.execute(sql)
            raise AssertionError(f"no error from {sql!r}")
        except pymysql.err.MySQLError as e:
            check(e.args[0], code, sql)
    cur.execute("SELECT COUNT(*) FROM t")
    check(cur.fetchone(), (1,), "rows after errors")


def transactions():
    a, b = connect(autocommit=False), connect()
    ca, cb = fresh(a), b.cursor()
    ca.execute("CREATE TABLE t (id INT PRIMARY KEY, v INT)")
    ca.execute("INSERT INTO t VALUES (1, 10)")
    a.commit()
    ca.execute("UPDATE t SET v = 11 WHERE id = 1")
    ca.execute("SELECT v FROM t WHERE id = 1")
    check(ca.fetchone(), (11,), "own write")
    cb.execute("SELECT v FROM client_py.t WHERE id = 1")
    check(cb.fetchone(), (10,), "another's uncommitted write")
    a.rollback()
    ca.execute("SELECT v FROM t WHERE id = 1")
    check(ca.fetchone(), (10,), "after rollback")
    a.commit()


def local_infile():
    con = connect()
    cur = fresh(con)
    cur.execute("SET GLOBAL local_infile = 1")
    cur.execute("CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(50))")
    with tempfile.NamedTemporaryFile("w", suffix=".csv", delete=False) as f:
        f.writelines(f'{i},"value {i}, quoted"\n' for i in range(20000))
    try:
        cur.execute(f"LOAD DATA LOCAL INFILE '{f.name}' INTO TABLE t FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"'")
        check(cur.rowcount, 20000, "rows loaded")
    finally:
        os.unlink(f.name)
    cur.execute("SELECT COUNT(*), MAX(s) FROM t")
    check(cur.fetchone(), (20000, "value 9999, quoted"), "loaded")


def big_rows():
    con = connect(max_allowed_packet=64 << 20)
    cur = fresh(con)
    cur.execute("CREATE TABLE t (id INT PRIMARY KEY, b LONGBLOB)")
    big = os.urandom(1 << 20) * 17  # over one 16 MB packet
    cur.execute("INSERT INTO t VALUES (1, %s)", (big,))
    cur.execute("SELECT b FROM t")
    if cur.fetchone()[0] != big:
        raise AssertionError("a row of 17 MB came back changed")


def many_rows():
    con = connect()
    cur = con.cursor(pymysql.cursors.SSCursor)
    cur.execute("SET SESSION cte_max_recursion_depth = 1000000")
    cur.execute("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT i, REPEAT('x', 100) FROM n")
    check(sum(1 for _ in cur), 100000, "streamed rows")


def multi_statements():
    con = connect(client_flag=CLIENT.MULTI_STATEMENTS)
    cur = con.cursor()
    cur.execute("SELECT 1; SELECT 'two', 2; SET @a = 3; SELECT @a")
    results = []
    while True:
        if cur.description:
            results.append(cur.fetchall())
        if not cur.nextset():
            break
    check(results, [((1,),), (("two", 2),), ((3,),)], "results")


def kill_query():
    con, other = connect(), connect()
    failure = []

    def sleeper():
        try:
            cur = con.cursor()
            cur.execute("SELECT SLEEP(20)")
            failure.append(("result", cur.fetchone()))
        except pymysql.err.MySQLError as e:
            failure.append(("error", e.args[0]))

    thread = threading.Thread(target=sleeper)
    started = time.time()
    thread.start()
    cur = other.cursor()
    while True:  # until the process list shows it
        cur.execute("SHOW PROCESSLIST")
        if any(row[0] == con.thread_id() and row[7] and "SLEEP" in row[7] for row in cur.fetchall()):
            break
        if time.time() - started > 10:
            raise AssertionError("the process list does not show the statement")
    cur.execute(f"KILL QUERY {con.thread_id()}")
    thread.join(10)
    if time.time() - started > 15 or not failure:
        raise AssertionError("KILL QUERY did not stop SLEEP")
    if failure[0] not in (("result", (1,)), ("error", 1317)):
        raise AssertionError(f"unexpected {failure}")
    con.ping(reconnect=False)
    other.kill(con.thread_id())
    time.sleep(0.2)
    try:
        con.ping(reconnect=False)
        raise AssertionError("a killed connection goes on")
    except pymysql.err.MySQLError:
        pass


def warnings_and_insert_ids():
    con = connect()
    cur = fresh(con)
    cur.execute("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, n TINYINT)")
    cur.execute("INSERT INTO t (n) VALUES (1), (2)")
    check((cur.rowcount, cur.lastrowid), (2, 1), "insert")
    cur.execute("SET sql_mode = ''")
    cur.execute("INSERT INTO t (n) VALUES (1000)")
    check(cur.lastrowid, 3, "insert id")
    cur.execute("SHOW WARNINGS")
    check([row[1] for row in cur.fetchall()], [1264], "warnings")
    cur.execute("UPDATE t SET n = 5 WHERE id < 3")
    check(cur.rowcount, 2, "updated")


def queries_in_the_background():
    con = connect()
    cur = fresh(con)
    cur.execute("CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20))")
    numbers = []
    for sql in ["INSERT INTO t VALUES (1, 'a'), (2, 'ü')", "SELECT * FROM nowhere", "SELECT s AS name FROM t WHERE 0", "SELECT 7"]:
        cur.execute("CALL async.queue(%s)", (sql,))
        numbers.append(cur.fetchone()[0])
        check(cur.nextset(), True, "the OK behind the rows")
    cur.execute("CALL async.wait(%s)", (numbers[0],))
    check(cur.rowcount, 2, "rows that the INSERT has changed")
    try:
        cur.execute("CALL async.wait(%s)", (numbers[1],))
        raise AssertionError("a query of no table")
    except pymysql.err.ProgrammingError as error:
        check(error.args, (1146, "Table 'client_py.nowhere' doesn't exist"), "the query's own error")
    cur.execute("CALL async.wait_list(%s)", (f"{numbers[3]}, {numbers[2]}, {numbers[3]}",))
    found = []
    while cur.description:
        found.append((cur.description[0][0], cur.fetchall()))
        cur.nextset()
    check(found, [("7", ((7,),)), ("name", ()), ("7", ((7,),))], "three results")
    cur.execute("CALL async.check(%s)", (numbers[1],))
    row = dict(zip([column[0] for column in cur.description], cur.fetchone()))
    check((row["completed"], row["state"], row["errno"]), (1, "ERROR", "42S02"), "check")


def texts_as_statements():
    con = connect(client_flag=CLIENT.MULTI_STATEMENTS)
    cur = fresh(con)
    cur.execute("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(40))")
    cur.execute("SET @q = %s, @v = %s", ("SELECT ? AS v", "it's; a 'value'"))
    cur.execute("EXECUTE @q USING @v")
    check((cur.description[0][0], cur.fetchall()), ("v", (("it's; a 'value'",),)), "a text's result")
    cur.execute("EXECUTE %s WITH NO RETURN", ("INSERT INTO t VALUES (1, 'a;b'); INSERT INTO t VALUES (2, 'ü')",))
    check(cur.rowcount, 2, "rows that the list has changed")
    cur.execute("SELECT EXECUTE(%s)", ("INSERT INTO t VALUES (3, ''); INSERT INTO t SELECT id + 10, v FROM t",))
    check(cur.fetchone(), (1,), "the function")
    check(cur.execute("EXECUTE %s CONCURRENT WAIT", ("DELETE FROM t WHERE id > 10",)), 3, "rows that the child has changed")
    for sql, want in [("SELECT EXECUTE('DELETE FROM t; SELECT * FROM nowhere')", 1146), ("EXECUTE 'SELECT 1; SELECT 2'", 1064), ("EXECUTE @not_set", 1210)]:
        try:
            cur.execute(sql)
            raise AssertionError(f"{sql}: no error")
        except pymysql.MySQLError as error:
            check(error.args[0], want, sql)
    cur.execute("SELECT COUNT(*) FROM t")
    check(cur.fetchone(), (3,), "nothing was deleted")


def two_phases():
    """XA as a transaction manager uses it: SQLAlchemy's statements, and Connector/J's, which write names as hexadecimal digits."""
    con = connect()
    cur = fresh(con)
    cur.execute("CREATE TABLE t (id INT PRIMARY KEY)")
    for begin, name, end in (("XA BEGIN %s", "first", "COMMIT"), ("XA START 0x7365636f6e64,0x62,0x1", None, "ROLLBACK")):
        cur.execute(begin % "'first'" if name else begin)
        cur.execute("INSERT INTO t VALUES (%s)", (1 if name else 2,))
        xid = "'first'" if name else "0x7365636f6e64,0x62,0x1"
        cur.execute(f"XA END {xid}")
        cur.execute(f"XA PREPARE {xid}")
        con.close()
        con = connect(database="client_py")
        cur = con.cursor()
        cur.execute("XA RECOVER")
        check([row[3] for row in cur.fetchall()], [b"first" if name else b"secondb"], "the branch that is prepared")
        cur.execute("SELECT COUNT(*) FROM t")
        check(cur.fetchone(), (0 if name else 1,), "rows that nobody has decided about")
        cur.execute(f"XA {end} {xid}")
    cur.execute("SELECT id FROM t")
    check(cur.fetchall(), ((1,),), "rows that were committed")
    try:
        cur.execute("XA COMMIT 'first'")
        raise AssertionError("a branch that has ended")
    except pymysql.err.MySQLError as error:
        check(error.args[0], 1397, "XAER_NOTA")


GUIDE = (pathlib.Path(__file__).parent.parent.parent / "docs/guide/schedule.md").read_text(encoding="utf-8")


def guide(language):
    """The first block of the guide in a language."""
    return GUIDE.split(f"```{language}\n")[1].split("```")[0]


def schedule_from_the_web():
    """The guide's statement: fetched by HTTP_GET, made SQL of by JS, run by EXECUTE."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = guide("text").encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    web = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    con = connect()
    cur = fresh(con)
    url = f"http://127.0.0.1:{web.server_port}/live.txt"
    sql = guide("sql").replace("http://schedule.example/live.txt", url)
    at = datetime.datetime
    want = (
        (at(2012, 6, 16, 9, 0), "Opening remarks", "Lock  picking 101", "Knitting", 30),
        (at(2012, 6, 16, 9, 30), None, "☃ and friends", None, 45),
        (at(2012, 6, 16, 10, 15), None, None, "O'Reilly; and more", 60),
    )
    try:
        cur.execute(sql)
        raise AssertionError("a private address is reached")
    except pymysql.MySQLError as error:
        # PyMySQL takes error numbers for signed ones.
        check(error.args[0] & 0xFFFF, 50411, "a private address")
    cur.execute("SET GLOBAL http_client_allow_private = ON")
    try:
        for time_zone in ("SYSTEM", "+10:00"):
            cur.execute("SET time_zone = %s", (time_zone,))
            cur.execute(sql)
            check(cur.fetchall(), ((1,),), "the statement")
            cur.execute("SELECT * FROM schedule ORDER BY start_time")
            check(cur.fetchall(), want, time_zone)
        # The same by an endpoint, whose name is all that the statement has.
        cur.execute(f"CREATE OR REPLACE HTTP ENDPOINT py_schedule URL 'http://127.0.0.1:{web.server_port}' SECRET 'hush'")
        cur.execute("TRUNCATE schedule")
        cur.execute(sql.replace(url, "py_schedule:/live.txt"))
        cur.execute("SELECT * FROM schedule ORDER BY start_time")
        check(cur.fetchall(), want, "by an endpoint")
        cur.execute("DROP HTTP ENDPOINT py_schedule")
    finally:
        cur.execute("SET GLOBAL http_client_allow_private = DEFAULT")
        web.shutdown()


run([every_type_as_text, tls, unix_socket, passwords, full_authentication_by_rsa, errors, transactions, local_infile, big_rows,
     many_rows, multi_statements, kill_query, warnings_and_insert_ids, queries_in_the_background, texts_as_statements,
     two_phases, schedule_from_the_web])
