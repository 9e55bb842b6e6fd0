"""The servers that are measured: each starts on a fresh data directory and is gone at the end of a `with` block."""
import json, os, pathlib, shutil, signal, socket, subprocess, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def squall_binary(profile):
    meta = subprocess.run(["cargo", "metadata", "--format-version", "1", "--no-deps"], cwd=HERE.parent, check=True, capture_output=True)
    path = pathlib.Path(json.loads(meta.stdout)["target_directory"]) / profile / "squall"
    if not path.exists():
        raise SystemExit(f"{path} is not built: cargo build {'--release ' if profile == 'release' else ''}--package squall")
    return str(path)


class Server:
    """One running server."""

    start_seconds_max = 60

    def __init__(self, name, folder=None):
        self.name, self.port, self.process = name, free_port(), None
        self.folder, self.kept = folder or tempfile.mkdtemp(prefix=f"bench-{name}-"), folder is not None
        self.data = os.path.join(self.folder, "data")
        self.socket = os.path.join(self.folder, "s.sock")

    def command(self):
        raise NotImplementedError

    def start(self):
        """Starts the server; returns the seconds until it answered a connection."""
        started = time.perf_counter()
        self.log = open(os.path.join(self.folder, "server.log"), "a+")
        self.process = subprocess.Popen(self.command(), stdout=self.log, stderr=self.log)
        while time.perf_counter() - started < self.start_seconds_max:
            if self.process.poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return time.perf_counter() - started
            except OSError:
                time.sleep(0.002)
        self.log.seek(0)
        raise SystemExit(f"{self.name} did not start:\n{self.log.read()[-2000:]}")

    def stop(self, how=signal.SIGTERM):
        if self.process:
            self.process.send_signal(how)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self.process = None

    def resident_bytes(self):
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        return 0

    def peak_bytes(self):
        for line in open(f"/proc/{self.process.pid}/status"):
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
        return 0

    def cpu_seconds(self):
        """User and system time so far."""
        fields = open(f"/proc/{self.process.pid}/stat").read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def disk_bytes(self):
        return sum(f.stat().st_blocks * 512 for f in pathlib.Path(self.data).rglob("*") if f.is_file())

    def sql(self, text, database=""):
        """Runs a script with the mariadb client and returns its tab-separated output."""
        command = ["mariadb", "--no-defaults", "--host=127.0.0.1", f"--port={self.port}", "--user=root", "--batch", "--skip-column-names", "--local-infile=1", "--max-allowed-packet=1G"]
        done = subprocess.run(command + ([database] if database else []), input=text.encode(), capture_output=True)
        if done.returncode:
            raise RuntimeError(f"{self.name}: {done.stderr.decode()[-500:]}\nfor {text[:200]}")
        return done.stdout.decode()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        if not self.kept:
            shutil.rmtree(self.folder, ignore_errors=True)


class Squall(Server):
    def __init__(self, profile="release", folder=None, arguments=(), binary=None):
        super().__init__("squall", folder)
        self.binary, self.arguments = binary or squall_binary(profile), list(arguments)

    def command(self):
        return [self.binary, "serve", "--datadir", self.data, "--port", str(self.port), "--socket", self.socket, *self.arguments]


class MariaDB(Server):
    """MariaDB with durable commits, a 4 GB buffer pool and the performance schema off."""

    def __init__(self, folder=None):
        super().__init__("mariadb", folder)
        if not shutil.which("mariadbd"):
            raise SystemExit("mariadbd is not installed: apt-get install mariadb-server")
        if not os.path.exists(self.data):
            subprocess.run(["mariadb-install-db", "--no-defaults", f"--datadir={self.data}", "--auth-root-authentication-method=normal", "--user=root"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def command(self):
        return ["mariadbd", "--no-defaults", "--user=root", f"--datadir={self.data}", f"--port={self.port}", f"--socket={self.socket}", "--bind-address=127.0.0.1",
                "--innodb-buffer-pool-size=4G", "--innodb-log-file-size=1G", "--innodb-flush-log-at-trx-commit=1", "--performance-schema=OFF", "--character-set-server=utf8mb4",
                "--max-connections=2000", "--max-allowed-packet=1G", "--local-infile=1", "--secure-file-priv=", "--group-concat-max-len=1000000000", "--max-statement-time=0", "--max-prepared-stmt-count=1000000"]


def machine():
    """What a recorded result says of where it was made."""
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    return f"{os.cpu_count()} × {cpu}, {memory} GiB"


def commit():
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=HERE, capture_output=True, text=True)
    return done.stdout.strip() or "?"


def record(name, result):
    """Appends one JSON line to bench/results/NAME.jsonl."""
    line = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "commit": commit(), "machine": machine(), **result}
    with open(HERE / "results" / f"{name}.jsonl", "a") as out:
        out.write(json.dumps(line) + "\n")
