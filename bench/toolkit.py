#!/usr/bin/env python3
"""The statements of the toolkit's author, as he types them, beside what MariaDB has for the same: documents, keys of digits, rows of bitmap tables.

usage: bench/toolkit.py [--parts documents,hex,rows] [--companies 18801] [--hashes 1000000] [--rows 1000000] [--clients 4] [--rounds 3] [--binary FILE] [--profile release] [--record]

  documents  the companies of bench/documents.py: flattened under a full-text index, copied into a table with an index of its documents, searched for a word
             that many of them have, summed. MariaDB has no flattening: it makes words of names and texts by REPLACE, and sums by JSON_TABLE.
  hex        look-ups among MD5 hashes as HEX(32); MariaDB has them as BINARY(16).
  rows       fb_insert2 of a SELECT, and fb_insert one by one, alone and beside clients that insert all the time; MariaDB's INSERT ... SELECT and INSERT.

Both servers run at the same time and work in turn.
"""
import argparse, os, tempfile, threading, time

import documents
from connections import Client
from peers import MariaDB, Squall, record

# The recursion's depth has another name in MariaDB.
DEPTH = {"squall": "cte_max_recursion_depth", "mariadb": "max_recursive_iterations"}
PART = """p_partkey INT PRIMARY KEY, p_name VARCHAR(22), p_mfgr VARCHAR(6), p_category VARCHAR(7), p_brand VARCHAR(9), p_color VARCHAR(11), p_type VARCHAR(25), p_size INT,
p_container VARCHAR(10)"""
PART_NAMES = ", ".join(column.split()[0] for column in PART.split(", "))
PART_VALUES = """n, CONCAT('part ', n), CONCAT('MFGR#', 1 + n * 7919 % 5), CONCAT('MFGR#', n * 7919 % 25), CONCAT('MFGR#', n * 7919 % 1000), 'red',
CONCAT('SMALL TIN ', n % 150), n % 50, CONCAT('BOX ', n % 40)"""
BITMAPS = "/var/lib/fastbit/part"


def timed(action):
    started = time.perf_counter()
    result = action()
    return time.perf_counter() - started, result


class Comparison:
    """Both servers, and what they take by what they do."""

    def __init__(self, servers, rounds):
        self.servers, self.rounds, self.found = servers, rounds, {}
        for server in servers:
            Client(server.port).run("CREATE DATABASE toolkit")
        self.clients = {server.name: self.connect(server) for server in servers}

    def connect(self, server):
        client = Client(server.port)
        client.run("USE toolkit")
        return client

    def each(self, name, statements, rounds=1):
        """The best of some rounds of each side's statement; rows must be as many, if there are any."""
        counts = set()
        for side, sql in statements.items():
            taken, rows = min(timed(lambda: self.clients[side].run(sql)) for _ in range(rounds))
            self.note(name, side, taken)
            counts.add(rows)
        if len(counts) > 1:
            raise SystemExit(f"{name}: different numbers of rows: {counts}")

    def both(self, name, sql, rounds=1):
        self.each(name, {side: sql for side in self.clients}, rounds)

    def note(self, name, side, seconds):
        self.found.setdefault(name, {})[side] = round(seconds * 1e3, 3)
        print(f"  {side:8} {name:44}{seconds * 1e3:12.2f} ms", flush=True)

    def values(self, name, statements):
        """Each side's one value, which must be the same."""
        found = {server.name: server.sql(statements[server.name], "toolkit").strip() for server in self.servers}
        if len({float(value) for value in found.values()}) > 1:
            raise SystemExit(f"{name}: {found}")
        return found["squall"]

    def show(self):
        print(f"{'milliseconds':46}{'squall':>12}{'mariadb':>12}{'ratio':>8}")
        for name, ms in self.found.items():
            print(f"{name:46}{ms['squall']:12.2f}{ms['mariadb']:12.2f}{ms['mariadb'] / ms['squall']:8.2f}")


