"""Instructions per statement on the user side, counted by valgrind: no other load on the machine changes them.

Each server runs under callgrind with its table in memory; one connection sends a known number of statements. What the
system does for a statement is not counted, and neither is what other threads do than the one that serves the connection:
they sample statistics and collect history by the clock, which under valgrind has little to do with statements.
"""
import collections, pathlib, re, subprocess
from profile import command, fill, needed

STATEMENTS = 5000
# What valgrind cannot give MariaDB: the system's asynchronous files, and much address space.
MARIADB_OPTIONS = ["--skip-innodb-use-native-aio", "--innodb-buffer-pool-size=256M", "--loose-innodb-buffer-pool-size-max=256M"]
# Under valgrind everything takes some fifty times as long.
START_SECONDS_MAX = 300


def under_callgrind(server):
    """The server, to be started under callgrind."""
    plain_command = server.command
    server.command = lambda: ["valgrind", "--tool=callgrind", "--separate-threads=yes", f"--callgrind-out-file={server.folder}/callgrind.%p", "--quiet", *plain_command(), *(MARIADB_OPTIONS if server.name == "mariadb" else [])]
    server.start_seconds_max = START_SECONDS_MAX
    return server


def control(server, action):
    subprocess.run(["callgrind_control", action, str(server.process.pid)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def dumps(server):
    return {path for path in pathlib.Path(server.folder).glob("callgrind.*") if path.stat().st_size}


def count(server, run):
    """Instructions of each thread while something runs, by the thread's number."""
    control(server, "--zero")
    before = dumps(server)
    run()
    control(server, "--dump")
    threads = collections.Counter()
    for path in dumps(server) - before:
        for number in re.findall(r"^(?:summary|totals): (\d+)", path.read_text(), re.M)[:1]:
            threads[path.name.rpartition("-")[2]] += int(number)
    return threads


def run(servers, workloads, rows):
    """Each workload with the instructions per statement of each server."""
    needed("valgrind", "callgrind_control", "sysbench")
    found = {workload: [] for workload in workloads}
    for server in map(under_callgrind, servers):
        with server:
            fill([server], rows)
            if server.name != "mariadb":
                # A loop that stays awake runs instructions that no statement needs.
                server.sql("SET GLOBAL busy_poll_microseconds = 0")
            for workload in workloads:

                def send(number):
                    *line, _ = command(server, workload, 1, 0, rows)
                    subprocess.run([*line, f"--events={number}", "run"], check=True, stdout=subprocess.DEVNULL)

                # Every row has been read once by then, if there are fewer of them than statements.
                send(STATEMENTS)
                # What connecting and preparing cost is in both.
                few, many = (count(server, lambda: send(number)) for number in (STATEMENTS // 10, STATEMENTS))
                # A server with a thread for each connection has served the two runs by two of them.
                few, many = (max(threads.values()) for threads in (few, many))
                found[workload].append(round((many - few) / (STATEMENTS - STATEMENTS // 10)))
    for workload, counts in found.items():
        yield workload, *counts
