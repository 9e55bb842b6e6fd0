#!/usr/bin/env python3
"""Starts a Squall server and drives it with client libraries that other people wrote.

usage: clients/run.py [--server PATH] [--port PORT] [--http URL] [--only NAME]

Without --port a server is started on a fresh data directory with the binary of the last `cargo build` (or --server).
With --port the clients talk to whatever listens there (root without password), which is how these tests are
compared with another server; those of HTTP only with --http.
A client that is not installed is reported as skipped, with how to get it; SQUALL_SKIP_IS_FAILURE=1 makes that a failure.
"""
import argparse, json, os, pathlib, shutil, signal, socket, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent

# name, how to tell whether it is there, how to get it, command
CLIENTS = [
    ("mariadb-cli", ["mariadb", "--version"], "apt-get install mariadb-client", ["python3", "python/test_mariadb_cli.py"]),
    ("PyMySQL", ["python3", "-c", "import pymysql, cryptography"], "pip install PyMySQL cryptography", ["python3", "python/test_pymysql.py"]),
    ("mysql-connector-python", ["python3", "-c", "import mysql.connector"], "pip install mysql-connector-python", ["python3", "python/test_connector.py"]),
    ("squall-shell", ["python3", "-c", "import pty"], "a system with pseudo-terminals", ["python3", "python/test_shell.py"]),
    ("mysql2", ["node", "-e", "require('mysql2')"], "npm install --prefix clients/node", ["node", "test_mysql2.js"]),
    ("curl", ["curl", "--version"], "apt-get install curl", ["bash", "curl_documents.sh"]),
    ("httpx, pyarrow", ["python3", "-c", "import httpx, pyarrow.parquet"], "pip install httpx pyarrow", ["python3", "python/test_http.py"]),
    ("OpenAPI", ["python3", "-c", "import openapi_spec_validator, openapi_python_client"], "pip install openapi-spec-validator openapi-python-client", ["python3", "python/test_openapi.py"]),
    ("fetch", ["node", "-e", "fetch"], "Node 18 or later", ["node", "node/test_fetch.js"]),
    ("go-sql-driver", ["go", "build", "-o", os.devnull, "."], "apt-get install golang; cd clients/go && go mod download", ["go", "run", "."]),
]
OF_HTTP = {"curl", "httpx, pyarrow", "OpenAPI", "fetch"}
FOLDERS = {"mysql2": HERE / "node", "go-sql-driver": HERE / "go"}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def default_binary():
    meta = subprocess.run(["cargo", "metadata", "--format-version", "1", "--no-deps"], cwd=HERE.parent, check=True, capture_output=True)
    return pathlib.Path(json.loads(meta.stdout)["target_directory"]) / "debug" / "squall"


class Server:
    """A server on a fresh data directory, gone with the `with` block."""

    def __init__(self, binary):
        self.binary, self.port, self.http, self.process = str(binary), free_port(), free_port(), None

    def __enter__(self):
        self.directory = tempfile.mkdtemp(prefix="squall-clients-")
        self.log = open(os.path.join(self.directory, "server.log"), "w+")
        data = os.path.join(self.directory, "data")
        self.socket = os.path.join(self.directory, "s.sock")
        self.process = subprocess.Popen([self.binary, "serve", "--datadir", data, "--port", str(self.port), "--socket", self.socket, "--http", str(self.http)], stdout=self.log, stderr=self.log)
        for _ in range(200):
            if self.process.poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                time.sleep(0.05)
        self.log.seek(0)
        raise SystemExit("the server did not start:\n" + self.log.read())

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = "none: it did not stop on SIGTERM"
        if code != 0:
            self.log.seek(0)
            print("server log:\n" + self.log.read()[-4000:])
        shutil.rmtree(self.directory, ignore_errors=True)
        self.exit_code = code


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--server"), p.add_argument("--port", type=int), p.add_argument("--http"), p.add_argument("--only")
    a = p.parse_args()
    chosen = [c for c in CLIENTS if not a.only or c[0] == a.only]
    if not chosen:
        raise SystemExit("no such client: " + a.only)
    binary = a.server or default_binary()
    passed = failed = skipped = 0

    def run(port, socket_path, http):
        nonlocal passed, failed, skipped
        for name, probe, how, command in chosen:
            folder = FOLDERS.get(name, HERE)
            try:
                there = subprocess.run(probe, cwd=folder, capture_output=True).returncode == 0
            except FileNotFoundError:
                there = False
            if name in OF_HTTP and not http:
                there, how = False, "--http"
            if not there:
                skipped += 1
                print(f"{name}: skipped, to run it: {how}")
                continue
            environment = dict(os.environ, SQUALL_PORT=str(port), SQUALL_SOCKET=socket_path or "", SQUALL_SHELL=str(binary), SQUALL_HTTP=http or "")
            try:
                code = subprocess.run(command, cwd=folder, env=environment, timeout=600).returncode
            except subprocess.TimeoutExpired:
                code = "time-out"
            if code == 0:
                passed += 1
            else:
                failed += 1
            print(f"{name}: {'passed' if code == 0 else f'FAILED ({code})'}", flush=True)

    if a.port:
        run(a.port, None, a.http)
    else:
        with Server(binary) as server:
            run(server.port, server.socket, f"http://127.0.0.1:{server.http}")
        if server.exit_code != 0:
            failed += 1
            print(f"the server ended with {server.exit_code} on SIGTERM")
    print(f"clients: {passed} passed, {failed} failed, {skipped} skipped")
    if failed or (skipped and os.environ.get("SQUALL_SKIP_IS_FAILURE")):
        sys.exit(1)


if __name__ == "__main__":
    main()