def of_documents(sides, a):
    with tempfile.TemporaryDirectory(prefix="bench-toolkit-") as folder:
        os.chmod(folder, 0o755)
        path, _ = documents.write(folder, "companies", a.companies)
        sides.both("create table json2", "CREATE TABLE json2 (id INT AUTO_INCREMENT PRIMARY KEY, doc MEDIUMTEXT)")
        sides.both("load", f"LOAD DATA INFILE '{path}' INTO TABLE json2 FIELDS TERMINATED BY '\\t' ESCAPED BY ''")
    flat = "ALTER TABLE json2 ADD flat MEDIUMTEXT CHARACTER SET latin1"
    sides.each("add flat", {"squall": f"{flat} COLLATE ft_kvpair_ci, FULLTEXT(flat)", "mariadb": f"{flat}, ADD FULLTEXT(flat)"})
    # A word of MariaDB's ends at `=`.
    words = "REPLACE(REPLACE(doc, '\":\"', '_'), ',', '\\n')"
    sides.each("update json2 set flat", {"squall": "UPDATE json2 SET flat = RAPID_FLATTEN_JSON(doc)", "mariadb": f"UPDATE json2 SET flat = {words}"})
    for server in sides.servers:
        print(f"  {server.name:8} at most {server.peak_bytes() >> 20} MiB by then")
    match = {"squall": "MATCH(flat) AGAINST ('last_name=Turing')", "mariadb": "MATCH(flat) AGAINST ('last_name_Turing')"}
    hits = sides.values("hits", {side: f"SELECT COUNT(*) FROM json2 WHERE {condition}" for side, condition in match.items()})
    for what, columns in [("count", "COUNT(*)"), ("keys", "id"), ("rows", "id, doc")]:
        sides.each(f"match of {hits}, {what}", {side: f"SELECT {columns} FROM json2 WHERE {condition}" for side, condition in match.items()}, sides.rounds)
    sides.each("the same by LIKE", {"squall": "SELECT COUNT(*) FROM json2 WHERE flat LIKE '%last\\_name=Turing%'", "mariadb": "SELECT COUNT(*) FROM json2 WHERE flat LIKE '%last\\_name\\_Turing%'"}, sides.rounds)
    everywhere = "SELECT SUM(v) FROM json2, JSON_TABLE(JSON_EXTRACT(doc, '$**.id'), '$[*]' COLUMNS (v DECIMAL(30, 5) PATH '$')) AS found"
    sums = {"squall": "SELECT SUM(JSUM(JSON_EXTRACT_ALL(doc, 'id'))) FROM json2", "mariadb": everywhere}
    sides.values("sums", sums)
    sides.each("sum( jsum(json_extract_all(doc,'id')) )", sums, sides.rounds)
    sides.each("ids and sum of one", {"squall": "SELECT JSON_EXTRACT_ALL(doc, 'id') ids, JSUM(JSON_EXTRACT_ALL(doc, 'id')) FROM json2 LIMIT 1", "mariadb": "SELECT JSON_EXTRACT(doc, '$**.id') ids, id FROM json2 LIMIT 1"}, sides.rounds)
    sides.both("create table jd", "CREATE TABLE jd (id INT PRIMARY KEY, doc JSON, FULLTEXT(doc))")
    sides.both("insert into jd select id, doc from json2", "INSERT INTO jd SELECT id, doc FROM json2")
    sides.both("drop", "DROP TABLE json2, jd")


def make_numbers(sides, count):
    """Where statements that need a row for each number read them."""
    for side, client in sides.clients.items():
        client.run(f"SET SESSION {DEPTH[side]} = {count + 1}")
        client.run("CREATE TABLE numbers (n INT PRIMARY KEY)")
        client.run(f"INSERT INTO numbers WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {count}) SELECT n FROM s")


def of_hashes(sides, a):
    make_numbers(sides, a.hashes)
    sides.each("create table hashes", {"squall": "CREATE TABLE hashes (m HEX(32) PRIMARY KEY, n INT)", "mariadb": "CREATE TABLE hashes (m BINARY(16) PRIMARY KEY, n INT)"})
    sides.each(f"insert of {a.hashes:,} hashes", {"squall": "INSERT INTO hashes SELECT MD5(n), n FROM numbers", "mariadb": "INSERT INTO hashes SELECT UNHEX(MD5(n)), n FROM numbers"})
    for name, ours, theirs in [("m = MD5('777')", "m = MD5('777')", "m = UNHEX(MD5('777'))"), ("m = UNHEX(MD5('777'))", "m = UNHEX(MD5('777'))", "m = UNHEX(MD5('777'))"),
                               ("m LIKE '00ab%'", "m LIKE '00ab%'", "m LIKE '\\0\xab%'"), ("m BETWEEN '00ab' AND '00ac'", "m BETWEEN '00ab' AND '00ac'", "m BETWEEN x'00ab' AND x'00ac'"),
                               ("m > 'fffff0'", "m > 'fffff0'", "m > x'fffff0'")]:
        theirs = "m LIKE CONCAT(x'00ab', '%')" if "LIKE" in name else theirs
        sides.each(name, {"squall": f"SELECT n FROM hashes WHERE {ours}", "mariadb": f"SELECT n FROM hashes WHERE {theirs}"}, sides.rounds)
    sides.both("drop hashes", "DROP TABLE hashes, numbers")


