"""Statements in the background: `bench/run.py background`.

The same statements run directly by some connections, and queued by as many with `async.queue` and done by as many workers; then
how long a queued statement waits for a free worker.
"""
import itertools, select, time
from connections import QUERY, Client, packet

ROWS = 100000


def each(port, clients, statements, last=None):
    """Runs statements on some connections, the next where one has ended, then `last` on each; seconds."""
    free = [Client(port) for _ in range(clients)]
    for client in free:
        client.run("USE background")
    waiting = iter(statements)
    started = time.perf_counter()
    busy, poll = {}, select.epoll()
    for client in free:
        poll.register(client.socket, select.EPOLLIN)
        busy[client.socket.fileno()] = client
        client.socket.sendall(packet(QUERY + next(waiting)))
    while busy:
        for descriptor, _ in poll.poll():
            client = busy[descriptor]
            client.finish()
            sql = next(waiting, None)
            if sql is None:
                poll.unregister(descriptor)
                del busy[descriptor]
            else:
                client.socket.sendall(packet(QUERY + sql))
    if last:
        for client in free:
            client.socket.sendall(packet(QUERY + last))
        for client in free:
            client.finish()
    seconds = time.perf_counter() - started
    for client in free:
        client.socket.close()
    return seconds


def prepare(port):
    client = Client(port)
    client.run("CREATE DATABASE background; USE background; SET cte_max_recursion_depth = 1000000;"
               "CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL, s VARCHAR(40) NOT NULL)")
    client.run(f"INSERT INTO t WITH RECURSIVE r (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < {ROWS}) SELECT i, i, REPEAT('x', 30) FROM r")


WORKLOADS = {
    "insert": lambda i: f"INSERT INTO t VALUES ({ROWS + i}, {i}, 'row {i}')",
    "update": lambda i: f"UPDATE t SET n = n + 1 WHERE id = {i * 7919 % ROWS + 1}",
    "sum of 1000 rows": lambda i: f"SELECT SUM(n) FROM t WHERE id BETWEEN {i * 7919 % 90000} AND {i * 7919 % 90000 + 999}",
    "select by key": lambda i: f"SELECT n, s FROM t WHERE id = {i * 7919 % ROWS + 1}",
}


KINDS = list(WORKLOADS.values())
WORKLOADS["these in turn"] = lambda i: KINDS[i % len(KINDS)](i)


def run(server, count, clients, rounds):
    """Statements per second, directly and queued, in turn; the best of the rounds."""
    results = {}
    with server:
        prepare(server.port)
        admin = Client(server.port)
        admin.run(f"CALL async.set_concurrency({clients})")
        # No row is inserted twice.
        numbers = itertools.count(1)
        for name, statement in WORKLOADS.items():
            best = [0, 0]
            for _ in range(rounds):
                texts = [statement(next(numbers)).encode() for _ in range(count)]
                direct = each(server.port, clients, texts)
                calls = [f'CALL async.queue("{statement(next(numbers))}")'.encode() for _ in range(count)]
                queued = each(server.port, clients, calls, b"CALL async.wait_all()")
                best = [max(best[0], count / direct), max(best[1], count / queued)]
            results[name] = best
        # One at a time: nothing else has to be done first.
        for _ in range(200):
            admin.run("CALL async.queue('DO 0')")
            admin.run("CALL async.wait_all()")
        starts = rows(admin, "SELECT TIMESTAMPDIFF(MICROSECOND, created, started) FROM information_schema.jobs WHERE kind = 'async' ORDER BY number DESC LIMIT 200")
        sleeps = {}
        admin.run("CALL async.set_concurrency(8)")
        for number in (8, 16):
            started = time.perf_counter()
            for _ in range(number):
                admin.run("CALL async.queue('SELECT SLEEP(1)')")
            admin.run("CALL async.wait_all()")
            sleeps[number] = time.perf_counter() - started
    return results, sorted(starts), sleeps


def rows(client, sql):
    """The numbers of a result of one column."""
    client.socket.sendall(packet(QUERY + sql.encode()))
    for _ in range(client.read()[0]):
        client.read()
    found = []
    while (row := client.read())[:1] != b"\xfe":
        found.append(int(row[1:]))
    return found
