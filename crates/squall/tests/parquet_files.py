"""Reads with DuckDB and pyarrow what the server wrote, and writes what it shall read.

usage: parquet_files.py read FILE | write FOLDER
"""
import datetime, decimal, sys

import duckdb, pyarrow, pyarrow.parquet

D, DT, T, UTC = datetime.date, datetime.datetime, datetime.time, datetime.timezone.utc
N = decimal.Decimal
EXPECTED = {
    "id": [1, 2],
    "ub": [2**64 - 1, None],
    "de": [N("-1234567.891"), None],
    "wi": [N("12345678901234567890123456.7890"), None],
    "f": [0.10000000149011612, None],
    "do": [1e-300, None],
    "bi": [513, None],
    "y": [2155, None],
    "d": [D(9999, 12, 31), None],
    "t": [T(23, 59, 59, 999000), None],
    "dt": [DT(2024, 2, 29, 23, 59, 59, 999999), None],
    "ts": [DT(2024, 3, 31, 0, 30, tzinfo=UTC), None],
    "v": ["ß 🦆", None],
    "b": [b"\x00\xff", None],
    "e": ["ÿ", None],
    "s": ["a,c", None],
    "j": ['{"k": [1, 2.5]}', None],
}


def compare(reader, column, found):
    if found != EXPECTED[column]:
        sys.exit(f"{reader}: column {column}: {found!r} instead of {EXPECTED[column]!r}")


def read(path):
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    for column in EXPECTED:
        # Moments with a time zone need a library for Python; their text does not.
        shown = f'CAST("{column}" AT TIME ZONE \'UTC\' AS TIMESTAMP)' if column == "ts" else f'"{column}"'
        rows = connection.execute(f"SELECT {shown} FROM read_parquet(?)", [path]).fetchall()
        found = [row[0] for row in rows]
        if column == "ts":
            found = [moment and moment.replace(tzinfo=UTC) for moment in found]
        compare("duckdb", column, found)
    json = connection.execute("SELECT typeof(j) FROM read_parquet(?)", [path]).fetchone()[0]
    assert json in ("JSON", "VARCHAR"), json
    table = pyarrow.parquet.read_table(path)
    assert table.column_names == list(EXPECTED), table.column_names
    for column in EXPECTED:
        compare("pyarrow", column, table[column].to_pylist())


def write(folder):
    """What other programs write: their compressions, encodings and types."""
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    rows = """
        SELECT range::INTEGER AS id, range::UBIGINT + 18446744073709540000 AS ub, (range / 8)::DECIMAL(20, 3) AS de, range / 3 AS do,
            DATE '2000-01-01' + range::INTEGER AS d, TIME '10:00:00.25' AS t, TIMESTAMP '2024-01-01 00:00:00' AS dt,
            TIMESTAMPTZ '2024-03-31 00:30:00+00' AS ts, 'text ' || (range % 7) AS v, range % 2 = 0 AS flag,
            UUID '12345678-1234-5678-1234-567812345678' AS u, CASE WHEN range % 3 = 0 THEN range END AS sparse
        FROM range(5000)"""
    for codec in ("snappy", "zstd", "gzip", "lz4_raw", "uncompressed"):
        connection.execute(f"COPY ({rows}) TO '{folder}/duckdb_{codec}.parquet' (FORMAT parquet, COMPRESSION '{codec}')")
    table = connection.execute(rows).to_arrow_table()
    for codec in ("snappy", "zstd", "gzip", "none"):
        for version, page in (("1.0", "1.0"), ("2.6", "2.0")):
            name = f"{folder}/pyarrow_{codec}_{page}.parquet"
            pyarrow.parquet.write_table(
                table, name, compression=codec, version=version, data_page_version=page, write_page_checksum=True,
                row_group_size=1500,
            )
    nested = pyarrow.table({"id": [1], "l": [[1, 2]], "s": [{"a": 1}]})
    pyarrow.parquet.write_table(nested, f"{folder}/nested.parquet")
    old = pyarrow.table({"id": [1], "dt": pyarrow.array([DT(2024, 2, 29, 1, 2, 3, 4)], pyarrow.timestamp("ns"))})
    pyarrow.parquet.write_table(old, f"{folder}/int96.parquet", use_deprecated_int96_timestamps=True)


{"read": read, "write": write}[sys.argv[1]](sys.argv[2])
