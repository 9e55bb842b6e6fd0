"""What every Python client is asked: values of every type, as text and prepared."""
import datetime as dt, decimal, os, sys, traceback

PORT = int(os.environ.get("SQUALL_PORT", "3306"))
SOCKET = os.environ.get("SQUALL_SOCKET", "")

# column, type, value given, value that comes back
D = decimal.Decimal
TYPES = [
    ("c_tiny", "TINYINT", -128, -128),
    ("c_utiny", "TINYINT UNSIGNED", 255, 255),
    ("c_bool", "BOOL", 1, 1),
    ("c_small", "SMALLINT", -32768, -32768),
    ("c_medium", "MEDIUMINT", -8388608, -8388608),
    ("c_int", "INT", -2147483648, -2147483648),
    ("c_uint", "INT UNSIGNED", 4294967295, 4294967295),
    ("c_big", "BIGINT", -9223372036854775808, -9223372036854775808),
    ("c_ubig", "BIGINT UNSIGNED", 18446744073709551615, 18446744073709551615),
    ("c_dec", "DECIMAL(65,30)", D("12345678901234567890123456789012345.123456789012345678901234567890"), D("12345678901234567890123456789012345.123456789012345678901234567890")),
    ("c_dec2", "DECIMAL(10,2)", D("-1.50"), D("-1.50")),
    ("c_float", "FLOAT", 1.5, 1.5),
    ("c_double", "DOUBLE", 0.1, 0.1),
    ("c_bit", "BIT(10)", 515, None),
    ("c_date", "DATE", dt.date(2024, 2, 29), dt.date(2024, 2, 29)),
    ("c_time", "TIME(6)", dt.timedelta(hours=838, minutes=59, seconds=58, microseconds=1), dt.timedelta(hours=838, minutes=59, seconds=58, microseconds=1)),
    ("c_datetime", "DATETIME(6)", dt.datetime(9999, 12, 31, 23, 59, 59, 999999), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)),
    ("c_timestamp", "TIMESTAMP(6) NULL", dt.datetime(2024, 1, 2, 3, 4, 5, 6), dt.datetime(2024, 1, 2, 3, 4, 5, 6)),
    ("c_year", "YEAR", 2155, 2155),
    ("c_char", "CHAR(10)", "abc", "abc"),
    ("c_varchar", "VARCHAR(100)", "naïve ☃ 𝄢 '\"\\\n\0", "naïve ☃ 𝄢 '\"\\\n\0"),
    ("c_text", "TEXT", "x" * 60000, "x" * 60000),
    ("c_varbinary", "VARBINARY(20)", b"\x00\xff\x80'", b"\x00\xff\x80'"),
    ("c_blob", "LONGBLOB", bytes(range(256)) * 10, bytes(range(256)) * 10),
    ("c_enum", "ENUM('a','b','ü')", "ü", "ü"),
    ("c_set", "SET('x','y','z')", "x,z", None),
    ("c_json", "JSON", '{"b": [1, 2.5, null], "a": "ü"}', None),
]


def check(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def run(cases):
    """Runs the functions in turn; the exit status says whether all held."""
    failed = 0
    for case in cases:
        try:
            case()
        except Exception:
            failed += 1
            print(f"  {os.path.basename(sys.argv[0])}: {case.__name__} failed")
            traceback.print_exc()
    print(f"  {os.path.basename(sys.argv[0])}: {len(cases) - failed} passed, {failed} failed", flush=True)
    sys.exit(1 if failed else 0)
