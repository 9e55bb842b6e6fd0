"""Many connections at once: `bench/run.py connections`, and one that takes more than its share: `bench/run.py fairness`.

Clients are sockets of one process that waits for all of them with epoll and speaks as much of the protocol as it needs, so
that ten thousand of them cost little; a client that is greedy is a process of its own.
"""
import os, resource, select, signal, socket, struct, sys, time

# 41, SECURE_CONNECTION, PLUGIN_AUTH, MULTI_STATEMENTS, LONG_PASSWORD, DEPRECATE_EOF
CAPABILITIES = 0x200 | 0x8000 | 0x80000 | 0x10000 | 0x1 | 0x1000000
QUERY, PREPARE, EXECUTE = b"\x03", b"\x16", b"\x17"
HELLO = struct.pack("<IIB23x", CAPABILITIES, 1 << 24, 45) + b"root\0\0caching_sha2_password\0"
ROWS = 100000


def packet(payload, sequence=0):
    """A payload with its header, in parts if it is long."""
    parts = []
    while True:
        part, payload = payload[:0xFFFFFF], payload[0xFFFFFF:]
        parts.append(len(part).to_bytes(3, "little") + bytes([sequence % 256]) + part)
        sequence += 1
        if len(part) < 0xFFFFFF:
            return b"".join(parts)


class Client:
    """One connection of root, blocking unless it is told otherwise."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        greeting = self.read()
        version_end = greeting.index(b"\0")
        self.id = int.from_bytes(greeting[version_end + 1:version_end + 5], "little")
        self.socket.sendall(packet(HELLO, 1))
        answer = self.read()
        while answer[:1] in (b"\xfe", b"\x01"):
            if answer[:1] == b"\xfe":
                self.socket.sendall(packet(b"", self.sequence + 1))
            answer = self.read()
        if answer[:1] != b"\0":
            raise RuntimeError(answer[9:].decode())

    def read(self):
        """The next packet's payload."""
        while True:
            if len(self.buffer) >= 4:
                end = 4 + int.from_bytes(self.buffer[:3], "little")
                if len(self.buffer) >= end:
                    self.sequence, payload, self.buffer = self.buffer[3], self.buffer[4:end], self.buffer[end:]
                    return payload
            got = self.socket.recv(1 << 20)
            if not got:
                raise ConnectionError("closed by the server")
            self.buffer += got

    def run(self, sql):
        """Runs statements and reads everything they answer; rows are counted only."""
        self.socket.sendall(packet(QUERY + sql.encode()))
        return self.finish()

    def finish(self):
        rows = 0
        while True:
            head = self.read()
            if head[:1] == b"\xff":
                raise RuntimeError(head[9:].decode())
            if head[:1] != b"\0":
                for _ in range(head[0]):
                    self.read()
                while True:
                    row = self.read()
                    if row[:1] == b"\xff":
                        raise RuntimeError(row[9:].decode())
                    if row[:1] == b"\xfe" and len(row) < 0xFFFFFF:
                        break
                    rows += 1
                status = row[3:5]
            else:
                at = 1
                for _ in range(2):  # affected rows and the last insert id, each as long as it says
                    at += {0xFC: 3, 0xFD: 4, 0xFE: 9}.get(head[at], 1)
                status = head[at:at + 2]
            if not status[0] & 8:
                return rows

    def prepare_point_select(self):
        self.socket.sendall(packet(PREPARE + b"SELECT c FROM bench.points WHERE id = ?"))
        head = self.read()
        if head[:1] == b"\xff":
            raise RuntimeError(head[9:].decode())
        self.statement = head[1:5]
        for _ in range(2):
            self.read()

    def execution(self, key):
        return packet(EXECUTE + self.statement + b"\0\1\0\0\0" + b"\0" + b"\1" + b"\x08\0" + struct.pack("<q", key))


def answer_end(buffer, start):
    """Where the answer to an execution that begins at `start` ends: the number of columns, one column, rows and the end;
    or an error. `None` while it is not all there."""
    at, count = start, 0
    while len(buffer) >= at + 5:
        end = at + 4 + int.from_bytes(buffer[at:at + 3], "little")
        if len(buffer) < end:
            return None
        if buffer[at + 4] == 0xFF and count == 0 or buffer[at + 4] == 0xFE and count >= 2:
            return end
        at, count = end, count + 1
    return None


def point_selects(port, clients, seconds):
    """Point selects of so many clients, each sending the next when it has the answer: how many a second, and the latencies
    in microseconds, sorted."""
    opened = [Client(port) for _ in range(clients)]
    poll = select.epoll()
    by_number, latencies, key = {}, [], 1
    for client in opened:
        client.prepare_point_select()
        client.socket.setblocking(False)
        client.pending = b""
        by_number[client.socket.fileno()] = client
        poll.register(client.socket, select.EPOLLIN)
    started = time.perf_counter()
    for client in opened:
        client.sent = time.perf_counter()
        client.socket.send(client.execution(key))
    while (now := time.perf_counter()) - started < seconds:
        for number, _ in poll.poll(1):
            client = by_number[number]
            client.pending += client.socket.recv(1 << 16)
            if answer_end(client.pending, 0) is None:
                continue
            now = time.perf_counter()
            latencies.append((now - client.sent) * 1e6)
            client.pending, key = b"", key % ROWS + 1
            client.sent = now
            client.socket.send(client.execution(key))
    for client in opened:
        client.socket.close()
    return len(latencies) / (now - started), sorted(latencies)


