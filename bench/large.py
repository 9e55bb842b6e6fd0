"""Large transactions: statements that change many rows with full-text and other indexes, and what memory they take.

The documents are those that `fb_*`'s author flattens: 18,801 of 3 kB and 250 lines each. MariaDB has no RAPID_FLATTEN_JSON; it is given the
flattened texts in a second column and copies them. Both sides make the same rows.
"""
import json, random, time

WORDS = 50000


def document(number):
    r = random.Random(number)
    items = [{"k": r.randrange(1000000), "t": "w%x" % r.randrange(1 << 22), "q": "z%d" % r.randrange(WORDS)} for _ in range(80)]
    return json.dumps({"id": number, "name": f"c{number}", "items": items}, separators=(",", ":"))


def write_documents(path, count):
    """A document per line, behind its number."""
    if not path.exists():
        with open(path, "w") as out:
            out.writelines(f"{number}\t{document(number)}\n" for number in range(count))


def timed(server, sql, database="bench"):
    begun = time.perf_counter()
    server.sql(sql, database)
    return time.perf_counter() - begun


def run(server, flatten, path, rows):
    """Yields what was done, seconds, and the most memory of the process by then, MiB."""
    with server:
        server.sql("SET GLOBAL local_infile = ON; CREATE DATABASE bench")
        server.sql("CREATE TABLE json2 (id INT PRIMARY KEY, doc LONGTEXT, flat LONGTEXT, FULLTEXT(flat)); CREATE TABLE r (id INT PRIMARY KEY, v VARCHAR(20))", "bench")
        server.sql(f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE json2 FIELDS TERMINATED BY '\\t' ESCAPED BY '' (id, doc)", "bench")
        values = ",".join(f"({number},'abcdefgh')" for number in range(rows))
        for name, sql in [
            ("flatten", f"UPDATE json2 SET flat = {flatten}"),
            ("other words", "UPDATE json2 SET flat = REPLACE(flat, 'w', 'v')"),
            ("two statements, rolled back", f"BEGIN; UPDATE json2 SET flat = NULL; UPDATE json2 SET flat = {flatten}; ROLLBACK"),
            ("to NULL", "UPDATE json2 SET flat = NULL"),
            (f"REPLACE of {rows:,} rows", f"REPLACE INTO r VALUES {values}"),
        ]:
            yield name, timed(server, sql), server.peak_bytes() >> 20
