"""Definitions beside writers: `bench/run.py online`. What a definition takes, and the longest that a writer waits meanwhile."""
import multiprocessing, threading, time

# Each kind of definition, once or several times; none is a while without any.
COLUMNS = 300
CHANGES = [
    ("idle", []),
    (f"add column, {COLUMNS} times", [f"ALTER TABLE d.t ADD COLUMN c{n} INT NOT NULL DEFAULT {n} AFTER a" for n in range(COLUMNS)]),
    (f"drop column, {COLUMNS} times", [f"ALTER TABLE d.t DROP COLUMN c{n}" for n in range(COLUMNS)]),
    ("add key", ["ALTER TABLE d.t ADD KEY by_a (a)"]),
    ("add unique key", ["ALTER TABLE d.t ADD UNIQUE KEY by_code (code)"]),
    ("change type", ["ALTER TABLE d.t MODIFY a BIGINT NOT NULL"]),
    ("partition", ["ALTER TABLE d.t DROP KEY by_code PARTITION BY HASH (id) PARTITIONS 4"]),
]
IDLE_SECONDS = 3
PROCESSES = 4
ROWS_AT_ONCE = 100_000


def connect(port):
    import pymysql
    return pymysql.connect(host="127.0.0.1", port=port, user="root", database="d", autocommit=True, read_timeout=3600).cursor()


def write(port, rows, threads, number, stop, results):
    """Some clients of one process: each changes random rows, one statement after another. Tells when each statement ended, and how long it took."""
    import random
    ends = []

    def client(seed):
        chooser, cursor = random.Random(seed), connect(port)
        while not stop.is_set():
            began = time.time()
            cursor.execute("UPDATE t SET a = a + 1 WHERE id = %s", (chooser.randrange(rows) + 1,))
            ended = time.time()
            ends.append((ended, ended - began))

    clients = [threading.Thread(target=client, args=(number * threads + n,)) for n in range(threads)]
    [c.start() for c in clients]
    [c.join() for c in clients]
    results.put(ends)


def run(server, rows, writers):
    """Of each kind of definition the longest in milliseconds, statements per second meanwhile, and the longest of these in milliseconds."""
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, a INT NOT NULL, code VARCHAR(20) NOT NULL, filler CHAR(60) NOT NULL) ENGINE=InnoDB")
    cursor = connect(server.port)
    for first in range(1, rows + 1, ROWS_AT_ONCE):
        last = min(first + ROWS_AT_ONCE - 1, rows)
        cursor.execute(f"INSERT INTO t SELECT seq, seq % 1000, CONCAT('c', seq), REPEAT('x', 50) FROM seq_{first}_to_{last}")
    stop, results = multiprocessing.Event(), multiprocessing.Queue()
    processes = [multiprocessing.Process(target=write, args=(server.port, rows, writers // PROCESSES, n, stop, results), daemon=True) for n in range(PROCESSES)]
    [p.start() for p in processes]
    time.sleep(1)
    spans = []
    for name, statements in CHANGES:
        began, longest = time.time(), 0
        if not statements:
            time.sleep(IDLE_SECONDS)
        for statement in statements:
            start = time.time()
            cursor.execute(statement)
            longest = max(longest, time.time() - start)
        spans.append((name, longest, began, time.time()))
        time.sleep(0.5)
    stop.set()
    ends = [end for _ in processes for end in results.get()]
    [p.join() for p in processes]
    found = {}
    for name, longest, began, ended in spans:
        # A statement that waited for the definition ends after it.
        times = [took for at, took in ends if at - took < ended and at > began]
        found[name] = {"longest_ms": round(longest * 1000, 1), "writes_per_s": round(sum(began < at < ended for at, _ in ends) / (ended - began)), "longest_write_ms": round(max(times, default=0) * 1000, 1)}
    check = server.sql("SELECT COUNT(*) FROM d.t; CHECK TABLE d.t").split()
    return found, check[0] == str(rows) and check[-1] == "OK"
