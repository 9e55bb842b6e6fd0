"""What a statement costs a server, besides time: system calls, context switches, user and system CPU, and where it goes."""
import collections, os, pathlib, re, shutil, signal, subprocess, tempfile, time
from histogram import percentiles

HERE = pathlib.Path(__file__).resolve().parent
WORKLOADS = ["oltp_point_select", "oltp_point_select:text", "select_one", "oltp_read_only"]
# What is measured at once is measured for this long, seconds; what slows the server down has its own run.
TRACE_SECONDS = 3
# Symbols and system calls that are shown.
SHOWN = 12


def needed(*programs):
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        raise SystemExit(f"not installed: {', '.join(missing)} (apt-get install sysbench strace linux-perf mariadb-client)")


def command(server, workload, threads, seconds, rows, action="run"):
    """sysbench's command line; a workload's name may end in `:text`, and may be one of our own in `lua/`."""
    name, _, way = workload.partition(":")
    script = HERE / "lua" / f"{name}.lua"
    line = ["sysbench", str(script) if script.exists() else name, "--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={server.port}", "--mysql-user=root", "--mysql-db=sbtest", f"--threads={threads}", f"--time={seconds}", f"--db-ps-mode={'disable' if way == 'text' else 'auto'}", "--rand-type=uniform", "--histogram"]
    return line + (["--tables=1", f"--table-size={rows}"] if name.startswith("oltp") else []) + [action]


def fill(servers, rows):
    """The table of the workloads that read, on each server."""
    needed("sysbench")
    for server in servers:
        server.sql("CREATE DATABASE sbtest; SET GLOBAL max_connections = 2000")
        subprocess.run(command(server, "oltp_read_only", 1, 0, rows, "prepare"), check=True, stdout=subprocess.DEVNULL)


def statements(server):
    """Statements that the server has run so far, and when that was asked."""
    return int(server.sql("SHOW GLOBAL STATUS LIKE 'Questions'").split()[1]), time.time()


def cpu(server):
    """User and system time so far, seconds."""
    fields = open(f"/proc/{server.process.pid}/stat").read().rpartition(")")[2].split()
    return int(fields[11]) / os.sysconf("SC_CLK_TCK"), int(fields[12]) / os.sysconf("SC_CLK_TCK")


def switches(server):
    """Context switches of the threads that there are: voluntary, involuntary."""
    voluntary = involuntary = 0
    for task in pathlib.Path(f"/proc/{server.process.pid}/task").iterdir():
        try:
            text = (task / "status").read_text()
        except OSError:
            continue
        voluntary += int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", text, re.M).group(1))
        involuntary += int(re.search(r"^nonvoluntary_ctxt_switches:\s+(\d+)", text, re.M).group(1))
    return voluntary, involuntary


class Load:
    """sysbench at work in the background."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def __enter__(self):
        # All connections are there, all statements prepared.
        time.sleep(2)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def output(self):
        return self.process.communicate()[0]


def costs(server, load_for, seconds):
    """Per statement: CPU and context switches; and the run's latencies."""
    with Load(load_for(seconds + 4)) as load:
        (count, _), used, switched = statements(server), cpu(server), switches(server)
        time.sleep(seconds)
        switched_then, used_then, (count_then, _) = switches(server), cpu(server), statements(server)
        output = load.output()
    per = lambda before, after: [(then - now) / (count_then - count) for now, then in zip(before, after)]
    found = {name: per(before, after) for name, before, after in (("cpu", used, used_then), ("switches", switched, switched_then))}
    found["rate"] = (count_then - count) / seconds
    return {**found, **percentiles(output)}


