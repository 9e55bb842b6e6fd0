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


run([tables, delimiter_and_vertical, errors_tell_the_line, tls, local_infile, tab_completion_at_start, status, queries_in_the_background])
