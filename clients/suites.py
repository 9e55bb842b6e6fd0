#!/usr/bin/env python3
"""Runs the test suites of other people's libraries on a Squall server, and compares what fails with what is known to.

usage: clients/suites.py [--server PATH] [--port PORT] [--only NAME] [--cache DIR] [--record]

Suites: mysqlclient (its own tests), SQLAlchemy (its suite for dialects, its tests of MySQL, and all others that need a database) and Django (35 of
its applications that are about databases). They are fetched from PyPI in the versions below and installed into an environment of their
own in the cache directory (default ~/.cache/squall-suites); mysqlclient needs gcc, pkg-config and libmariadb-dev.
Without --port each suite gets a server on a fresh data directory. With --port they talk to whatever listens there (root without password): that is how
another server's failures are found.
A test that fails and is not in EXPECTED is a failure; so is one of EXPECTED that passes. --record appends the counts to clients/results/suites.jsonl.
"""
import argparse, datetime, json, os, pathlib, re, subprocess, sys, tarfile

from run import HERE, Server, default_binary

SOURCES = {"mysqlclient": "mysqlclient==2.3.2", "sqlalchemy": "SQLAlchemy==2.0.58", "django": "Django==5.2.8"}
NEEDED = ["pytest==9.0.2", "PyMySQL==1.1.2", "cryptography", "setuptools", "sqlparse", "asgiref"]

SNAPSHOTS = "REPEATABLE READ is snapshot isolation: a row that another has changed since is 1020, where MySQL finds no row"
# By suite: what a test's name contains, and why it fails.
EXPECTED = {
    "mysqlclient": {},
    "sqlalchemy": {
        "AlternateGeneratorTest_mysql+pymysql_8_4_0::test_child_row_switch_two": SNAPSHOTS,
        "ServerVersioningTest_mysql+pymysql_8_4_0::test_concurrent_mod_err_expire_on_commit": SNAPSHOTS,
        "VersioningTest_mysql+pymysql_8_4_0::test_basic": SNAPSHOTS,
        "VersioningTest_mysql+pymysql_8_4_0::test_versioncheck": SNAPSHOTS,
        "ReflectionTest_mysql+pymysql_8_4_0::test_reflect_comment_unicode": "comments keep characters beyond the first plane, which MySQL makes question marks",
        "ReflectionTest_mysql+pymysql_8_4_0::test_reflection_with_table_options": "CONNECTION of a table is 1235; ENGINE=MEMORY makes an InnoDB table, with MySQL's warning of another engine",
        "ReturningGuardsTest_mysql+pymysql_8_4_0::test_delete_single": "RETURNING is taken, as MariaDB does",
        "ReturningGuardsTest_mysql+pymysql_8_4_0::test_insert_single": "RETURNING is taken, as MariaDB does",
    },
    "django": {
        "test_get_storage_engine": "ENGINE=MyISAM makes an InnoDB table, with MySQL's warning of another engine",
        "test_implicit_savepoint_rollback": "the youngest transaction of a deadlock gives way, not the one that closed the cycle",
    },
}

DJANGO_APPLICATIONS = """aggregation aggregation_regress annotations backends basic bulk_create constraints custom_columns datatypes dates datetimes db_functions
defer delete expressions expressions_case expressions_window fixtures foreign_object get_or_create indexes inspectdb introspection lookup many_to_many migrations
model_fields ordering queries raw_query schema select_for_update select_related transactions transaction_hooks update""".split()

DJANGO_SETTINGS = """
import os
def database(name):
    return {"ENGINE": "django.db.backends.mysql", "HOST": "127.0.0.1", "PORT": os.environ["SQUALL_PORT"], "USER": "root", "PASSWORD": "",
            "NAME": name, "TEST": {"CHARSET": "utf8mb4", "COLLATION": "utf8mb4_general_ci"}}
DATABASES = {"default": database("django_main"), "other": database("django_other")}
SECRET_KEY = "of tests"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
"""


