//! `/1.0/sql`.

use super::Served;

#[test]
fn statements_answer_with_columns_rows_and_warnings() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(10) NOT NULL)");
    let answer = served.sql(r#"{"sql":"SELECT 1 AS one, 'x' AS x, NULL"}"#);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/json; charset=utf-8"));
    let columns = concat!(
        r#"[{"name":"one","type":"bigint","sql_type":"bigint","nullable":false},"#,
        r#"{"name":"x","type":"varchar","sql_type":"varchar(1)","nullable":false},"#,
        r#"{"name":"NULL","type":"null","sql_type":"null","nullable":true}]"#
    );
    let rest = r#""affected_rows":0,"insert_id":0,"truncated":false,"warnings":[]"#;
    assert_eq!(answer.timeless(), format!(r#"{{"results":[{{"columns":{columns},"rows":[[1,"x",null]],{rest}}}]}}"#));

    let answer = served.sql(r#"{"sql":"INSERT INTO t (a) VALUES (?), (?)","params":["a","b\"c"],"database":"d"}"#);
    let expected = concat!(
        r#"{"results":[{"columns":[],"rows":[],"affected_rows":2,"insert_id":1,"truncated":false,"#,
        r#""info":"Records: 2  Duplicates: 0  Warnings: 0","warnings":[]}]}"#
    );
    assert_eq!(answer.timeless(), expected);

    // Several results, with the warnings of each.
    let answer = served.sql(r#"{"sql":"SELECT 1/0 AS q; SELECT a FROM d.t WHERE id = ?; SELECT ?","params":[2,"z"]}"#);
    let text = answer.text();
    assert!(text.contains(r#""rows":[[null]],"#), "{text}");
    assert!(text.contains(r#""warnings":[{"level":"Warning","code":1365,"message":"Division by 0"}]}"#), "{text}");
    assert!(text.contains(r#""rows":[["b\"c"]],"#) && text.contains(r#""rows":[["z"]],"#), "{text}");
}

#[test]
fn values_have_their_forms() {
    let served = Served::start();
    let sql = "SELECT 9007199254740991 AS a, 9007199254740992 AS b, CAST(1.50 AS DECIMAL(5,2)) AS c, 1.5e0 AS d, \
               DATE'2026-01-02' AS e, TIMESTAMP'2026-01-02 03:04:05.6' AS f, TIME'-10:00:00' AS g, x'00ff' AS h, \
               JSON_OBJECT('k', 1) AS i, b'101' AS j, 18446744073709551615 AS k";
    let answer = served.sql(&format!("{{\"sql\":\"{sql}\"}}"));
    let row = r#"[[9007199254740991,"9007199254740992","1.50",1.5,"2026-01-02","2026-01-02 03:04:05.6","-10:00:00","AP8=",{"k": 1},"BQ==","18446744073709551615"]]"#;
    assert!(answer.text().contains(row), "{}", answer.text());
    assert!(answer.text().contains(r#"{"name":"h","type":"binary","#), "{}", answer.text());
    let exact = served.web().post("/1.0/sql?numbers=exact", &format!("{{\"sql\":\"{sql}\"}}"));
    assert!(exact.text().contains("[[9007199254740991,9007199254740992,1.50,1.5,"), "{}", exact.text());

    // Parameters are typed by JSON, and never become a part of a statement.
    let body = r#"{"sql":"SELECT ?, ?, ?, ?, ?, HEX(?)","params":[1,1.5,"'; DROP TABLE t; -- \u2603\ud834\udd22\u0000",null,true,{"$binary":"AP8="}]}"#;
    let answer = served.sql(body);
    let row = "[[1,\"1.5\",\"'; DROP TABLE t; -- \u{2603}\u{1d122}\\u0000\",null,1,\"00FF\"]]";
    assert!(answer.text().contains(row), "{}", answer.text());
    for params in ["[]", "[1,2]"] {
        let answer = served.sql(&format!(r#"{{"sql":"SELECT ?","params":{params}}}"#));
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert!(answer.text().contains("\"error_code\":1210"), "{}", answer.text());
    }
}

#[test]
fn other_forms_have_the_first_result_set() {
    let served = Served::start();
    let body = r#"{"sql":"DO 1; SELECT 1 AS a, NULL AS b, 'x,\"y\"' AS c, x'00' AS d UNION ALL SELECT 2, '', '', x''; SELECT 3"}"#;
    let csv = served.web().with("Accept", "text/csv").post("/1.0/sql", body);
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
    assert_eq!(csv.text(), "a,b,c,d\n1,,\"x,\"\"y\"\"\",AA==\n2,\"\",\"\",\"\"\n");
    let lines = served.web().with("Accept", "application/x-ndjson").post("/1.0/sql", body);
    let expected =
        "{\"a\":1,\"b\":null,\"c\":\"x,\\\"y\\\"\",\"d\":\"AA==\"}\n{\"a\":2,\"b\":\"\",\"c\":\"\",\"d\":\"\"}\n";
    assert_eq!(lines.text(), expected);
    let arrow = served.web().with("Accept", "application/vnd.apache.arrow.stream").post("/1.0/sql", body);
    assert_eq!(arrow.status, 200);
    // A stream begins with a continuation marker and ends with an empty message.
    assert!(arrow.body.starts_with(&[255, 255, 255, 255]) && arrow.body.ends_with(&[255, 255, 255, 255, 0, 0, 0, 0]));
    let nothing = served.web().with("Accept", "text/csv").post("/1.0/sql", r#"{"sql":"DO 1"}"#);
    assert_eq!(nothing.status, 204);
    assert_eq!(served.web().with("Accept", "text/html").post("/1.0/sql", body).status, 406);
}

#[test]
fn limits_of_a_request_hold() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT PRIMARY KEY)");
    served.run("INSERT INTO d.t WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 100) SELECT i FROM n");
    let answer = served.sql(r#"{"sql":"SELECT id FROM d.t ORDER BY id; SELECT 1","max_rows":2}"#);
    let text = answer.text();
    assert!(text.contains(r#""rows":[[1],[2]],"affected_rows":0,"insert_id":0,"truncated":true"#), "{text}");
    assert!(text.contains(r#""rows":[[1]],"affected_rows":0,"insert_id":0,"truncated":false"#), "{text}");

    let started = std::time::Instant::now();
    let answer = served.sql(r#"{"sql":"SELECT SLEEP(30)","timeout_ms":200}"#);
    assert_eq!(answer.status, 504, "{}", answer.text());
    assert!(started.elapsed().as_secs() < 20);
    assert!(answer.text().contains("longer than 200 ms"), "{}", answer.text());

    // Whatever the account may do.
    served.run("GRANT ALL ON *.* TO web");
    for sql in [
        "INSERT INTO d.t VALUES (1000)",
        "COMMIT; SET SESSION TRANSACTION READ WRITE; INSERT INTO d.t VALUES (1000)",
        "START TRANSACTION READ WRITE; DELETE FROM d.t",
        "DROP TABLE d.t",
        "CREATE TABLE d.u (a INT)",
        // What is not said of rows, or is done later by another session.
        "SET GLOBAL max_connections = 10",
        "SET PERSIST max_connections = 10",
        "SET STATEMENT sort_buffer_size = 100000 FOR SET GLOBAL max_connections = 10",
        "SET GLOBAL TRANSACTION READ ONLY",
        "SET PASSWORD = 'x'",
        "CREATE API TOKEN FOR CURRENT_USER()",
        "CALL async.queue('DELETE FROM d.t')",
        "EXECUTE 'DELETE FROM d.t' CONCURRENT",
        "EXECUTE 'DELETE FROM d.t'",
        "UPDATE async.settings SET value = '1'",
        "XA COMMIT 'x'",
        "KILL 1",
        "FLUSH PRIVILEGES",
        "RESET PERSIST",
        "SHUTDOWN",
    ] {
        let answer = served.sql(&format!(r#"{{"sql":"{sql}","read_only":true}}"#));
        assert_eq!(answer.status, 403, "{sql}: {}", answer.text());
        assert!(answer.text().contains("\"error_code\":1792"), "{sql}: {}", answer.text());
    }
    let answer = served.sql(r#"{"sql":"SELECT COUNT(*) FROM d.t","read_only":true}"#);
    assert!(answer.text().contains("[[100]]"), "{}", answer.text());
}

#[test]
fn errors_are_problems_with_statuses() {
    let mut served = Served::start();
    served.run("CREATE TABLE d.t (id INT PRIMARY KEY, a VARCHAR(2), CHECK (id < 100))");
    served.run("INSERT INTO d.t VALUES (1, 'a')");
    for (sql, status, code) in [
        ("SELEC 1", 400, 1064),
        ("SELECT nothing FROM d.t", 400, 1054),
        ("SELECT * FROM mysql.user", 403, 1142),
        ("SELECT * FROM d.missing", 404, 1146),
        ("INSERT INTO d.t VALUES (1, 'b')", 409, 1062),
        ("INSERT INTO d.t VALUES (2, 'abc')", 422, 1406),
        ("INSERT INTO d.t VALUES (200, 'a')", 422, 3819),
        ("SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'", 422, 1644),
    ] {
        let answer = served.sql(&format!(r#"{{"sql":"{sql}"}}"#));
        assert_eq!(answer.status, status, "{sql}: {}", answer.text());
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
        assert!(answer.text().contains(&format!("\"error_code\":{code},")), "{sql}: {}", answer.text());
    }
    let answer = served.sql(r#"{"sql":"SELECT 1","database":"missing"}"#);
    assert!([403, 404].contains(&answer.status), "{}", answer.text());
    // The statements before are done, as in MySQL's protocol.
    let answer = served.sql(r#"{"sql":"INSERT INTO d.t VALUES (3, 'c'); SELECT x; SELECT 1"}"#);
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("\"statement\":2}"), "{}", answer.text());
    assert!(served.sql(r#"{"sql":"SELECT COUNT(*) FROM d.t"}"#).text().contains("[[2]]"));
    for body in ["", "nonsense", "[]", "{\"sql\":1}", "{\"sql\":\"SELECT 1\",\"other\":1}"] {
        assert_eq!(served.sql(body).status, 400, "{body}");
    }
}

#[test]
fn there_are_not_too_many_parameters() {
    let served = Served::start();
    let body = format!(r#"{{"sql":"SELECT 1","params":[{}0]}}"#, "0,".repeat(65_535));
    let answer = served.sql(&body);
    assert_eq!(answer.status, 400);
    assert!(answer.text().contains("\"error_code\":1390"), "{}", answer.text());
    let long = format!(r#"{{"sql":"SELECT LENGTH(?), ?","params":["{}",[1, {{"a":2.50}}]]}}"#, "x".repeat(100_000));
    let answer = served.sql(&long);
    assert!(answer.text().contains(r#"[[100000,"[1,{\"a\":2.50}]"]]"#), "{}", answer.text());
}
