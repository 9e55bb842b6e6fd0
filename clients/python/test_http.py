"""httpx and pyarrow: statements in every form, streams, logins, and a Prometheus that reads the server's status."""
import base64, contextlib, datetime as dt, decimal, io, json, os, pathlib, shutil, subprocess, tempfile, time
import httpx, pyarrow as pa, pyarrow.ipc, pyarrow.parquet as pq
from cases import check, run

URL = os.environ.get("SQUALL_HTTP", "http://127.0.0.1:8086")
ARROW, PARQUET = "application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"


def client(**options):
    return httpx.Client(base_url=URL, auth=("root", ""), timeout=60, **options)


def sql(http, text, params=(), accept="application/json", **members):
    answer = http.post("/1.0/sql", json={"sql": text, "params": list(params), **members}, headers={"Accept": accept})
    if answer.status_code >= 400:
        raise AssertionError(f"{text}: {answer.status_code} {answer.text}")
    return answer


def every_type():
    with client() as http:
        sql(http, "DROP DATABASE IF EXISTS client_http; CREATE DATABASE client_http")
        sql(http, """CREATE TABLE client_http.t (id BIGINT PRIMARY KEY, u BIGINT UNSIGNED, d DECIMAL(20,5), f DOUBLE, day DATE, moment DATETIME(6),
            length TIME, name VARCHAR(100), raw BLOB, kind ENUM('a','b'), document JSON)""")
        raw = {"$binary": base64.b64encode(bytes([0, 255, 128, 39])).decode()}
        values = [-9223372036854775808, 18446744073709551615, "-123456789012345.54321", 0.1, "2024-02-29", "9999-12-31 23:59:59.999999",
                  "12:30:00", "naïve ☃ 𝄢 '\"\\\n", raw, "b", {"a": [1, None]}]
        row = sql(http, f"INSERT INTO client_http.t VALUES ({', '.join('?' * len(values))})", values).json()["results"][0]
        check(row["affected_rows"], 1, "rows that were stored")
        sql(http, "INSERT INTO client_http.t (id) VALUES (1)")
        one, two = sql(http, "SELECT * FROM client_http.t ORDER BY id").json()["results"][0]["rows"]
        want = ["-9223372036854775808", "18446744073709551615", *values[2:8], raw["$binary"], "b", {"a": [1, None]}]
        check(one, want, "a row as JSON")
        check(two, [1] + [None] * 10, "a row of NULLs as JSON")
        for accept, read in ((ARROW, lambda body: pa.ipc.open_stream(body).read_all()), (PARQUET, lambda body: pq.read_table(io.BytesIO(body)))):
            table = read(sql(http, "SELECT * FROM client_http.t ORDER BY id", accept=accept).content)
            one, two = table.to_pylist()
            check(one["id"], values[0], accept)
            check(one["u"], values[1], accept)
            check(one["d"], decimal.Decimal(values[2]), accept)
            check((one["f"], one["day"], one["moment"]), (0.1, dt.date(2024, 2, 29), dt.datetime(9999, 12, 31, 23, 59, 59, 999999)), accept)
            check((one["name"], one["raw"], one["kind"]), (values[7], bytes([0, 255, 128, 39]), "b"), accept)
            check(json.loads(one["document"]), {"a": [1, None]}, accept)
            check(set(two.values()), {1, None}, accept)


def long_results_are_streamed():
    text, rows = "SELECT seq, REPEAT('x', 100) AS text FROM seq_1_to_300000", 300_000
    with client() as http:
        sql(http, "CREATE DATABASE IF NOT EXISTS client_http")
        body = {"sql": text, "database": "client_http"}
        with http.stream("POST", "/1.0/sql", json=body, headers={"Accept": "application/x-ndjson"}) as answer:
            check(sum(1 for line in answer.iter_lines() if json.loads(line)["text"] == "x" * 100), rows, "lines")
        arrow = sql(http, text, accept=ARROW, database="client_http").content
        batches = [batch.num_rows for batch in pa.ipc.open_stream(arrow)]
        check((sum(batches), len(batches) > 10), (rows, True), "batches of Arrow")
        parquet = pq.ParquetFile(io.BytesIO(sql(http, text, accept=PARQUET, database="client_http").content))
        check((parquet.metadata.num_rows, parquet.num_row_groups > 1), (rows, True), "row groups of Parquet")
        check(parquet.read(columns=["seq"])["seq"].to_pylist()[-1], rows, "the last row of Parquet")
        few = sql(http, text, database="client_http", max_rows=2).json()["results"][0]
        check((len(few["rows"]), few["truncated"]), (2, True), "few rows")