class Suites:
    def __init__(self, cache):
        self.cache = cache
        cache.mkdir(parents=True, exist_ok=True)
        self.python = cache / "venv" / "bin" / "python"
        if not self.python.exists():
            subprocess.run([sys.executable, "-m", "venv", cache / "venv"], check=True)
        self.pip("install", "--quiet", *NEEDED)

    def pip(self, *arguments):
        subprocess.run([self.python, "-m", "pip", *arguments], check=True)

    def source(self, name):
        """The unpacked source of a suite, which is installed, too."""
        requirement = SOURCES[name]
        package, version = requirement.split("==")
        folder = self.cache / f"{package.lower()}-{version}"
        if not folder.exists():
            self.pip("download", "--quiet", "--no-deps", "--no-binary", package, "--dest", self.cache, requirement)
            archive = next(self.cache.glob(f"{package.lower()}-{version}.tar.gz"))
            with tarfile.open(archive) as tar:
                tar.extractall(self.cache, filter="data")
            self.pip("install", "--quiet", folder)
        return folder

    def call(self, *command, cwd, port, **environment):
        """What a suite prints."""
        environment = {**os.environ, "SQUALL_PORT": str(port), **environment}
        done = subprocess.run([self.python, *command], cwd=cwd, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=3600)
        return done.stdout

    def sql(self, port, *statements):
        code = "import pymysql, sys\nc = pymysql.connect(host='127.0.0.1', port=int(sys.argv[1]), user='root').cursor()\nfor s in sys.argv[2:]: c.execute(s)"
        subprocess.run([self.python, "-c", code, str(port), *statements], check=True)

    def pytest(self, arguments, cwd, port, **environment):
        output = self.call("-m", "pytest", "-q", "-p", "no:logging", "--tb=no", "-rfE", *arguments, cwd=cwd, port=port, **environment)
        found = dict((word, int(count)) for count, word in re.findall(r"(\d+) (passed|failed|skipped|errors?)\b", output.splitlines()[-1]))
        if "passed" not in found:
            raise SystemExit(output[-4000:])
        return found["passed"], found.get("skipped", 0), re.findall(r"^(?:FAILED|ERROR) (\S+)", output, re.M)

    def mysqlclient(self, port):
        folder = self.source("mysqlclient")
        self.sql(port, "CREATE DATABASE suite_mysqlclient", "SET GLOBAL local_infile = 1")
        options = self.cache / f"mysqlclient-{port}.cnf"
        options.write_text(f"[MySQLdb-tests]\nhost=127.0.0.1\nport={port}\nuser=root\ndatabase=suite_mysqlclient\ndefault-character-set=utf8mb4\n")
        return self.pytest(["tests"], folder, port, TESTDB=str(options))

    def sqlalchemy(self, port):
        folder = self.source("sqlalchemy")
        self.sql(port, *(f"CREATE DATABASE {name}" for name in ("test", "test_schema", "test_schema_2")))
        url = ["--dburi", f"mysql+pymysql://root@127.0.0.1:{port}/test?charset=utf8mb4", "--maxfail=100000"]
        parts = [["test/dialect/test_suite.py", "test/dialect/mysql"], ["test", "-m", "backend", "--ignore=test/dialect", "--ignore=test/aaa_profiling"]]
        results = [self.pytest([*url, *part], folder, port) for part in parts]
        return sum(r[0] for r in results), sum(r[1] for r in results), [test for r in results for test in r[2]]

    def django(self, port):
        folder = self.source("django") / "tests"
        settings = self.cache / "settings"
        settings.mkdir(exist_ok=True)
        (settings / "squall_settings.py").write_text(DJANGO_SETTINGS)
        output = self.call("runtests.py", "--settings=squall_settings", "--parallel", "1", "--noinput", "-v1", *DJANGO_APPLICATIONS, cwd=folder, port=port, PYTHONPATH=str(settings))
        ran = re.search(r"^Ran (\d+) tests", output, re.M)
        if not ran:
            raise SystemExit(output[-4000:])
        failed = re.findall(r"^(?:FAIL|ERROR): (\S+ \(\S+\))", output, re.M)
        skipped = int((re.search(r"skipped=(\d+)", output) or [0, 0])[1])
        return int(ran[1]) - len(failed) - skipped, skipped, failed


def judge(name, failed):
    """Failures that nobody has explained, and explanations of what passes."""
    known = EXPECTED[name]
    return [test for test in failed if not any(part in test for part in known)], [part for part in known if not any(part in test for test in failed)]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--server"), p.add_argument("--port", type=int), p.add_argument("--only", choices=SOURCES), p.add_argument("--record", action="store_true")
    p.add_argument("--cache", type=pathlib.Path, default=pathlib.Path.home() / ".cache" / "squall-suites")
    a = p.parse_args()
    suites, bad = Suites(a.cache), 0
    for name in [a.only] if a.only else SOURCES:
        if a.port:
            passed, skipped, failed = getattr(suites, name)(a.port)
        else:
            with Server(a.server or default_binary()) as server:
                passed, skipped, failed = getattr(suites, name)(server.port)
        unknown, passing = judge(name, failed)
        print(f"{SOURCES[name]}: {passed} passed, {len(failed)} failed ({len(failed) - len(unknown)} of them known), {skipped} skipped", flush=True)
        for test in unknown:
            print(f"  failed: {test}")
        for part in passing:
            print(f"  passes, though it is known to fail: {part}")
        bad += len(unknown) + len(passing)
        if a.record:
            (HERE / "results").mkdir(exist_ok=True)
            commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True).stdout.strip()
            line = {"date": datetime.date.today().isoformat(), "commit": commit, "suite": SOURCES[name], "passed": passed, "failed": len(failed), "known": len(failed) - len(unknown), "skipped": skipped}
            with open(HERE / "results" / "suites.jsonl", "a") as out:
                out.write(json.dumps(line) + "\n")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
