//! The paths of Drizzle's JSON server, with the requests of its own test.

use super::Served;
use super::client::Answer;

const PLACE: &str = "/json?schema=json&table=people";

fn served() -> Served {
    let mut served = Served::start();
    served.run("GRANT ALL ON *.* TO web");
    served
}

fn post(served: &Served, path: &str, body: &str) -> Answer {
    served.web().post(path, body)
}

#[test]
fn versions_have_their_shapes() {
    let served = served();
    for path in ["/version", "/latest/version", "/0.3/version"] {
        let text = served.web().get(path).text();
        assert!(text.starts_with("{\"json_server_version\":\"0.3\",\"version\":\"8.4."), "{text}");
    }
    for path in ["/0.1/version", "/0.2/version"] {
        let text = served.web().get(path).text();
        assert!(text.starts_with("{\"version\":\"8.4."), "{text}");
    }
    for path in ["/0.4/version", "/0.1/sql", "/0.2/json", "/1.0/version"] {
        assert_eq!(served.web().get(path).status, 404, "{path}");
    }
}

#[test]
fn texts_of_statements_run_in_one_transaction() {
    let mut served = served();
    served.run("CREATE TABLE d.t (id INT PRIMARY KEY, a INT)");
    let web = served.web().with("Content-Type", "text/plain");
    let sql = |text: &str| web.post("/sql", text);
    assert_eq!(sql("SELECT 1").text(), r#"{"query":"SELECT 1","result_set":[["1"]],"sqlstate":"00000"}"#);
    let insert = "INSERT INTO d.t VALUES (1, NULL), (2, 5)";
    assert_eq!(sql(insert).text(), format!("{{\"query\":\"{insert}\",\"sqlstate\":\"00000\"}}"));
    let select = "SELECT id, a FROM d.t ORDER BY id; DO 1";
    let expected =
        format!("{{\"query\":\"{select}\",\"result_set\":[[\"1\",null],[\"2\",\"5\"]],\"sqlstate\":\"00000\"}}");
    assert_eq!(sql(select).text(), expected);
    let failed = sql("INSERT INTO d.t VALUES (3, 3); SELECT * FROM d.missing");
    assert_eq!(failed.status, 404);
    assert!(
        failed.text().starts_with(r#"{"error_code":1146,"error_message":"Table 'd.missing' doesn't exist","query":"#)
    );
    assert!(failed.text().ends_with(r#""schema":"test","sqlstate":"42S02"}"#), "{}", failed.text());
    assert!(sql("SELECT COUNT(*) FROM d.t").text().contains("[[\"2\"]]"));
    served.run("SET GLOBAL json_server_legacy_status = ON");
    assert_eq!(sql("SELECT * FROM d.missing").status, 200);
    assert_eq!(served.web().get("/sql").status, 405);
}

#[test]
fn long_answers_are_bounded_and_come_in_pieces() {
    let mut served = served();
    served.run("SET GLOBAL json_server_schema = 'd'");
    let web = served.web().with("Content-Type", "text/plain");
    let long = web.post("/sql", "SELECT REPEAT('x', 200000)");
    assert_eq!((long.status, long.is_whole, long.header("content-length")), (200, true, None));
    let expected = format!(
        r#"{{"query":"SELECT REPEAT('x', 200000)","result_set":[["{}"]],"sqlstate":"00000"}}"#,
        "x".repeat(200_000)
    );
    assert!(long.text() == expected, "{} bytes", long.body.len());
    served.run("SET GLOBAL json_server_max_body = 2048");
    let nulls = web.post("/sql", "SELECT NULL FROM seq_1_to_10000");
    assert_eq!(nulls.status, 413, "{}", nulls.text());
}

#[test]
fn documents_are_stored_shown_and_deleted() {
    let mut served = served();
    let done = r#"{"sqlstate":"00000"}"#;
    let create = r#"{"query":{"name":"json"}}"#;
    assert_eq!(post(&served, "/json/ddl/schema/create", create).text(), r#"{"sql_state":"00000"}"#);
    let again = post(&served, "/json/ddl/schema/create", create);
    assert_eq!(again.status, 409);
    let expected = r#"{"error_message":"Can't create schema 'json'; schema exists","error_no":1007,"error_type":"SQL ERROR","sql_state":"HY000"}"#;
    assert_eq!(again.text(), expected);
    // The table is made by the first document.
    assert_eq!(served.web().get(PLACE).status, 404);
    let first = r#"{"query":{"_id":1,"document":{"firstname":"Henrik","age":35}}}"#;
    assert_eq!(post(&served, PLACE, first).text(), done);
    let one = r#"{"result_set":[{"_id":1,"document":{"age": 35, "firstname": "Henrik"}}],"sqlstate":"00000"}"#;
    let get = |more: &str| served.web().get(&format!("{PLACE}{more}")).text();
    let same = |text: String| {
        text.replace("{\"firstname\": \"Henrik\", \"age\": 35}", "{\"age\": 35, \"firstname\": \"Henrik\"}")
    };
    assert_eq!(same(get("&_id=1")), one);
    assert_eq!(same(get("&query=%7B%22_id%22%3A1%7D")), one);
    assert_eq!(post(&served, PLACE, &first.replace("35", "36")).text(), done);
    assert!(get("&_id=1").contains("36"));
    // The next value of the key; values of all kinds are documents.
    assert_eq!(post(&served, PLACE, r#"{"query":{"document":"a string"}}"#).text(), done);
    assert_eq!(post(&served, PLACE, r#"{"query":{"_id":"","document":98765}}"#).text(), done);
    assert!(get("&_id=2").contains(r#"{"_id":2,"document":"a string"}"#), "{}", get("&_id=2"));
    for more in ["", "&query=%7B%7D", "&query=%7B%22_id%22%3A%22%22%7D"] {
        let all = get(more);
        assert!(all.contains("\"_id\":1,") && all.contains(r#"{"_id":3,"document":98765}"#), "{all}");
    }
    let delete = |more: &str| served.web().ask("DELETE", &format!("{PLACE}{more}"), None);
    assert_eq!(delete("&_id=1").text(), done);
    assert_eq!(delete("&query=%7B%22_id%22%3A2%7D").text(), done);
    assert_eq!(delete("&_id=3").text(), done);
    assert_eq!(get(""), done);
    // A key that has no column.
    let other = r#"{"query":{"_id":9,"document":1,"more":{"a":[]}}}"#;
    let refused = post(&served, PLACE, other);
    assert!(refused.text().contains("\"error_code\":1054"), "{}", refused.text());
    let mut root = served.server.connect();
    mysql::prelude::Queryable::query_drop(&mut root, "SET GLOBAL json_server_add_columns = ON").expect("a setting");
    assert_eq!(post(&served, PLACE, other).text(), done);
    assert!(served.web().get(&format!("{PLACE}&_id=9")).text().contains(r#""more":{"a": []}"#));
    // The table is dropped only where that is allowed.
    for more in ["", "&_id=", "&query=%7B%7D", "&query=%7B%22_id%22%3A%22%22%7D"] {
        let refused = served.web().ask("DELETE", &format!("{PLACE}{more}"), None);
        assert_eq!(refused.status, 404);
        assert!(refused.text().contains("\"error_type\":\"http error\""), "{}", refused.text());
    }
    served.run("SET GLOBAL json_server_allow_drop_table = ON");
    assert_eq!(served.web().ask("DELETE", PLACE, None).text(), done);
    let gone = served.web().get(PLACE);
    assert_eq!(gone.status, 404);
    assert!(gone.text().contains("\"error_code\":1146") && gone.text().contains("\"error_type\":\"sql error\""));
    let drop = || post(&served, "/json/ddl/schema/drop", create);
    assert_eq!(drop().text(), r#"{"sql_state":"00000"}"#);
    assert!(drop().text().contains("\"error_no\":1008"));
    assert!(served.web().get("/json?schema=json").text().contains("table must be specified in URI query string."));
}

#[test]
fn bodies_that_are_no_json_are_told_with_their_place() {
    let served = served();
    for body in ["", "nonsense"] {
        let answer = post(&served, PLACE, body);
        assert_eq!(answer.status, 400);
        let message = r#""error_message":"* Line 1, Column 1\n  Syntax error: value, object or array expected.\n""#;
        assert!(answer.text().contains(message), "{}", answer.text());
    }
    let answer = post(&served, PLACE, "{\"query\":{\"_id\":1}");
    assert!(answer.text().contains("* Line 1, Column 18"), "{}", answer.text());
    assert!(answer.text().contains("\"error_type\":\"json error\""), "{}", answer.text());
}

#[test]
fn names_and_values_are_never_parts_of_statements() {
    let mut served = served();
    served.run("CREATE DATABASE `s``'; DROP`");
    served.run(
        "CREATE TABLE d.keyed (_id VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin PRIMARY KEY, document JSON)",
    );
    let hostile = "'\\\"`;-- \u{2603}\u{1d122}\\u0000/*";
    let body = format!(
        "{{\"query\":{{\"_id\":1,\"document\":\"{}\",\"k`'; \u{2603}\":[\"`\"]}}}}",
        hostile.replace('"', "\\\"").replace("\\\\\"", "\\\"")
    );
    let place = "/json?schema=s%60%27%3B%20DROP&table=t%60%22%27%3B%20%E2%98%83";
    let stored = post(&served, place, &body);
    assert_eq!(stored.text(), r#"{"sqlstate":"00000"}"#, "{body}");
    let shown = served.web().get(&format!("{place}&_id=1")).text();
    assert!(shown.contains("\"k`'; \u{2603}\":[\"`\"]") && shown.contains("\u{1d122}\\u0000/*\""), "{shown}");
    // A key that only begins with a number is not that number.
    for key in ["1%20OR%201%3D1", "1%27", "1%60--"] {
        let shown = served.web().get(&format!("{place}&_id={key}")).text();
        assert!(!shown.contains("result_set"), "{key}: {shown}");
        served.web().ask("DELETE", &format!("{place}&_id={key}"), None);
    }
    assert!(served.web().get(&format!("{place}&_id=1")).text().contains("result_set"));
    let keyed = "/json?schema=d&table=keyed";
    let body = "{\"query\":{\"_id\":\"a'`;\u{2603}\",\"document\":1}}";
    assert_eq!(post(&served, keyed, body).text(), r#"{"sqlstate":"00000"}"#);
    let shown = served.web().get(&format!("{keyed}&_id=a%27%60%3B%E2%98%83")).text();
    assert!(shown.contains("{\"_id\":\"a'`;\u{2603}\",\"document\":1}"), "{shown}");
}
