#!/usr/bin/env python3
"""Requests per second of HTTP_GET() over rows, of `curl --parallel` and of Python's httpx, against one web server of this machine.

usage: bench/http_client.py [--rows 10000] [--parallel 4,16] [--body 200] [--profile release] [--rounds 3] [--record]

The server (asyncio, one process, connections are kept) answers each request with `--body` bytes. Squall runs SUM(LENGTH(HTTP_GET(url))) over a
table of as many URLs, each with a path of its own; curl reads the URLs from a file; httpx is asked by as many tasks at once, and left out if it is
not installed. All take the best of the rounds, in turn. The server shares the machine with whoever asks it: what is measured is a share of that.
"""
import argparse, asyncio, json, multiprocessing, os, pathlib, subprocess, tempfile, time
from peers import Squall, free_port, record


def serve(port, body):
    answer = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n" % body + b"x" * body

    class Answer(asyncio.Protocol):
        def connection_made(self, transport):
            self.transport, self.got = transport, b""

        def data_received(self, data):
            self.got += data
            while b"\r\n\r\n" in self.got:
                _, self.got = self.got.split(b"\r\n\r\n", 1)
                self.transport.write(answer)

    async def run():
        server = await asyncio.get_running_loop().create_server(Answer, "127.0.0.1", port, backlog=1024)
        await server.serve_forever()

    asyncio.run(run())


def timed(work):
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def by_squall(server, rows, body, parallel):
    got = server.sql(f"SET http_client_row_parallelism = {parallel}; SELECT SUM(LENGTH(HTTP_GET(url))) FROM bench.urls")
    if int(got) != rows * body:
        raise SystemExit(f"squall read {got.strip()} bytes")


def by_curl(folder, urls, parallel):
    config = pathlib.Path(folder) / "urls"
    if not config.exists():
        config.write_text("".join(f'url = "{url}"\noutput = "/dev/null"\n' for url in urls))
    subprocess.run(["curl", "--silent", "--no-progress-meter", "--parallel", "--parallel-max", str(parallel), "--config", str(config)], check=True, capture_output=True)


def by_httpx(urls, parallel):
    import httpx

    async def run():
        waiting = iter(urls)
        async with httpx.AsyncClient() as client:
            async def ask():
                for url in waiting:
                    (await client.get(url)).raise_for_status()
            await asyncio.gather(*(ask() for _ in range(parallel)))

    asyncio.run(run())


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--rows", type=int, default=10_000)
    p.add_argument("--parallel", default="4,16")
    p.add_argument("--body", type=int, default=200)
    p.add_argument("--profile", default="release")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--record", action="store_true")
    a = p.parse_args()
    port = free_port()
    web = multiprocessing.Process(target=serve, args=(port, a.body), daemon=True)
    web.start()
    urls = [f"http://127.0.0.1:{port}/{number}" for number in range(a.rows)]
    try:
        import httpx  # noqa: F401
        has_httpx = True
    except ImportError:
        has_httpx = False
        print("httpx is not installed")
    with Squall(a.profile) as server, tempfile.TemporaryDirectory() as folder:
        server.sql("SET GLOBAL http_client_allow_private = ON, http_client_log = OFF; CREATE DATABASE bench; CREATE TABLE bench.urls (id INT PRIMARY KEY, url VARCHAR(100))")
        for begin in range(0, a.rows, 1000):
            values = ",".join(f"({at},'{url}')" for at, url in enumerate(urls[begin:begin + 1000], begin))
            server.sql(f"INSERT INTO bench.urls VALUES {values}")
        for parallel in map(int, a.parallel.split(",")):
            sides = {"squall": lambda: by_squall(server, a.rows, a.body, parallel), "curl": lambda: by_curl(folder, urls, parallel)}
            if has_httpx:
                sides["httpx"] = lambda: by_httpx(urls, parallel)
            best = {name: min(timed(work) for _ in range(a.rounds)) for name, work in sides.items()}
            result = {"rows": a.rows, "body": a.body, "parallel": parallel, "profile": a.profile, "requests_per_second": {name: round(a.rows / seconds) for name, seconds in best.items()}}
            print(json.dumps(result))
            if a.record:
                record("http_client", result)


if __name__ == "__main__":
    main()
