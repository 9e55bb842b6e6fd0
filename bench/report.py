#!/usr/bin/env python3
"""Makes docs/benchmarks.md of all bench/results/*.jsonl: one table for each file, in it the newest line of each measure.

A line is either a recorded figure (it has `measure`, and may have `squall`, `before`, `peer`, `ratio`, `asked`, `note`), or what a
command of bench/ has printed. Of the latter each number is a measure: its name is the path to it, and the server in that path, or in
`server`, says whose it is."""
import argparse, json, pathlib, re, sys

HERE = pathlib.Path(__file__).resolve().parent
RESULTS, PAGE = HERE / "results", HERE.parent / "docs" / "benchmarks.md"

SERVER = re.compile(r"(squall(?:[ -](?:archive|columns?|zstd|lz4))?|mariadb|innodb|myrocks|archive|duckdb|postgres(?: \w+)?)(?:_(.+))?")
# Numbers that say what was measured, not what came of it.
PARAMETERS = {"threads", "connections", "keys", "scale", "posts", "workers", "parallel"}
# Numbers that say how, or that stand in another measure as well.
LEFT_OUT = {"rounds", "searches", "count", "kills", "rows", "documents", "companies", "hashes", "clients", "raw_bytes", "views", "snapshots",
            "transactions", "conflicts", "differing", "empty", "slowest_rows", "sampled_idle_answering", "accepted", "files"}
COMMON = {"time", "commit", "machine", "server", "duckdb"}
INTRODUCTION = """# Benchmarks

Made by `bench/report.py` of `bench/results/*.jsonl`: one table for each file, in it the newest line of each measure. Each line there has the commit, the time
and the machine; what a command measured beside a peer was measured in the same run. *Ratio* is Squall's value divided by the first peer's, unless the note or the
measure says otherwise. *–* as commit: the figure was recorded by hand, with its date. All machines: """


def text_of(value):
    """A value as the table shows it: whole numbers with commas, others with about three digits."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {text_of(part)}" for name, part in value.items())
    if isinstance(value, list):
        return "; ".join(text_of(part) for part in value)
    if isinstance(value, float):
        value = round(value) if abs(value) >= 100 else float(f"{value:.3g}")
    return f"{value:,}" if isinstance(value, (int, float)) else str(value)


def leaves(value, path, server, pairs):
    """All numbers of a line below `path`: (path, server, number). A list of two is Squall's and DuckDB's where `pairs` says so."""
    if isinstance(value, bool):
        return
    if isinstance(value, dict):
        for key, part in value.items():
            found = SERVER.fullmatch(key)
            if found:
                yield from leaves(part, path + ([found[2]] if found[2] else []), found[1], pairs)
            elif key not in LEFT_OUT or not isinstance(part, (int, float)):
                yield from leaves(part, path if key == "ms" else path + [key], server, pairs)
    elif isinstance(value, list) and len(value) == 2 and pairs:
        yield path, "squall", value[0]
        yield path, "duckdb", value[1]
    elif isinstance(value, (int, float, list)):
        yield path, server, value


def run_of(line):
    """What lines of one run have in common."""
    return line["time"][:10], line.get("commit"), line.get("machine")


class Row:
    """What is known of a measure, of one run: lines of the same commit and day. A newer run replaces the older one."""

    def __init__(self):
        self.values, self.line, self.more = {}, {}, {}

    def add(self, server, value, line):
        if self.line and run_of(self.line) != run_of(line):
            self.values, self.line = {}, {}
        self.values[server] = value
        if server == "squall" or not self.line:
            self.line = line

    def cells(self, measure):
        ours = self.values.get("squall")
        peers = {name: value for name, value in self.values.items() if name != "squall"}
        ratio = self.more.get("ratio", "")
        first = next(iter(peers.values()), None)
        if ratio == "" and all(isinstance(v, (int, float)) and v > 0 for v in (ours, first)):
            ratio = f"{ours / first:.2f}"
        cells = [measure, "" if ours is None else ours, self.more.get("before", ""), peers, ratio, self.more.get("asked", ""),
                 self.line["time"][:10], self.line.get("commit") or "–", self.more.get("note", "")]
        return [text_of(cell).replace("|", "\\|") for cell in cells]


def read(path):
    """The measures of a file by their names, in the order in which they came first."""
    rows = {}
    lines = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    for line in sorted(lines, key=lambda line: line["time"]):
        if "measure" in line:
            row = rows[line["measure"]] = Row()
            row.more = line
            row.add("squall", line["squall"], line)
            row.values.update(line.get("peer", {}))
            continue
        names = [value if isinstance(value, str) else f"{key} {value}" for key, value in line.items()
                 if key not in COMMON and (isinstance(value, str) or key in PARAMETERS and isinstance(value, int))]
        rest = {key: value for key, value in line.items() if key not in COMMON | PARAMETERS and not isinstance(value, str)}
        for found, server, value in leaves(rest, [], line.get("server", "squall"), "duckdb" in line):
            rows.setdefault(", ".join(names + found), Row()).add(server, value, line)
    return rows


def page():
    """The whole page, and the machines that its lines name."""
    tables, machines = [], set()
    heads = ["Measure", "Squall", "Before", "Peers", "Ratio", "Asked", "Date", "Commit", "Note"]
    for path in sorted(RESULTS.glob("*.jsonl")):
        rows = read(path)
        machines.update(row.line.get("machine", "") for row in rows.values())
        table = [row.cells(measure) for measure, row in rows.items()]
        kept = [at for at, head in enumerate(heads) if any(row[at] for row in table)]
        tables += ["", f"## {path.stem.replace('-', ' ').replace('_', ' ').capitalize()}", ""]
        tables += ["| " + " | ".join(heads[at] for at in kept) + " |", "|" + "---|" * len(kept)]
        tables += ["| " + " | ".join(row[at] for at in kept) + " |" for row in table]
    return INTRODUCTION + "; ".join(sorted(filter(None, machines))) + ".\n" + "\n".join(tables) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if docs/benchmarks.md is not what would be written")
    wanted, options = page(), parser.parse_args()
    if not options.check:
        PAGE.write_text(wanted)
    elif not PAGE.exists() or PAGE.read_text() != wanted:
        sys.exit("docs/benchmarks.md is not what bench/report.py makes of bench/results: run it")


if __name__ == "__main__":
    main()
