"""The mariadb command line: scripts on standard input, formats, errors, TLS, LOCAL INFILE."""
import os, re, subprocess, tempfile
from cases import PORT, check, run


def cli(script, *options, fails=False):
    command = ["mariadb", "--no-defaults", "--host=127.0.0.1", f"--port={PORT}", "--user=root", *options]
    done = subprocess.run(command, input=script.encode(), capture_output=True, timeout=60)
    if (done.returncode != 0) != fails:
        raise AssertionError(f"exit {done.returncode}: {done.stderr.decode()}")
    return done.stderr.decode() if fails else done.stdout.decode()


def tables():
    out = cli("DROP DATABASE IF EXISTS client_cli; CREATE DATABASE client_cli; USE client_cli;"
              "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(10)); INSERT INTO t VALUES (1, 'ä'), (2, NULL);"
              "SELECT * FROM t;", "--table", "--default-character-set=utf8mb4")
    check(out, "+----+------+\n| id | s    |\n+----+------+\n|  1 | ä    |\n|  2 | NULL |\n+----+------+\n", "table")


def delimiter_and_vertical():
    out = cli("DELIMITER //\nSELECT 1 AS a, 'x' AS b\\G\nSELECT 2 AS c//\n", "--batch")
    check(out, "*************************** 1. row ***************************\na: 1\nb: x\nc\n2\n", "output")


def errors_tell_the_line():
    err = cli("SELECT 1;\nSELECT FROM;\n", fails=True)
    if "ERROR 1064 (42000) at line 2" not in err:
        raise AssertionError(err)


def tls():
    out = cli("SHOW STATUS LIKE 'Ssl_version'", "--ssl", "--batch", "--skip-column-names")
    if "TLSv1" not in out:
        raise AssertionError(out)


def compressed():
    out = cli("SHOW STATUS LIKE 'Compression'; SELECT LENGTH(REPEAT('x', 1000000)) AS n, MD5(REPEAT('x', 1000000)) AS m, REPEAT('y', 100) AS y",
              "--compress", "--batch", "--skip-column-names")
    check(out, "Compression\tON\n1000000\tec78dbd963d2fc01e51176ed4dec299e\t" + "y" * 100 + "\n", "output")


def local_infile():
    with tempfile.NamedTemporaryFile("w", suffix=".tsv", delete=False) as f:
        f.write("1\tone\n2\t\\N\n3\tthree\n")
    try:
        out = cli("SET GLOBAL local_infile = 1; CREATE DATABASE IF NOT EXISTS client_cli; USE client_cli; DROP TABLE IF EXISTS l;"
                  f"CREATE TABLE l (id INT, s TEXT); LOAD DATA LOCAL INFILE '{f.name}' INTO TABLE l; SELECT * FROM l ORDER BY id;",
                  "--local-infile", "--batch", "--skip-column-names")
    finally:
        os.unlink(f.name)
    check(out, "1\tone\n2\tNULL\n3\tthree\n", "rows")


def tab_completion_at_start():
    # Without --no-auto-rehash the client reads every table's columns by COM_FIELD_LIST.
    out = cli("SELECT 1", "--auto-rehash", "--batch", "--database=client_cli")
    check(out, "1\n1\n", "output")


def status():
    out = cli("status\n", "--batch")
    if "Protocol version:\t10" not in out:
        raise AssertionError(out)


BACKGROUND = """+--------------+
| QUERY_NUMBER |
+--------------+
|            A |
+--------------+
*************************** 1. row ***************************
        q_id: A
    sql_text: select sleep(2)
  created_on: TIME
  started_on: TIME
completed_on: NULL
      parent: NULL
   completed: 0
       state: RUNNING
       errno: NULL
      errmsg: NULL
+----------+
| sleep(2) |
+----------+
|        0 |
+----------+
+--------------+
| QUERY_NUMBER |
+--------------+
|            B |
+--------------+
*************************** 1. row ***************************
        q_id: B
    sql_text: select sleep(25) from bad_table
  created_on: TIME
  started_on: TIME
completed_on: TIME
      parent: NULL
   completed: 1
       state: ERROR
       errno: 42S02
      errmsg: Table 'async.bad_table' doesn't exist
"""


def queries_in_the_background():
    out = cli("call async.queue('select sleep(2)');\ndo sleep(0.5);\ncall async.check(@query_number)\\G\n"
              "call async.wait(@query_number);\ncall async.queue('select sleep(25) from bad_table');\ndo sleep(0.5);\n"
              "call async.check(@query_number)\\G\n", "--table", "--database=async")
    out = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME", out)
    # Others may have queued something before.
    first = int(re.search(r"q_id: (\d+)", out).group(1))
    for number, letter in [(first, "A"), (first + 1, "B")]:
        out = re.sub(rf"\| +{number} \|", f"|            {letter} |", out).replace(f"q_id: {number}", f"q_id: {letter}")
    check(out, BACKGROUND, "the transcript")


