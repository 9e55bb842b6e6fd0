"""Tables that come and go: `bench/run.py definitions`."""
import time


def pairs(server, count, kept):
    """CREATE + DROP pairs in ten parts, beside tables that stay; milliseconds of a pair in each part, and what the data directory takes."""
    with server:
        server.sql("CREATE DATABASE d;" + "".join(f"CREATE TABLE d.kept{n} (id INT PRIMARY KEY, a INT, KEY (a));" for n in range(kept)))
        before, part, times = server.disk_bytes(), max(count // 10, 1), []
        for first in range(0, count, part):
            statements = "".join(f"CREATE TABLE t{n} (id INT PRIMARY KEY, a INT, KEY (a)); DROP TABLE t{n};" for n in range(first, min(first + part, count)))
            began = time.perf_counter()
            server.sql(statements, "d")
            times.append((time.perf_counter() - began) / (min(first + part, count) - first) * 1000)
        after, began = server.disk_bytes(), time.perf_counter()
        server.stop()
        stopped = time.perf_counter() - began
        started = server.start()
        return {"pairs": count, "kept": kept, "ms_first": round(times[0], 2), "ms_last": round(times[-1], 2), "mib_before": round(before / 2**20, 1),
                "mib_after": round(after / 2**20, 1), "mib_restarted": round(server.disk_bytes() / 2**20, 1), "stop_s": round(stopped, 2), "start_s": round(started, 2)}
