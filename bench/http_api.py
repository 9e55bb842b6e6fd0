#!/usr/bin/env python3
"""Point reads by HTTP (`GET /1.0/db/bench/points/N`) and by MySQL's protocol, by as many clients that keep their connections.

usage: bench/http_api.py [--clients 1000] [--seconds 10] [--profile release] [--rounds 3] [--record]

Both ways are measured in the same run, in turn: each client sends the next request when it has the answer. `text` is COM_QUERY and `prepared`
COM_STMT_EXECUTE on MySQL's port, `basic` HTTP with a password and `bearer` with an API token. The clients are one process beside the server, so
what counts is `per_core`: answers for each second of the server's processor time, of the best of the rounds. `threads` are those of the server
while all clients are connected, `bytes_each` what each of them has added to its memory.
"""
import argparse, base64, os, re, select, socket, sys, time
from connections import ROWS, Client, answer_end, open_files_allowed, packet, points, QUERY
from peers import Squall, record

USER, PASSWORD = "web", "secret"
LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.I)


class HttpClient:
    """One connection for HTTP."""

    def __init__(self, port, credentials):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.head = f" HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: {credentials}\r\n\r\n".encode()

    def request(self, key):
        return b"GET /1.0/db/bench/points/%d" % key + self.head

    def is_answered(self, pending):
        end = pending.find(b"\r\n\r\n")
        if end < 0:
            return False
        if not pending.startswith(b"HTTP/1.1 200"):
            raise SystemExit(pending.decode(errors="replace"))
        return len(pending) >= end + 4 + int(LENGTH.search(pending[:end + 2])[1])


class SqlClient(Client):
    """One connection for MySQL's protocol."""

    def __init__(self, port, is_prepared):
        super().__init__(port)
        self.is_prepared = is_prepared
        if is_prepared:
            self.prepare_point_select()

    def request(self, key):
        return self.execution(key) if self.is_prepared else packet(QUERY + b"SELECT c FROM bench.points WHERE id = %d" % key)

    def is_answered(self, pending):
        return answer_end(pending, 0) is not None


def threads_of(server):
    return len(os.listdir(f"/proc/{server.process.pid}/task"))


def measure(server, opened, seconds):
    """Answers of all clients together, for a time."""
    poll, by_number, key, answers = select.epoll(), {}, 1, 0
    for client in opened:
        client.socket.setblocking(False)
        client.pending = b""
        by_number[client.socket.fileno()] = client
        poll.register(client.socket, select.EPOLLIN)
    for client in opened:
        client.socket.send(client.request(key))
        key = key % ROWS + 1
    started, cpu = None, None
    warm = time.perf_counter() + 1
    while True:
        now = time.perf_counter()
        if started is None and now >= warm:
            started, cpu, answers = now, server.cpu_seconds(), 0
        if started is not None and now - started >= seconds:
            break
        for number, _ in poll.poll(1):
            client = by_number[number]
            got = client.socket.recv(1 << 16)
            if not got:
                raise SystemExit("closed by the server")
            client.pending += got
            if not client.is_answered(client.pending):
                continue
            answers += 1
            client.pending, key = b"", key % ROWS + 1
            client.socket.send(client.request(key))
    used = server.cpu_seconds() - cpu
    return {"per_second": round(answers / (now - started)), "per_core": round(answers / used), "threads": threads_of(server)}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--clients", type=int, default=1000)
    p.add_argument("--seconds", type=float, default=10)
    p.add_argument("--profile", default="release")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--ways", default="text,prepared,basic,bearer")
    p.add_argument("--record", action="store_true")
    a = p.parse_args()
    clients = open_files_allowed(2 * a.clients) // 2
    best = {}
    with Squall(a.profile, arguments=["--http", "0"]) as server:
        points(server)
        server.sql(f"SET GLOBAL max_connections = {clients + 100}; SET GLOBAL json_server_max_connections = {clients + 100}")
        server.sql(f"CREATE USER {USER} IDENTIFIED BY '{PASSWORD}'; GRANT SELECT ON bench.* TO {USER}; GRANT JSON_API ON *.* TO {USER}")
        port = int(server.sql("SHOW GLOBAL STATUS LIKE 'Json_server_port'").split()[1])
        token = server.sql(f"CREATE API TOKEN FOR {USER}").split()[1]
        basic = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        ways = {"text": lambda: SqlClient(server.port, False), "prepared": lambda: SqlClient(server.port, True),
                "basic": lambda: HttpClient(port, basic), "bearer": lambda: HttpClient(port, f"Bearer {token}")}
        for _ in range(a.rounds):
            for way in a.ways.split(","):
                resident = server.resident_bytes()
                opened = [ways[way]() for _ in range(clients)]
                measured = measure(server, opened, a.seconds)
                measured["bytes_each"] = max(0, round((server.resident_bytes() - resident) / clients))
                for client in opened:
                    client.socket.close()
                time.sleep(1)
                print(f"  {way:9} {measured}", file=sys.stderr, flush=True)
                best[way] = max(best.get(way, measured), measured, key=lambda result: result["per_core"])
    result = {"clients": clients, "ways": best}
    if "text" in best:
        result["per_core_of_text"] = {way: round(best[way]["per_core"] / best["text"]["per_core"], 2) for way in best if way != "text"}
    print(result)
    if a.record:
        record("http_api", result)


if __name__ == "__main__":
    main()
