"""Point selects while accounts and global variables change all the time: nobody who reads should notice (PERF-3)."""
import re, statistics, subprocess, tempfile
from profile import Load, command, fill

# One round of changes, and a pause: some hundred changes per second are more than any server sees.
ROUND = "CREATE USER passing; GRANT SELECT ON sbtest.* TO passing; REVOKE SELECT ON sbtest.* FROM passing; SET GLOBAL max_connections = {}; DROP USER passing; DO SLEEP(0.01);\n"
CHANGES_PER_ROUND = 5


class Changes:
    """A client that changes accounts for as long as the block lasts."""

    def __init__(self, server):
        self.server = server

    def __enter__(self):
        self.script = tempfile.TemporaryFile("w+")
        self.script.writelines(ROUND.format(2000 + number % 2) for number in range(100000))
        self.script.seek(0)
        self.before = self.made()
        self.client = subprocess.Popen(["mariadb", "--no-defaults", "--host=127.0.0.1", f"--port={self.server.port}", "--user=root"], stdin=self.script)
        return self

    def __exit__(self, *_):
        self.client.kill()
        self.client.wait()
        self.count = CHANGES_PER_ROUND * (self.made() - self.before)
        self.server.sql("DROP USER IF EXISTS passing")

    def made(self):
        return int(self.server.sql("SHOW GLOBAL STATUS LIKE 'Com_grant'").split()[1])


def rate(server, workload, threads, seconds, rows):
    output = Load(command(server, workload, threads, seconds, rows)).output()
    return float(re.search(r"queries:\s+\d+\s+\(([\d.]+) per sec", output).group(1))


def run(servers, workloads, threads, seconds, rounds, rows):
    """Statements per second without and with changes, in turn: one result after the other."""
    fill(servers, rows)
    for workload in workloads:
        for number in threads:
            for server in servers:
                quiet, busy, changes = [], [], 0
                for _ in range(rounds):
                    quiet.append(rate(server, workload, number, seconds, rows))
                    with Changes(server) as changing:
                        busy.append(rate(server, workload, number, seconds, rows))
                    changes += changing.count
                quiet, busy = statistics.median(quiet), statistics.median(busy)
                yield {"server": server.name, "workload": workload, "connections": number, "queries": round(quiet), "with_changes": round(busy), "loss_percent": round(100 - 100 * busy / quiet, 1), "changes_per_s": round(changes / rounds / seconds)}