def paced_point_selects(port, clients, seconds, interval=0.002):
    """Point selects of so many clients, of which each sends one every `interval` seconds: latencies in microseconds, sorted,
    counted from when a select was due. A server that stops for a while is late with all that came due meanwhile."""
    opened = [Client(port) for _ in range(clients)]
    poll = select.epoll()
    by_number, latencies, key = {}, [], 1
    started = time.perf_counter() + 0.01
    for place, client in enumerate(opened):
        client.prepare_point_select()
        client.socket.setblocking(False)
        client.pending, client.asked = b"", False
        client.due = started + interval * place / clients
        by_number[client.socket.fileno()] = client
        poll.register(client.socket, select.EPOLLIN)
    while (now := time.perf_counter()) < started + seconds:
        for client in opened:
            if not client.asked and client.due <= now:
                client.asked, key = True, key % ROWS + 1
                client.socket.send(client.execution(key))
        next_due = min((client.due for client in opened if not client.asked), default=now + 1)
        for number, _ in poll.poll(max(0, next_due - time.perf_counter())):
            client = by_number[number]
            client.pending += client.socket.recv(1 << 16)
            if answer_end(client.pending, 0) is not None:
                latencies.append((time.perf_counter() - client.due) * 1e6)
                client.pending, client.asked, client.due = b"", False, client.due + interval
    latencies += [(time.perf_counter() - client.due) * 1e6 for client in opened if client.asked]
    for client in opened:
        client.socket.close()
    return sorted(latencies)


def points(server):
    """The table of the point selects."""
    digits = "(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)"
    number = "a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d + 1"
    server.sql("CREATE DATABASE bench; CREATE TABLE bench.points (id INT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL)")
    server.sql(f"INSERT INTO bench.points SELECT {number}, 7919 * ({number}) % {ROWS}, REPEAT('x', 119) FROM {digits} a, {digits} b, {digits} c, {digits} e, {digits} f")


def storm(port, count, at_once=64):
    """Opens so many connections, some of them at the same time; returns them and the seconds it took until all were
    logged in."""
    poll = select.epoll()
    waiting, done, left = {}, [], count
    started = time.perf_counter()

    def begin():
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex(("127.0.0.1", port))
        waiting[s.fileno()] = [s, b"", 0]
        poll.register(s, select.EPOLLIN)

    for _ in range(min(at_once, left)):
        begin()
        left -= 1
    while waiting:
        for number, _ in poll.poll(10):
            state = waiting[number]
            s, greeted = state[0], state[2]
            got = s.recv(4096)
            if not got:
                raise ConnectionError(f"closed by the server after {len(done)} connections")
            state[1] += got
            while len(state[1]) >= 4 and len(state[1]) >= (end := 4 + int.from_bytes(state[1][:3], "little")):
                sequence, payload, state[1] = state[1][3], state[1][4:end], state[1][end:]
                if payload[:1] == b"\xff":
                    raise RuntimeError(f"after {len(done)} connections: {payload[3:].decode(errors='replace')}")
                if not greeted:
                    s.send(packet(HELLO, 1))
                    state[2] = greeted = 1
                elif payload[:1] == b"\xfe":
                    s.send(packet(b"", sequence + 1))
                elif payload[:1] == b"\0":
                    poll.unregister(s)
                    done.append(waiting.pop(number)[0])
                    if left:
                        begin()
                        left -= 1
                    break
    return done, time.perf_counter() - started