class Load:
    """Clients that insert a row at a time, each commit on disk, until the block ends; `per_s` is what they did by then."""

    def __init__(self, sides, server, clients):
        self.ended, self.done, self.started = threading.Event(), 0, None
        self.threads = [threading.Thread(target=self.insert, args=[sides.connect(server)]) for _ in range(clients)]

    def insert(self, client):
        while not self.ended.is_set():
            client.run("INSERT INTO busy (v) VALUES (REPEAT('x', 100))")
            self.done += 1

    def __enter__(self):
        self.started = time.perf_counter()
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.per_s = self.done / (time.perf_counter() - self.started)
        self.ended.set()
        for thread in self.threads:
            thread.join()


def of_rows(sides, a):
    make_numbers(sides, a.rows)
    sides.both("create table part", f"CREATE TABLE part ({PART})")
    sides.both(f"insert of {a.rows:,} parts", f"INSERT INTO part SELECT {PART_VALUES} FROM numbers")
    sides.both("create table busy", "CREATE TABLE busy (id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(120))")
    specification = ",".join(f"{name}:{'int' if name in ('p_partkey', 'p_size') else 'text'}" for name in PART_NAMES.split(", "))
    remake = {"squall": f"SELECT fb_drop('{BITMAPS}'), fb_create('{BITMAPS}', '{specification}')", "mariadb": f"CREATE OR REPLACE TABLE copy ({PART})"}
    many = {"squall": f"SELECT fb_insert2('{BITMAPS}', {PART_NAMES}) FROM part GROUP BY 1", "mariadb": "INSERT INTO copy SELECT * FROM part"}
    texts = lambda number: {"squall": f"SELECT fb_insert('{BITMAPS}', '{number},part,MFGR#1,MFGR#12,MFGR#123,red,SMALL TIN,7,BOX')", "mariadb": f"INSERT INTO copy VALUES ({number}, 'part', 'MFGR#1', 'MFGR#12', 'MFGR#123', 'red', 'SMALL TIN', 7, 'BOX')"}
    singles = 2000
    for server in sides.servers:
        side, client = server.name, sides.clients[server.name]

        def rows(how, of_load=""):
            client.run(remake[side])
            sides.note(f"fb_insert2 of {a.rows:,} rows{how}", side, timed(lambda: client.run(many[side]))[0])
            client.run(remake[side])
            sides.note(f"fb_insert, each of {singles:,}{how}", side, timed(lambda: [client.run(texts(number)[side]) for number in range(singles)])[0] / singles)
        rows("")
        with Load(sides, server, a.clients) as load:
            rows(f", beside {a.clients} that insert")
        print(f"  {side:8} they inserted {load.per_s:,.0f} rows/s meanwhile", flush=True)


PARTS = {"documents": of_documents, "hex": of_hashes, "rows": of_rows}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--parts", default=",".join(PARTS)), p.add_argument("--companies", type=int, default=18801), p.add_argument("--hashes", type=int, default=1_000_000)
    p.add_argument("--rows", type=int, default=1_000_000), p.add_argument("--clients", type=int, default=4), p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--binary"), p.add_argument("--profile", default="release"), p.add_argument("--record", action="store_true")
    a = p.parse_args()
    for part in a.parts.split(","):
        with Squall(a.profile, arguments=["--secure-file-priv", ""], binary=a.binary) as squall, MariaDB() as mariadb:
            sides = Comparison((squall, mariadb), a.rounds)
            PARTS[part](sides, a)
            sides.show()
            if a.record:
                record("toolkit", {"part": part, "companies": a.companies, "hashes": a.hashes, "rows": a.rows, "clients": a.clients, "ms": sides.found})


if __name__ == "__main__":
    main()
