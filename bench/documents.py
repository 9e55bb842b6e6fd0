#!/usr/bin/env python3
"""Documents: JSON columns with an index beside PostgreSQL's jsonb with GIN, MariaDB's JSON and DuckDB's JSON, in one run.

usage: bench/documents.py [--companies N] [--small N] [--rounds N] [--searches N] [--binary FILE] [--profile release] [--record]

Two collections, always the same: `companies` (18,801 nested documents of 1 to 60 kB) and `small` (a million of about 120
bytes). Each server loads them from one file of a document per line and indexes them, finds documents by `key = value` through a
client with another value each time, and sums one key: at a path, and wherever it stands in the documents. Servers run one
after the other, are warm, and must give the same answers. PostgreSQL loads before it makes its index, which is the
faster way round; both operator classes of GIN are measured, and an expression index on the key that is searched for. Searches of all servers
are texts sent over a socket by clients of a few lines each. DuckDB is in the measuring process and has no index.

Needs PostgreSQL 15 (postgresql in Debian), MariaDB, and the Python modules duckdb, PyMySQL and psycopg.
"""
import argparse, json, math, os, pathlib, pwd, random, shutil, socket, statistics, struct, subprocess, tempfile, time

import duckdb, psycopg, pymysql

from connections import Client
from peers import MariaDB, Server, Squall, record

WORDS = """market data cloud mobile social video search network music game travel food health energy photo design payment learning
security storage advertising platform service enterprise consumer local real time open source analytics community media""".split()
FIRST = "Ada Alan Barbara Bob Claude Dennis Edsger Frances Grace Ivan Jean John Ken Linus Margaret Niklaus Radia Sophie Tim Vint".split()
LAST = "Backus Boole Dijkstra Hopper Knuth Lamport Liskov Lovelace Perlman Ritchie Shannon Sutherland Thompson Torvalds Turing Wirth".split()
CITIES = "Berlin Boston Chennai London Lyon Nairobi Osaka Oslo Paris Quito Seattle Taipei Toronto Vienna Zagreb".split()


def sentence(r, words):
    return " ".join(r.choices(WORDS, k=words)).capitalize() + "."


def person(r, number):
    first, last = r.choice(FIRST), r.choice(LAST)
    return {"first_name": first, "last_name": last, "permalink": f"{first}-{last}-{number}".lower()}


