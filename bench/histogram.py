"""Percentiles of latency from what `sysbench --histogram` prints."""
import re

PERCENTILES = {"p50_ms": 0.50, "p99_ms": 0.99, "p999_ms": 0.999}


def percentiles(output):
    """`{"p50_ms": …, "p99_ms": …, "p999_ms": …}` of a run, in milliseconds; empty without a histogram.

    sysbench counts events in buckets of about 1.4 % width and names each by its upper end, so a percentile is that much too
    long at most."""
    buckets = [(float(value), int(count)) for value, count in re.findall(r"^\s*([\d.]+) \|\**\s+(\d+)$", output, re.M)]
    total, found, seen = sum(count for _, count in buckets), {}, 0
    for value, count in buckets:
        seen += count
        for name, part in PERCENTILES.items():
            if name not in found and seen >= part * total:
                found[name] = value
    return found
