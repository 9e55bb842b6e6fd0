"""Reads the segment that `other_readers.rs` writes, with DuckDB and with pandas, and compares every value.

usage: read_segment.py FILE
"""
import datetime, decimal, sys

import duckdb, pandas

D, DT, T = datetime.date, datetime.datetime, datetime.time
EXPECTED = {
    "tiny": [-128, None, 127],
    "big": [-(2**63), 2**63 - 1, None],
    "unsigned_big": [0, None, 2**64 - 1],
    "price": [decimal.Decimal("-1234567.89"), decimal.Decimal("0.01"), None],
    "wide": [decimal.Decimal("12345678901234567890123456.7890"), None, decimal.Decimal("-0.0001")],
    "ratio": [0.1, None, -2.5],
    "day": [D(1992, 1, 1), D(9999, 12, 31), None],
    "moment": [DT(2024, 2, 29, 23, 59, 59, 999999), None, DT(1970, 1, 1)],
    "clock": [T(23, 59, 59, 999999), T(0, 0), None],
    "name": ["Zürich 🦆", None, ""],
    "data": [b"\x00\xff", b"", None],
}


def compare(reader, column, found):
    if found != EXPECTED[column]:
        sys.exit(f"{reader}: column {column}: {found!r} instead of {EXPECTED[column]!r}")


def plain(value):
    """A value of pandas without pandas' own types and ways of saying that there is none."""
    if value is None or value is pandas.NaT or (isinstance(value, float) and value != value) or value is pandas.NA:
        return None
    return value.to_pydatetime() if isinstance(value, pandas.Timestamp) else value


def main(path):
    connection = duckdb.connect()
    for column in EXPECTED:
        compare("duckdb", column, [row[0] for row in connection.execute(f'SELECT "{column}" FROM read_parquet(?)', [path]).fetchall()])
    frame = pandas.read_parquet(path, dtype_backend="pyarrow")
    assert list(frame.columns) == list(EXPECTED), frame.columns
    for column in EXPECTED:
        compare("pandas", column, [plain(value) for value in frame[column].tolist()])


if __name__ == "__main__":
    main(sys.argv[1])