def company(number):
    """A document of 1 to 60 kB, most of them small."""
    r = random.Random(number)
    size = int(1 + 12 * min(r.paretovariate(1.2) - 1, 11))
    name = f"{r.choice(WORDS).capitalize()}{r.choice(WORDS)} {number}"
    rounds = [{"id": number * 100 + at, "round_code": r.choice("abcdef"), "raised_amount": r.randrange(1, 4000) * 25000, "raised_currency_code": "USD",
               "funded_year": r.randrange(1999, 2014), "investments": [{"company": None, "person": person(r, r.randrange(100000))} for _ in range(r.randrange(4))]}
              for at in range(r.randrange(size // 8 + 2))]
    return {"id": number, "name": name, "permalink": f"company-{number}", "category_code": r.choice(WORDS), "founded_year": r.randrange(1950, 2014),
            "number_of_employees": r.randrange(1, 5000), "total_money_raised": f"${r.randrange(1, 999)}M", "tag_list": r.sample(WORDS, 5),
            "alive": r.random() < 0.8, "deadpooled_year": None, "score": r.randrange(1, 100000) / 64, "overview": sentence(r, 40 + 15 * size),
            "products": [{"name": f"{r.choice(WORDS)} {at}", "permalink": f"product-{number}-{at}"} for at in range(r.randrange(size // 2 + 2))],
            "relationships": [{"is_past": r.random() < 0.5, "title": sentence(r, 3), "person": person(r, number * 50 + at)} for at in range(1 + r.randrange(2 * size + 2))],
            "funding_rounds": rounds,
            "offices": [{"description": sentence(r, 4), "city": r.choice(CITIES), "zip_code": str(r.randrange(10000, 99999)), "latitude": r.randrange(-90000, 90000) / 1024,
                         "longitude": r.randrange(-180000, 180000) / 1024} for _ in range(1 + r.randrange(size // 4 + 1))]}


def small(number):
    r = random.Random(-number)
    return {"id": number, "permalink": f"item-{number}", "kind": r.choice(WORDS), "price": r.randrange(1, 100000) / 4, "tags": r.sample(WORDS, 2), "stock": {"city": r.choice(CITIES), "amount": r.randrange(1000)}}


# What is asked of a collection: the key that searches go by, and those that are summed.
COLLECTIONS = {"companies": (company, "company-{}", "number_of_employees", "raised_amount"), "small": (small, "item-{}", "price", "amount")}


def write(folder, collection, count):
    """The file of a collection: number, tab, document; and its bytes of documents."""
    make = COLLECTIONS[collection][0]
    path, size, least, most = f"{folder}/{collection}.tsv", 0, math.inf, 0
    with open(path, "w") as out:
        for number in range(1, count + 1):
            text = json.dumps(make(number), separators=(",", ":"))
            out.write(f"{number}\t{text}\n")
            size, least, most = size + len(text), min(least, len(text)), max(most, len(text))
    os.chmod(path, 0o644)
    print(f"{collection}: {count:,} documents of {least:,} to {most:,} bytes, {size / 1e6:,.0f} MB", flush=True)
    return path, size


def timed(action):
    started = time.perf_counter()
    result = action()
    return time.perf_counter() - started, result


def best_of(rounds, action):
    return min((timed(action) for _ in range(rounds)), key=lambda found: found[0])


def nested_part(number):
    """A person of a company, and the place in the list, as a part of its document."""
    people = company(number)["relationships"]
    return json.dumps({"relationships": [{"person": {"permalink": people[len(people) // 2]["person"]["permalink"]}}]})


def latencies(count, documents, question, search):
    """Median and 99th percentile in milliseconds of searches for different documents, each of which has to find one. Making the questions does not count."""
    r, times = random.Random(1), []
    for _ in range(count):
        asked = question(r.randrange(1, documents + 1))
        seconds, found = timed(lambda: search(asked))
        if found != 1:
            raise SystemExit(f"a search found {found} documents")
        times.append(seconds * 1e3)
    return {"p50_ms": round(statistics.median(times), 3), "p99_ms": round(statistics.quantiles(times, n=100)[98], 3)}


class Mysql:
    """Squall and MariaDB."""

    def __init__(self, server, indexed):
        self.server, self.indexed, self.name = server, indexed, server.name

    def load(self, collection, path):
        index = ", FULLTEXT KEY (doc)" if self.indexed else ""
        self.server.sql(f"CREATE DATABASE IF NOT EXISTS b; CREATE TABLE b.{collection} (id INT PRIMARY KEY, doc JSON{index})")
        self.client = Client(self.server.port)
        self.client.run("USE b")
        self.cursor = pymysql.connect(host="127.0.0.1", port=self.server.port, user="root", database="b", autocommit=True).cursor()
        return timed(lambda: self.cursor.execute(f"LOAD DATA INFILE '{path}' INTO TABLE {collection} FIELDS TERMINATED BY '\\t' ESCAPED BY ''"))[0]

    def search(self, collection, name):
        match = "doc->>'$.permalink'" if self.indexed else "JSON_VALUE(doc, '$.permalink')"
        return self.client.run(f"SELECT id FROM {collection} WHERE {match} = '{name}'")

    def nested(self, collection, part):
        return self.client.run(f"SELECT id FROM {collection} WHERE JSON_CONTAINS(doc, '{part}')")

    def number(self, sql):
        self.cursor.execute(sql)
        return float(self.cursor.fetchone()[0])

    def sum_of_path(self, collection, key):
        value = f"doc->'$.{key}'" if self.indexed else f"JSON_VALUE(doc, '$.{key}')"
        return lambda: self.number(f"SELECT SUM({value}) FROM {collection}")

    def sum_everywhere(self, collection, key):
        if self.indexed:
            return lambda: self.number(f"SELECT SUM(JSUM(JSON_EXTRACT_ALL(doc, '{key}'))) FROM {collection}")
        each = f"JSON_TABLE(JSON_EXTRACT(doc, '$**.{key}'), '$[*]' COLUMNS (v DECIMAL(30, 5) PATH '$')) AS found"
        return lambda: self.number(f"SELECT SUM(v) FROM {collection}, {each}")


class PostgresClient:
    """One connection of root that speaks as much of PostgreSQL's protocol as it needs, as `connections.Client` does of MySQL's."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        hello = struct.pack(">I", 3 << 16) + b"user\0root\0database\0postgres\0\0"
        self.socket.sendall(struct.pack(">I", 4 + len(hello)) + hello)
        self.finish()

    def run(self, sql):
        """Runs a statement and reads everything it answers; rows are counted only."""
        text = sql.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack(">I", 4 + len(text)) + text)
        return self.finish()

    def finish(self):
        rows = 0
        while True:
            kind, payload = self.read()
            if kind == b"E":
                raise RuntimeError(payload.decode(errors="replace"))
            if kind == b"Z":
                return rows
            rows += kind == b"D"

    def read(self):
        """The next message: its kind and payload."""
        while True:
            if len(self.buffer) >= 5:
                end = 1 + int.from_bytes(self.buffer[1:5], "big")
                if len(self.buffer) >= end:
                    kind, payload, self.buffer = self.buffer[:1], self.buffer[5:end], self.buffer[end:]
                    return kind, payload
            got = self.socket.recv(1 << 20)
            if not got:
                raise ConnectionError("closed by the server")
            self.buffer += got


class Postgres(Server):
    """PostgreSQL with durable commits and a gigabyte of buffers, run by an account that is not root."""

    def __init__(self, binaries="/usr/lib/postgresql/15/bin"):
        super().__init__("postgres")
        self.binaries, self.account = binaries, pwd.getpwnam("postgres" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name)
        os.chmod(self.folder, 0o755)
        os.mkdir(self.data)
        os.chown(self.data, self.account.pw_uid, self.account.pw_gid)
        self.as_account([f"{binaries}/initdb", "-D", self.data, "-U", "root", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"])

    def as_account(self, command):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, user=self.account.pw_uid, group=self.account.pw_gid, cwd="/")

    def command(self):
        settings = {"shared_buffers": "1GB", "maintenance_work_mem": "512MB", "work_mem": "64MB", "max_wal_size": "4GB", "max_parallel_maintenance_workers": 2, "max_parallel_workers_per_gather": 2}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        command = [f"{self.binaries}/postgres", "-D", self.data, "-p", str(self.port), "-h", "127.0.0.1", "-k", self.data, *options]
        return command if os.getuid() else ["setpriv", f"--reuid={self.account.pw_uid}", f"--regid={self.account.pw_gid}", "--clear-groups", *command]

    def connect(self):
        for _ in range(200):
            try:
                self.connection = psycopg.connect(host="127.0.0.1", port=self.port, user="root", dbname="postgres", autocommit=True)
                self.client = PostgresClient(self.port)
                return
            except psycopg.OperationalError:
                time.sleep(0.05)
        raise SystemExit("PostgreSQL does not answer")

    def run(self, sql):
        cursor = self.connection.execute(sql)
        return cursor.fetchall() if cursor.description else []

    def load(self, collection, path, index):
        """Loads a collection and makes its index: of GIN with these operators, or on the key that is searched for."""
        self.by_expression = index == "expression"
        of = "((doc->>'permalink'))" if self.by_expression else f"USING gin (doc {index})"
        self.run(f"DROP TABLE IF EXISTS {collection}")
        self.run(f"CREATE TABLE {collection} (id INT PRIMARY KEY, doc jsonb)")

        def load():
            with open(path, "rb") as lines, self.connection.cursor().copy(
                    f"COPY {collection} FROM STDIN (FORMAT csv, DELIMITER E'\\t', QUOTE E'\\x01')") as copy:
                while block := lines.read(1 << 20):
                    copy.write(block)
            self.run(f"CREATE INDEX {collection}_index ON {collection} {of}")
        seconds = timed(load)[0]
        self.run(f"VACUUM ANALYZE {collection}")
        return seconds

    def search(self, collection, name):
        if self.by_expression:
            return self.client.run(f"SELECT id FROM {collection} WHERE doc->>'permalink' = '{name}'")
        return self.nested(collection, json.dumps({"permalink": name}))

    def nested(self, collection, part):
        return self.client.run(f"SELECT id FROM {collection} WHERE doc @> '{part}'")

    def sum_of_path(self, collection, key):
        return lambda: float(self.run(f"SELECT SUM((doc->>'{key}')::numeric) FROM {collection}")[0][0])

    def sum_everywhere(self, collection, key):
        return lambda: float(self.run(f"SELECT SUM(v::numeric) FROM {collection}, jsonb_path_query(doc, 'strict $.**.{key}') AS v")[0][0])


class Duck:
    def __init__(self, threads):
        self.name, self.connection = "duckdb", duckdb.connect(config={"threads": threads})

    def run(self, sql, values=()):
        return self.connection.execute(sql, values or None).fetchall()

    def load(self, collection, path):
        columns = "{'id': 'INTEGER', 'doc': 'VARCHAR'}"
        return timed(lambda: self.run(f"CREATE TABLE {collection} AS SELECT id, doc::JSON AS doc FROM read_csv('{path}', delim='\\t', quote='', escape='', header=false, columns={columns}, max_line_size=10000000)"))[0]

    def search(self, collection, name):
        return len(self.run(f"SELECT id FROM {collection} WHERE doc->>'$.permalink' = ?", (name,)))

    def sum_of_path(self, collection, key):
        return lambda: float(self.run(f"SELECT SUM((doc->>'$.{key}')::DOUBLE) FROM {collection}")[0][0])


def measure(side, collection, a, load_seconds, documents, searches):
    """What one side takes for a collection that it has loaded."""
    _, pattern, path_key, any_key = COLLECTIONS[collection]
    search = lambda name: side.search(collection, name)
    search(pattern.format(1))
    found = {"load_s": round(load_seconds, 2), "search": latencies(searches, documents, pattern.format, search)}
    if collection == "companies" and hasattr(side, "nested") and searches == a.searches and not getattr(side, "by_expression", False):
        found["nested"] = latencies(searches, documents, nested_part, lambda part: side.nested(collection, part))
    seconds, found["path_total"] = best_of(a.rounds, side.sum_of_path(collection, path_key))
    found["path_sum_ms"] = round(seconds * 1e3, 1)
    if hasattr(side, "sum_everywhere"):
        seconds, found["any_total"] = best_of(a.rounds, side.sum_everywhere(collection, any_key))
        found["any_sum_ms"] = round(seconds * 1e3, 1)
    print(f"  {side.name}: {found}", flush=True)
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--companies", type=int, default=18801), p.add_argument("--small", type=int, default=1_000_000)
    p.add_argument("--rounds", type=int, default=3), p.add_argument("--searches", type=int, default=500)
    p.add_argument("--profile", default="release"), p.add_argument("--binary"), p.add_argument("--record", action="store_true")
    a = p.parse_args()
    folder = tempfile.mkdtemp(prefix="bench-json-")
    os.chmod(folder, 0o755)
    try:
        result = {name: compare(a, folder, name, count) for name, count in (("companies", a.companies), ("small", a.small)) if count}
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if a.record:
        record("json", {"rounds": a.rounds, "searches": a.searches, **result})


def compare(a, folder, collection, count):
    path, size = write(folder, collection, count)
    found = {"documents": count, "bytes": size}
    with Squall(a.profile, arguments=["--secure-file-priv", ""], binary=a.binary) as server:
        side = Mysql(server, True)
        seconds = side.load(collection, path)
        found["squall"] = measure(side, collection, a, seconds, count, a.searches)
    with Postgres() as side:
        side.connect()
        for index in ("jsonb_ops", "jsonb_path_ops", "expression"):
            seconds = side.load(collection, path, index)
            side.name = f"postgres {index}"
            found[side.name] = measure(side, collection, a, seconds, count, a.searches)
    with MariaDB() as server:
        side = Mysql(server, False)
        seconds = side.load(collection, path)
        found["mariadb"] = measure(side, collection, a, seconds, count, 5)
    side = Duck(os.cpu_count())
    found["duckdb"] = measure(side, collection, a, side.load(collection, path), count, 20)
    side.connection.close()
    os.remove(path)
    compare_answers(found)
    show(collection, found)
    return found


def sides(found):
    return [(name, of) for name, of in found.items() if isinstance(of, dict)]


def compare_answers(found):
    for total in ("path_total", "any_total"):
        answers = {name: of.pop(total) for name, of in sides(found) if total in of}
        if any(not math.isclose(answer, answers["squall"], rel_tol=1e-9) for answer in answers.values()):
            raise SystemExit(f"different answers: {total} {answers}")


def show(collection, found):
    """A table with what each peer takes as a multiple of what Squall takes."""
    ours = found["squall"]
    flat = lambda of: {"load s": of["load_s"], "search p50 ms": of["search"]["p50_ms"], "nested p50 ms": of.get("nested", {}).get("p50_ms"),
                       "sum at path ms": of["path_sum_ms"], "sum anywhere ms": of.get("any_sum_ms")}
    print(f"\n{collection:24}" + "".join(f"{name:>22}" for name in flat(ours)))
    for name, of in sides(found):
        cells = [f"{value} ({value / flat(ours)[key]:.1f}×)" if value is not None else "" for key, value in flat(of).items()]
        print(f"{name:24}" + "".join(f"{cell:>22}" for cell in cells))
    print(flush=True)


if __name__ == "__main__":
    main()
