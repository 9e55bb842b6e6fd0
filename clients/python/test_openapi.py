"""The description of the paths: valid OpenAPI 3.1, and good enough that the client which openapi-python-client makes of it works."""
import base64, importlib, json, os, pathlib, subprocess, sys, tempfile
import httpx
from openapi_spec_validator import OpenAPIV31SpecValidator
from cases import check, run

URL = os.environ.get("SQUALL_HTTP", "http://127.0.0.1:8086")
AUTH = ("root", "")


def sql(text):
    answer = httpx.post(f"{URL}/1.0/sql", json={"sql": text}, auth=AUTH, timeout=60)
    check(answer.status_code, 200, text)


def described(**query):
    answer = httpx.get(f"{URL}/1.0/openapi.json", params=query, auth=AUTH, timeout=60)
    check(answer.status_code, 200, "the description")
    return answer.json()


def tables():
    sql("DROP DATABASE IF EXISTS client_openapi; CREATE DATABASE client_openapi")
    sql("""CREATE TABLE client_openapi.items (id INT UNSIGNED PRIMARY KEY AUTO_INCREMENT, name VARCHAR(50) NOT NULL COMMENT 'as it is sold',
        price DECIMAL(10,2), kind ENUM('a','it''s') NOT NULL DEFAULT 'a', day DATE, raw BLOB, document JSON, twice DECIMAL(11,2) AS (price * 2))""")
    sql("CREATE TABLE client_openapi.`naïve ☃/table` (a INT, b INT, PRIMARY KEY (b, a))")
    sql("CREATE VIEW client_openapi.names AS SELECT name FROM client_openapi.items")


def the_description_is_valid():
    tables()
    document = described()
    errors = [f"{error.json_path}: {error.message}" for error in OpenAPIV31SpecValidator(document).iter_errors()]
    check(errors, [], "errors of the description")
    schemas, paths = document["components"]["schemas"], document["paths"]
    items = schemas["client_openapi.items"]
    check(items["x-primary-key"], ["id"], "the key")
    check(items["properties"]["name"]["maxLength"], 50, "a length")
    check(items["properties"]["name"]["description"], "as it is sold", "a comment")
    check(items["properties"]["kind"]["enum"], ["a", "it's"], "members of ENUM")
    check(items["properties"]["day"]["type"], ["string", "null"], "NULL")
    check(items["properties"]["twice"]["readOnly"], True, "a generated column")
    check(schemas["client_openapi.items.new"]["required"], ["name"], "columns that are demanded")
    check("twice" in schemas["client_openapi.items.new"]["properties"], False, "a column that is not sent")
    check(set(paths["/1.0/db/client_openapi/items"]), {"get", "post"}, "methods of a table")
    check(set(paths["/1.0/db/client_openapi/items/{key}"]) - {"parameters"}, {"get", "put", "patch", "delete"}, "methods of a row")
    check(set(paths["/1.0/db/client_openapi/names"]), {"get"}, "methods of a view")
    check(schemas["client_openapi.na-c3-afve-20-e2-98-83-2ftable"]["x-primary-key"], ["b", "a"], "the order of a key")
    check("/1.0/db/client_openapi/na%C3%AFve%20%E2%98%83%2Ftable/{key}" in paths, True, "a path of other letters")
    few = described(schema="client_openapi", table="items")["components"]["schemas"]
    check([name for name in few if "." in name], ["client_openapi.items", "client_openapi.items.new"], "one table")


def an_account_sees_its_own():
    sql("DROP USER IF EXISTS client_openapi; CREATE USER client_openapi IDENTIFIED BY 'pw'; GRANT JSON_API ON *.* TO client_openapi; "
        "GRANT SELECT (id, name) ON client_openapi.items TO client_openapi")
    document = httpx.get(f"{URL}/1.0/openapi.json", auth=("client_openapi", "pw")).json()
    schemas = {name: schema for name, schema in document["components"]["schemas"].items() if "." in name}
    check(set(schemas), {"client_openapi.items", "client_openapi.items.new"}, "tables")
    check(list(schemas["client_openapi.items"]["properties"]), ["id", "name"], "columns")
    check(set(document["paths"]["/1.0/db/client_openapi/items"]), {"get"}, "methods")
    sql("DROP USER client_openapi")


def a_generated_client_works():
    with tempfile.TemporaryDirectory(prefix="squall-openapi-") as folder:
        folder = pathlib.Path(folder)
        (folder / "api.json").write_text(json.dumps(described(schema="client_openapi", table="items")))
        made = subprocess.run([sys.executable, "-m", "openapi_python_client", "generate", "--path", folder / "api.json",
                               "--output-path", folder / "squall_api", "--meta", "none"], capture_output=True, text=True)
        check(made.returncode, 0, f"openapi-python-client: {made.stdout}{made.stderr}")
        sys.path.insert(0, str(folder))
        api = importlib.import_module("squall_api")
        models = importlib.import_module("squall_api.models")
        run_sql = importlib.import_module("squall_api.api.sql.run_sql")
        get_health = importlib.import_module("squall_api.api.status.get_health")
        token = base64.b64encode(b"root:").decode()
        client = api.AuthenticatedClient(base_url=URL, token=token, prefix="Basic", raise_on_unexpected_status=True)
        check(get_health.sync(client=client).status, "ok", "health")
        request = models.SqlRequest(sql="SELECT ? AS a, 'b' AS b", params=[7], max_rows=5)
        results = run_sql.sync(client=client, body=request)
        check(results.results[0].rows, [[7, "b"]], "rows")
        check([column.name for column in results.results[0].columns], ["a", "b"], "columns")
        problem = run_sql.sync(client=client, body=models.SqlRequest(sql="SELECT * FROM missing.t"))
        check((problem.status, problem.error_code in (1049, 1146)), (404, True), "a problem")
        # A table's own paths, with its own types.
        tag = "squall_api.api.client_openapi"
        insert = importlib.import_module(f"{tag}.insert_client_openapi_items")
        listed = importlib.import_module(f"{tag}.list_client_openapi_items")
        get = importlib.import_module(f"{tag}.get_client_openapi_items")
        stored = insert.sync(client=client, body=models.NewClientOpenapiItems(name="naïve ☃", price="9.50"))
        check((stored.name, stored.price, stored.kind, stored.twice), ("naïve ☃", "9.50", "a", "19.00"), "a row that was stored")
        check(get.sync(client=client, key=str(stored.id)).to_dict(), stored.to_dict(), "the row by its key")
        page = listed.sync(client=client, where=json.dumps({"name": "naïve ☃"}), limit=5)
        check([row.to_dict()["name"] for row in page.items], ["naïve ☃"], "a page of rows")
        sys.path.pop(0)


run([the_description_is_valid, an_account_sees_its_own, a_generated_client_works])