def what_a_table_form_cannot_have_is_an_error():
    with client() as http:
        for text in ("SELECT 1 AS a, 2 AS a", "SELECT CAST('-1:00:00' AS TIME) AS t"):
            answer = http.post("/1.0/sql", json={"sql": text}, headers={"Accept": PARQUET})
            check((answer.status_code in (400, 422), answer.headers["content-type"]), (True, "application/problem+json"), text)
        check(sql(http, "DO 1", accept=PARQUET).status_code, 204, "no rows")


def errors_and_tokens():
    with client() as http:
        answer = http.post("/1.0/sql", json={"sql": "SELECT * FROM client_http.missing"})
        check((answer.status_code, answer.json()["error_code"]), (404, 1146), "a missing table")
        check(httpx.post(f"{URL}/1.0/sql", json={"sql": "SELECT 1"}).status_code, 401, "without credentials")
        token = sql(http, "CREATE API TOKEN FOR root@localhost READ ONLY SCHEMAS (client_http)").json()["results"][0]["rows"][0]
        headers = {"Authorization": f"Bearer {token[1]}"}
        ask = lambda text: httpx.post(f"{URL}/1.0/sql", json={"sql": text}, headers=headers).status_code
        check(ask("SELECT COUNT(*) FROM client_http.t"), 200, "a schema of the token")
        check((ask("SELECT * FROM mysql.user"), ask("DELETE FROM client_http.t")), (403, 403), "beyond the token")
        sql(http, f"DROP API TOKEN '{token[0]}'")
        check(ask("SELECT 1"), 401, "a token that is dropped")


def prometheus_reads_the_status():
    if not shutil.which("prometheus") or not shutil.which("promtool"):
        check(os.environ.get("SQUALL_SKIP_IS_FAILURE", ""), "", "Prometheus is installed (apt-get install prometheus)")
        print("  test_http.py: Prometheus: skipped, to run it: apt-get install prometheus")
        return
    with client() as http:
        text = http.get("/metrics").text
        checked = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True)
        check((checked.returncode, checked.stdout + checked.stderr), (0, ""), "promtool check metrics")
    with tempfile.TemporaryDirectory(prefix="squall-prometheus-") as folder, contextlib.ExitStack() as stack:
        folder = pathlib.Path(folder)
        (folder / "password").write_text("")
        (folder / "prometheus.yml").write_text(f"""
global: {{scrape_interval: 1s}}
scrape_configs:
  - job_name: squall
    basic_auth: {{username: root}}
    static_configs: [{{targets: ['{URL.removeprefix('http://')}']}}]
""")
        import socket
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{free.getsockname()[1]}"
        log = stack.enter_context(open(folder / "log", "w+"))
        process = subprocess.Popen(["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                                    f"--web.listen-address={address}"], stdout=log, stderr=log)
        stack.callback(process.wait, 30)
        stack.callback(process.terminate)
        found = None
        for _ in range(120):
            with contextlib.suppress(httpx.HTTPError):
                result = httpx.get(f"http://{address}/api/v1/query", params={"query": "squall_uptime"}).json()["data"]["result"]
                if result:
                    found = float(result[0]["value"][1])
                    break
            time.sleep(0.5)
        if found is None:
            log.seek(0)
            raise AssertionError("Prometheus has read nothing:\n" + log.read()[-3000:])
        types = httpx.get(f"http://{address}/api/v1/metadata", params={"metric": "squall_questions_total"}).json()["data"]
        check(types["squall_questions_total"][0]["type"], "counter", "a counter")


run([every_type, long_results_are_streamed, what_a_table_form_cannot_have_is_an_error, errors_and_tokens, prometheus_reads_the_status])