def system_calls(server, load_for):
    """Calls per statement by name, from a trace; the trace makes the server slow, which the counts do not mind."""
    trace = tempfile.NamedTemporaryFile(suffix=".strace")
    with Load(load_for(TRACE_SECONDS + 60)):
        strace = subprocess.Popen(["strace", "-f", "-ttt", "-s", "0", "-o", trace.name, "-p", str(server.process.pid)], stderr=subprocess.DEVNULL)
        time.sleep(2)
        count, start = statements(server)
        time.sleep(TRACE_SECONDS)
        # Asking takes a while in a server that is traced: both ends are where the answer came.
        count_then, end = statements(server)
        strace.send_signal(signal.SIGINT)
        strace.wait()
    calls = collections.Counter()
    for line in open(trace.name, errors="replace"):
        match = re.match(r"\d+\s+([\d.]+) (\w+)\(", line)
        if match and start <= float(match.group(1)) <= end:
            calls[match.group(2)] += 1
    return {name: number / max(count_then - count, 1) for name, number in calls.most_common()}


def symbols(server, load_for):
    """Where the time goes: shares of functions, user and kernel."""
    data = tempfile.NamedTemporaryFile(suffix=".perf")
    with Load(load_for(TRACE_SECONDS + 4)):
        subprocess.run(["perf", "record", "-q", "-e", "cpu-clock", "-F", "997", "-p", str(server.process.pid), "-o", data.name, "--", "sleep", str(TRACE_SECONDS)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    report = subprocess.run(["perf", "report", "-i", data.name, "--stdio", "--no-children", "-F", "overhead,sym", "-w", "0,90"], capture_output=True, text=True).stdout
    return [line.strip() for line in report.splitlines() if re.match(r"\s+[\d.]+%", line)][:SHOWN]


def describe(server, load_for, seconds):
    """One server's part of a profile, as text."""
    found, calls = costs(server, load_for, seconds), system_calls(server, load_for)
    lines = [
        f"{server.name}: {found['rate']:.0f} statements/s",
        "  latency, ms          " + ", ".join(f"{name[:-3]} {found[name]:.3f}" for name in ("p50_ms", "p99_ms", "p999_ms") if name in found),
        f"  CPU, us/statement    {found['cpu'][0] * 1e6:.1f} user, {found['cpu'][1] * 1e6:.1f} system",
        f"  context switches     {found['switches'][0]:.3f} voluntary, {found['switches'][1]:.3f} involuntary per statement",
        f"  system calls         {sum(calls.values()):.2f} per statement: " + ", ".join(f"{name} {number:.2f}" for name, number in list(calls.items())[:SHOWN] if number >= 0.005),
        f"  of them futex        {calls.get('futex', 0):.3f} per statement",
        "  time goes to",
    ]
    return "\n".join(lines + [f"    {line}" for line in symbols(server, load_for)])


def run(servers, workloads, threads, seconds, rows, heading, record):
    """Profiles servers that are running; prints one text per workload, and keeps it with `record`."""
    needed("strace", "perf")
    fill(servers, rows)
    for workload in workloads:
        text = [f"{workload}: what a statement costs", heading]
        for number in threads:
            text.append(f"\n== {number} connections\n")
            for server in servers:
                text.append(describe(server, lambda length: command(server, workload, number, length, rows), seconds) + "\n")
        text = "\n".join(text)
        print(text, flush=True)
        if record:
            (HERE / "results" / f"profile-{workload.replace(':', '-')}.txt").write_text(text)


def scaling(servers, workloads, threads, seconds, rows):
    """Throughput and latencies by the number of connections: one result after the other."""
    fill(servers, rows)
    for workload in workloads:
        for number in threads:
            found = {}
            for server in servers:
                used, output = cpu(server), Load(command(server, workload, number, seconds, rows)).output()
                total = re.search(r"queries:\s+(\d+)\s+\(([\d.]+) per sec", output)
                if not total:
                    raise SystemExit(f"{server.name}: sysbench {workload} with {number} threads failed:\n{output[-2000:]}")
                spent = sum(cpu(server)) - sum(used)
                found[server.name] = {"queries": float(total.group(2)), "cpu_us": round(spent * 1e6 / max(int(total.group(1)), 1), 2), **percentiles(output)}
            yield workload, number, found
