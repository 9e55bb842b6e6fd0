"""Hours of sysbench with checksums of rows: `bench/run.py endurance`.

The table has a generated column with the checksum of its row, which the server computes at each change. After every slice
of the run all rows are compared with it, the secondary index with the table, and their number with what it must be;
then the server is killed, started again, and everything is compared once more.
"""
import signal, sys, time

CHECKSUM = "CRC32(CONCAT_WS(',', id, k, c, pad))"
DIGITS = "^([0-9]{{11}}-){{{}}}[0-9]{{11}}$"

SUMS = f"SELECT COUNT(*), COUNT(DISTINCT id), SUM({CHECKSUM}), SUM(k) FROM sbtest1"
CHECKS = {
    "rows whose checksum is wrong": f"SELECT COUNT(*) FROM sbtest1 WHERE crc <> {CHECKSUM} OR crc IS NULL",
    "rows that sysbench does not write": f"SELECT COUNT(*) FROM sbtest1 WHERE c NOT REGEXP '{DIGITS.format(9)}' OR pad NOT REGEXP '{DIGITS.format(4)}'",
}


def check(server, rows):
    """The table's sums and a list of what is wrong."""
    sums = server.sql(SUMS, "sbtest").split()
    wrong = [f"{count} {what}" for what, sql in CHECKS.items() if (count := server.sql(sql, "sbtest").strip()) != "0"]
    if sums[:2] != [str(rows)] * 2:
        wrong.append(f"{sums[0]} rows with {sums[1]} ids instead of {rows}")
    by_index = server.sql("SELECT COUNT(*), SUM(k) FROM sbtest1 FORCE INDEX (k_1) WHERE k >= 0", "sbtest").split()
    if by_index != [sums[0], sums[3]]:
        wrong.append(f"the index has {by_index}, the table {sums[0]} and {sums[3]}")
    verdict = server.sql("CHECK TABLE sbtest1", "sbtest").split("\t")[-1].strip()
    if verdict != "OK":
        wrong.append(f"CHECK TABLE: {verdict}")
    return sums, wrong


def run(server, sysbench, minutes, slice_seconds, rows, threads):
    """Runs oltp_read_write for so long; returns what was done, and what was wrong."""
    done = {"minutes": 0.0, "transactions": 0, "kills": 0, "restart_ms_max": 0, "peak_mib": 0}
    with server:
        server.sql("CREATE DATABASE sbtest")
        if sysbench(server, "oltp_read_write", threads, 0, rows, "prepare") is None:
            return done, ["sysbench could not make its table"]
        server.sql(f"ALTER TABLE sbtest1 ADD COLUMN crc BIGINT GENERATED ALWAYS AS ({CHECKSUM}) STORED", "sbtest")
        started = time.monotonic()
        while (left := minutes * 60 - (time.monotonic() - started)) > 0:
            seconds = max(1, min(slice_seconds, int(left)))
            result = sysbench(server, "oltp_read_write", threads, seconds, rows, "run")
            if result is None:
                return done, ["sysbench failed"]
            done["transactions"] += round(result["transactions"] * seconds)
            sums, wrong = check(server, rows)
            done["peak_mib"] = max(done["peak_mib"], server.peak_bytes() >> 20)
            if wrong:
                return done, wrong
            server.stop(signal.SIGKILL)
            done["restart_ms_max"] = max(done["restart_ms_max"], round(server.start() * 1e3))
            done["kills"] += 1
            again, wrong = check(server, rows)
            if again != sums:
                wrong.append(f"before kill -9 {sums}, after it {again}")
            if wrong:
                return done, [f"after kill -9: {what}" for what in wrong]
            done["minutes"] = round((time.monotonic() - started) / 60, 1)
            print(f"  {done}, {result['transactions']:.0f} transactions/s, p99 {result['p99_ms']} ms, data directory {server.disk_bytes() >> 20} MiB", file=sys.stderr, flush=True)
    return done, []