def open_files_allowed(count):
    """How many of `count` sockets this process and a server that it starts may have; raises the limit as far as it can."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    wanted = count + 1000
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    if limit < wanted:
        print(f"ulimit -Hn is {hard}: {limit - 1000} connections instead of {count}", file=sys.stderr)
    return limit - 1000 if limit < wanted else count


def connections(server, count, seconds):
    """What `count` idle connections cost, how fast they come, and what they mean for four that are busy."""
    with server:
        points(server)
        server.sql(f"SET GLOBAL max_connections = {count + 100}")
        before, latencies_before = point_selects(server.port, 4, seconds)
        resident = server.resident_bytes()
        idle, taken = storm(server.port, count)
        # What was freed on the way goes back after a moment.
        time.sleep(2)
        grown = server.resident_bytes() - resident
        beside, latencies_beside = point_selects(server.port, 4, seconds)
        answering = sum(1 for s in idle[::max(1, count // 100)] if s.send(packet(b"\x0e")) and s_answers(s))
        for s in idle:
            s.close()
    return {"connections": count, "bytes_each": round(grown / count), "mib": round(grown / 2**20, 1), "opened_per_s": round(count / taken),
            "point_selects_before": round(before), "point_selects_beside": round(beside),
            "p99_us_before": round(percentile(latencies_before, 99)), "p99_us_beside": round(percentile(latencies_beside, 99)), "sampled_idle_answering": answering}


def s_answers(s):
    s.setblocking(True)
    s.settimeout(10)
    return s.recv(64)[4:5] == b"\0"


def percentile(ordered, percent):
    return ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] if ordered else 0


def pipelined(port):
    """A hundred thousand point selects in one write."""
    client = Client(port)
    client.prepare_point_select()
    client.socket.setblocking(False)
    batch = b"".join(client.execution(key % ROWS + 1) for key in range(100000))
    while True:
        left, pending, answers = memoryview(batch), b"", 0
        while answers < 100000:
            readable, writable, _ = select.select([client.socket], [client.socket] if left else [], [])
            if writable:
                left = left[client.socket.send(left[:1 << 20]):]
            if readable:
                pending += client.socket.recv(1 << 20)
                at = 0
                while (end := answer_end(pending, at)) is not None:
                    at, answers = end, answers + 1
                pending = pending[at:]


def repeated(*statements, setup=()):
    """A client that runs statements again and again and reads all that they answer as fast as it can."""
    def run(port):
        client = Client(port)
        for statement in setup:
            client.run(statement)
        while True:
            for statement in statements:
                client.run(statement)
    return run


NUMBERS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) "
LITERALS = "(" + ",".join(map(str, range(2000000))) + ")"
VALUES = ",".join(f"({number},{number},'{'y' * 100}')" for number in range(200000, 320000))

# What a greedy session does, by name; a number of sessions that do it.
GREEDY = {
    "none": (0, None),
    "pipelined": (1, pipelined),
    "result": (1, repeated("SELECT * FROM bench.points")),
    "many statements": (1, repeated("DO 1;" * 100000)),
    "literals": (1, repeated(f"SELECT COUNT(*) FROM bench.points WHERE id IN {LITERALS}")),
    "long insert": (1, repeated(f"INSERT INTO bench.long_insert VALUES {VALUES}", "TRUNCATE TABLE bench.long_insert", setup=("CREATE TABLE IF NOT EXISTS bench.long_insert LIKE bench.points",))),
    "rollback": (1, repeated("BEGIN", "INSERT INTO bench.rolled_back SELECT * FROM bench.points", "ROLLBACK", setup=("CREATE TABLE IF NOT EXISTS bench.rolled_back LIKE bench.points",))),
    "expression": (1, repeated("SELECT LENGTH(SHA2(REPEAT('x', 50000000), 512))")),
    "analytics": (4, repeated("SELECT k % 100, COUNT(*), SUM(LENGTH(c)), MAX(c) FROM bench.points GROUP BY 1 ORDER BY 2", NUMBERS + "SELECT COUNT(*) FROM n a, n b, n c WHERE c.i < 10 AND a.i + b.i + c.i < 0")),
    "definitions": (1, repeated("ALTER TABLE bench.indexed ADD INDEX (k, c)", "DROP INDEX k ON bench.indexed", setup=("CREATE TABLE IF NOT EXISTS bench.indexed LIKE bench.points", "INSERT IGNORE INTO bench.indexed SELECT * FROM bench.points"))),
}


def fairness(server, kinds, seconds, rounds):
    """Latencies of four clients' point selects, 500 a second each, beside each kind of greedy sessions, in microseconds: of
    the rounds of each kind the one that something else on the machine has disturbed least."""
    results = {}
    with server:
        points(server)
        for _ in range(rounds):
            for kind in kinds:
                latencies = beside(server, kind, seconds)
                measured = {"p50_us": round(percentile(latencies, 50)), "p99_us": round(percentile(latencies, 99)), "max_us": round(latencies[-1])}
                results[kind] = min(results.get(kind, measured), measured, key=lambda result: result["p99_us"])
                print(f"  {server.name:8} {kind:18} {measured}", file=sys.stderr, flush=True)
    return results


def beside(server, kind, seconds):
    """Latencies beside one kind of greedy sessions."""
    count, behave = GREEDY[kind]
    children = []
    for _ in range(count):
        child = os.fork()
        if child == 0:
            try:
                behave(server.port)
            except BaseException as error:
                print(f"  {server.name}: the greedy session ({kind}) ended: {error!r}", file=sys.stderr, flush=True)
            os._exit(1)
        children.append(child)
    if children:
        time.sleep(1)
    latencies = paced_point_selects(server.port, 4, seconds)
    for child in children:
        ended, _ = os.waitpid(child, os.WNOHANG)
        if not ended:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    # The next kind begins when the last statement of this one has been given up.
    if children:
        time.sleep(2)
    return latencies
