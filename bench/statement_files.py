#!/usr/bin/env python3
"""Records how far Squall answers MariaDB's statement files as MariaDB does.

usage: bench/statement_files.py RESULT.json --commit COMMIT

The statement files are the plain SQL of the test files that Debian's `mariadb-test-data` installs. A comparison runs each
file on a fresh MariaDB and a fresh Squall, statement by statement, and writes RESULT.json:

  {"total": {"ref_ok": …, "same": …, "volatile-ok": …, "ref_err": …, "err_both": …, "lost": …, "crash": …},
   "per": {"file": {…}, …}}

`ref_ok` statements MariaDB accepts, `same` of them Squall answers with the same rows, `volatile-ok` it accepts and the rows
cannot be compared (EXPLAIN, SHOW STATUS, the time), `ref_err` statements MariaDB rejects, `err_both` of them Squall rejects
too, `lost` connections, `crash` deaths of the server. A line with the shares is appended to bench/results/statement_files.jsonl.
"""
import argparse, json
from peers import record


def main():
    p = argparse.ArgumentParser()
    p.add_argument("result")
    p.add_argument("--commit", required=True, help="the commit of the binary that was compared")
    a = p.parse_args()
    with open(a.result) as source:
        result = json.load(source)
    total = result["total"]
    alike, accepted = total.get("same", 0) + total.get("volatile-ok", 0), total["ref_ok"]
    rejected, matched = total["ref_err"], total.get("err_both", 0)
    line = {
        "commit": a.commit,
        "files": len(result["per"]),
        "accepted": accepted,
        "alike": alike,
        "share": round(alike / max(1, accepted), 4),
        "rejected": rejected,
        "errors_matched": round(matched / max(1, rejected), 4),
        "lost_connections": total.get("lost", 0),
        "server_deaths": total.get("crash", 0),
    }
    record("statement_files", line)
    print(json.dumps(line))


if __name__ == "__main__":
    main()