def dump():
    """Tables of the toolkit's types and keys, read again from a dump; and a dump of every database, also the server's own."""
    cli("""DROP DATABASE IF EXISTS client_dump; CREATE DATABASE client_dump; USE client_dump;
        CREATE TABLE a (id INT PRIMARY KEY, h HEX(32) UNIQUE, u UUID, j JSON, g HEX(8) AS (LEFT(h, 8)) STORED,
            flat TEXT CHARACTER SET latin1 COLLATE ft_kvpair_ci, doc LONGTEXT, FULLTEXT KEY jk (j), FULLTEXT KEY (flat),
            FULLTEXT KEY dk (doc) WITH PARSER json_kv, KEY fk ((CAST(j->'$.n' AS SIGNED))),
            KEY mv ((CAST(j->'$.tags' AS UNSIGNED ARRAY))));
        INSERT INTO a (id, h, u, j, flat, doc) VALUES (1, MD5('a'), '6ccd780c-baba-1026-9564-5b8c656024db',
            '{"n": 5, "tags": [1, 2], "s": "\\\\ud83d\\\\ude00 \\\\u0000 \\\\"q\\\\""}', 'a=b é', '{"last": "x y"}'), (2, NULL, NULL, NULL, NULL, NULL);
        CREATE TABLE c (id INT PRIMARY KEY, h HEX(4), u UUID, j JSON) ENGINE=COLUMN;
        INSERT INTO c VALUES (1, 'abcd', UUID(), '[1.0, 1e100, 18446744073709551615]');
        CREATE TABLE n (id INT PRIMARY KEY, v VECTOR(3) NOT NULL, w VECTOR, VECTOR KEY near (v) M=8 DISTANCE=cosine);
        INSERT INTO n VALUES (1, TO_VECTOR('[0,0,0]'), NULL), (2, TO_VECTOR('[1e-3,-5]'), TO_VECTOR('[1.5]'));
        CREATE EVENT e ON SCHEDULE EVERY 1 DAY STARTS '2040-01-01' COMMENT 'it''s; x' DO INSERT INTO a (id) VALUES (3);
        CREATE VIEW v AS SELECT id, JSON_VALUE(j, '$.n' RETURNING SIGNED DEFAULT 3 ON EMPTY) AS n FROM a;
        CREATE TRIGGER c_bi BEFORE INSERT ON c FOR EACH ROW SET NEW.h = CONCAT('a', LEFT(NEW.h, 3)), NEW.j = JSON_ARRAY('it''s é; x');
        CREATE TRIGGER c_first BEFORE INSERT ON c FOR EACH ROW PRECEDES c_bi SET NEW.h = CONCAT('b', LEFT(NEW.h, 3));
        CREATE PROCEDURE p(IN m INT, OUT n INT) COMMENT 'it''s; x' SET n = m * 2;
        CREATE FUNCTION f(s VARCHAR(10) CHARACTER SET latin1) RETURNS VARCHAR(20) DETERMINISTIC RETURN CONCAT(s, 'é');""")
    asked = """CHECKSUM TABLE a, c, n; SHOW CREATE TABLE n; SELECT id, HEX(v), HEX(w) FROM n; SELECT * FROM v; SHOW EVENTS LIKE 'e'; SHOW CREATE TABLE a;
        SELECT HEX(j->'$.s') FROM a; SELECT COUNT(*) FROM a WHERE MATCH (j) AGAINST ('n=5');
        CALL p(21, @n); SELECT @n, f('x'); SHOW CREATE PROCEDURE p; SHOW CREATE FUNCTION f;
        SELECT TRIGGER_NAME, ACTION_ORDER, ACTION_STATEMENT, SQL_MODE, DEFINER FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = 'client_dump';
        START TRANSACTION; INSERT INTO c (id, h) VALUES (2, '1234'); SELECT h, j FROM c WHERE id = 2; ROLLBACK;"""
    before = cli(asked, "--batch", "--database=client_dump")

    def dumped(*options):
        command = ["mariadb-dump", "--no-defaults", "--host=127.0.0.1", f"--port={PORT}", "--user=root", "--events", "--hex-blob", *options]
        done = subprocess.run(command, capture_output=True, timeout=120)
        check((done.returncode, done.stderr.decode()), (0, ""), "mariadb-dump")
        return done.stdout.decode()

    one, everything = dumped("--databases", "client_dump", "--routines", "--lock-all-tables", "--flush-logs"), dumped("--all-databases", "--routines")
    for text in [one, everything]:
        cli("DROP DATABASE client_dump")
        cli(text)
        check(cli(asked, "--batch", "--database=client_dump"), before, "what was read again")
    cli("DROP DATABASE client_dump")


run([tables, delimiter_and_vertical, errors_tell_the_line, tls, compressed, local_infile, tab_completion_at_start, status, queries_in_the_background, dump])
