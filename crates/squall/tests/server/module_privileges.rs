//! Each form of statement that needs the privileges of modules, as `crates/session/tests/privileges/table.rs` has for MySQL's. With
//! exactly the listed privileges it succeeds as far as possible here, and without any one of them it fails with the listed error.

use mysql::prelude::Queryable as _;
use mysql::{Conn, Error};
use squall_test_support::server::{TestServer, connect_as};
use std::path::Path;
use std::time::Duration;

/// What an account without a privilege is told.
const DENIED: u16 = 1227;
/// How far a request comes: no rule lets it through.
const BLOCKED: u16 = 50_411;

/// A statement with the privileges that it needs, and the error that it ends with all the same.
struct Row {
    sql: &'static str,
    needs: &'static [(&'static str, u16)],
    fails_with: Option<u16>,
}

const fn runs(sql: &'static str, needs: &'static [(&'static str, u16)]) -> Row {
    Row { sql, needs, fails_with: None }
}

const fn asks(sql: &'static str, needs: &'static [(&'static str, u16)]) -> Row {
    Row { sql, needs, fails_with: Some(BLOCKED) }
}

const HTTP: (&str, u16) = ("HTTP_CLIENT ON *.*", DENIED);
const JS: (&str, u16) = ("JAVASCRIPT_EXECUTE ON *.*", DENIED);
const DYNAMIC: (&str, u16) = ("DYNAMIC_EXECUTE ON *.*", DENIED);
const TOKENS: (&str, u16) = ("API_TOKEN_ADMIN ON *.*", DENIED);
const ENDPOINTS: (&str, u16) = ("HTTP_ENDPOINT_ADMIN ON *.*", DENIED);

/// What the statements find there; `of_` is somebody's who has all privileges, `by_` the caller's.
const OBJECTS: &str = "
    CREATE DATABASE d; USE d; CREATE TABLE t (id INT, body TEXT); CREATE TABLE of_t (id INT, body TEXT);
    CREATE VIEW of_http AS SELECT HTTP_GET('http://127.0.0.1/') AS body;
    CREATE SQL SECURITY INVOKER VIEW by_http AS SELECT HTTP_GET('http://127.0.0.1/') AS body;
    CREATE VIEW of_js AS SELECT JS('1 + 1') AS two; CREATE SQL SECURITY INVOKER VIEW by_js AS SELECT JS('1 + 1') AS two;
    CREATE FUNCTION of_http_f() RETURNS TEXT READS SQL DATA RETURN HTTP_GET('http://127.0.0.1/');
    CREATE FUNCTION by_http_f() RETURNS TEXT READS SQL DATA SQL SECURITY INVOKER RETURN HTTP_GET('http://127.0.0.1/');
    CREATE PROCEDURE of_http_p() SELECT HTTP_GET('http://127.0.0.1/');
    CREATE PROCEDURE by_http_p() SQL SECURITY INVOKER SELECT HTTP_GET('http://127.0.0.1/');
    CREATE FUNCTION of_js_f() RETURNS INT DETERMINISTIC RETURN JS('1 + 1');
    CREATE FUNCTION by_js_f() RETURNS INT DETERMINISTIC SQL SECURITY INVOKER RETURN JS('1 + 1');
    CREATE FUNCTION of_script(a INT) RETURNS INT LANGUAGE JAVASCRIPT DETERMINISTIC AS 'return a + 1';
    CREATE FUNCTION by_script(a INT) RETURNS INT LANGUAGE JAVASCRIPT DETERMINISTIC SQL SECURITY INVOKER AS 'return a + 1';
    CREATE PROCEDURE by_script_p() SQL SECURITY INVOKER LANGUAGE JAVASCRIPT AS 'session.sql(\"SELECT 1\").send()';
    CREATE AGGREGATE FUNCTION by_script_a(n INT) RETURNS INT SQL SECURITY INVOKER LANGUAGE JAVASCRIPT
        AS 'const init = () => 0, add = (s, n) => s + n, merge = (a, b) => a + b, result = s => s';
    CREATE PROCEDURE of_dynamic() SELECT EXECUTE('DO 1'); CREATE PROCEDURE by_dynamic() SQL SECURITY INVOKER SELECT EXECUTE('DO 1');
    CREATE TRIGGER of_trigger BEFORE INSERT ON of_t FOR EACH ROW SET NEW.body = JS('\"x\"');
    CREATE HTTP ENDPOINT e URL 'http://127.0.0.1/' FOR u; CREATE HTTP ENDPOINT nobodys URL 'http://127.0.0.1/'";

const ROWS: &[Row] = &[
    // ---- HTTP_CLIENT ----
    asks("SELECT HTTP_GET('http://127.0.0.1/')", &[HTTP]),
    asks("SELECT HTTP_POST('http://127.0.0.1/', 'a')", &[HTTP]),
    asks("SELECT HTTP_PUT('http://127.0.0.1/', 'a')", &[HTTP]),
    asks("SELECT HTTP_PATCH('http://127.0.0.1/', 'a')", &[HTTP]),
    asks("SELECT HTTP_DELETE('http://127.0.0.1/')", &[HTTP]),
    asks("SELECT HTTP_HEAD('http://127.0.0.1/')", &[HTTP]),
    asks("SELECT HTTP_REQUEST('{\"url\": \"http://127.0.0.1/\"}')", &[HTTP]),
    asks("DO HTTP_GET('http://127.0.0.1/')", &[HTTP]),
    asks("SET @a = HTTP_GET('http://127.0.0.1/')", &[HTTP]),
    asks("INSERT INTO d.t VALUES (1, HTTP_GET('http://127.0.0.1/'))", &[("INSERT ON d.t", 1142), HTTP]),
    asks("EXPLAIN ANALYZE SELECT HTTP_GET('http://127.0.0.1/')", &[HTTP]),
    runs("EXPLAIN SELECT HTTP_GET('http://127.0.0.1/')", &[]),
    runs("PREPARE s FROM 'SELECT HTTP_GET(''http://127.0.0.1/'')'", &[]),
    asks("EXECUTE s", &[HTTP]),
    asks("EXECUTE IMMEDIATE 'SELECT HTTP_GET(''http://127.0.0.1/'')'", &[HTTP]),
    asks("LOAD DATA FROM URL 'http://127.0.0.1/' INTO TABLE d.t", &[("INSERT ON d.t", 1142), HTTP]),
    asks("LOAD DATA FROM URL 'http://127.0.0.1/' INTO TABLE d.t FORMAT CSV", &[("INSERT ON d.t", 1142), HTTP]),
    // A view is part of the statement that reads it: its functions ask its reader's account.
    asks("SELECT * FROM d.of_http", &[("SELECT ON d.of_http", 1142), HTTP]),
    asks("SELECT * FROM d.by_http", &[("SELECT ON d.by_http", 1142), HTTP]),
    asks("SELECT d.of_http_f()", &[("EXECUTE ON FUNCTION d.of_http_f", 1370)]),
    asks("SELECT d.by_http_f()", &[("EXECUTE ON FUNCTION d.by_http_f", 1370), HTTP]),
    asks("CALL d.of_http_p()", &[("EXECUTE ON PROCEDURE d.of_http_p", 1370)]),
    asks("CALL d.by_http_p()", &[("EXECUTE ON PROCEDURE d.by_http_p", 1370), HTTP]),
    runs("SELECT URL_ENCODE('a b'), URL_DECODE('a%20b')", &[]),
    runs(
        "CREATE EVENT d.v ON SCHEDULE EVERY 1 YEAR DISABLE DO DO HTTP_GET('http://127.0.0.1/')",
        &[("EVENT ON d.*", 1044)],
    ),
    runs("CALL async.queue('SELECT HTTP_GET(''http://127.0.0.1/'')')", &[("EXECUTE ON PROCEDURE async.queue", 1370)]),
    // ---- endpoints ----
    asks("SELECT HTTP_GET('e:/x')", &[HTTP]),
    asks("LOAD DATA FROM URL 'e:/x' INTO TABLE d.t", &[("INSERT ON d.t", 1142), HTTP]),
    asks("SELECT HTTP_GET('nobodys:/x')", &[HTTP, ("HTTP_ENDPOINT_ADMIN ON *.*", BLOCKED)]),
    runs("SHOW HTTP ENDPOINTS", &[]),
    runs("SHOW CREATE HTTP ENDPOINT e", &[]),
    runs("SHOW CREATE HTTP ENDPOINT nobodys", &[("HTTP_ENDPOINT_ADMIN ON *.*", 50_414)]),
    runs("CREATE HTTP ENDPOINT new URL 'https://example.com' SECRET 's'", &[ENDPOINTS]),
    runs("CREATE OR REPLACE HTTP ENDPOINT new URL 'https://example.com'", &[ENDPOINTS]),
    runs("CREATE HTTP ENDPOINT IF NOT EXISTS new URL 'https://example.com'", &[ENDPOINTS]),
    runs("ALTER HTTP ENDPOINT new FOR PUBLIC", &[ENDPOINTS]),
    runs("EXECUTE IMMEDIATE 'ALTER HTTP ENDPOINT new FOR NONE'", &[ENDPOINTS]),
    runs("DROP HTTP ENDPOINT new", &[ENDPOINTS]),
    runs("DROP HTTP ENDPOINT IF EXISTS new", &[ENDPOINTS]),
    // ---- API tokens: an account's own are its own ----
    runs("CREATE API TOKEN FOR CURRENT_USER()", &[("JSON_API ON *.*", DENIED)]),
    runs("CREATE API TOKEN FOR 'root'@'localhost'", &[TOKENS]),
    runs("SHOW API TOKENS", &[]),
    runs("DROP API TOKEN IF EXISTS 'x'", &[]),
    // ---- JAVASCRIPT_EXECUTE ----
    runs("SELECT JS('1 + 1')", &[JS]),
    runs("EXPLAIN SELECT JS('1 + 1')", &[]),
    runs("PREPARE s FROM 'SELECT JS(''1 + 1'')'", &[]),
    runs("EXECUTE s", &[JS]),
    runs("INSERT INTO d.t VALUES (JS('1 + 1'), '')", &[("INSERT ON d.t", 1142), JS]),
    runs("SELECT * FROM d.of_js", &[("SELECT ON d.of_js", 1142), JS]),
    runs("SELECT * FROM d.by_js", &[("SELECT ON d.by_js", 1142), JS]),
    runs("SELECT d.of_js_f()", &[("EXECUTE ON FUNCTION d.of_js_f", 1370)]),
    runs("SELECT d.by_js_f()", &[("EXECUTE ON FUNCTION d.by_js_f", 1370), JS]),
    runs("SELECT d.of_script(1)", &[("EXECUTE ON FUNCTION d.of_script", 1370)]),
    // A stored routine in JavaScript: its creator needs the privilege, its callers do not.
    runs("SELECT d.by_script(1)", &[("EXECUTE ON FUNCTION d.by_script", 1370)]),
    runs("SELECT d.by_script_a(1)", &[("EXECUTE ON FUNCTION d.by_script_a", 1370)]),
    runs("CALL d.by_script_p()", &[("EXECUTE ON PROCEDURE d.by_script_p", 1370)]),
    runs("SELECT JS_BODY('return n', 1 AS n)", &[JS]),
    runs("INSERT INTO d.of_t (id) VALUES (1)", &[("INSERT (id) ON d.of_t", 1142)]),
    runs(
        "CREATE FUNCTION d.mine() RETURNS INT LANGUAGE JAVASCRIPT DETERMINISTIC AS 'return 1'",
        &[("CREATE ROUTINE ON d.*", 1044), JS],
    ),
    // ---- DYNAMIC_EXECUTE ----
    runs("SELECT EXECUTE('DO 1')", &[DYNAMIC]),
    runs("SELECT EXECUTE('SELECT 1 FROM d.t')", &[DYNAMIC, ("SELECT ON d.t", 1142)]),
    runs("EXPLAIN SELECT EXECUTE('DO 1')", &[]),
    runs("EXECUTE 'DO 1'", &[]),
    runs("EXECUTE 'SELECT 1 FROM d.t'", &[("SELECT ON d.t", 1142)]),
    runs("EXECUTE IMMEDIATE 'SELECT 1 FROM d.t'", &[("SELECT ON d.t", 1142)]),
    runs("EXECUTE 'DO 1' CONCURRENT", &[DYNAMIC]),
    // A text has the rights of the account that has logged in, so the privilege to run one is that account's, too.
    runs("CALL d.of_dynamic()", &[("EXECUTE ON PROCEDURE d.of_dynamic", 1370), DYNAMIC]),
    runs("CALL d.by_dynamic()", &[("EXECUTE ON PROCEDURE d.by_dynamic", 1370), DYNAMIC]),
    // ---- together ----
    runs("SELECT EXECUTE(JS('\"DO 1\"'))", &[DYNAMIC, JS]),
    asks("SELECT JS('arguments[0]', HTTP_GET('http://127.0.0.1/'))", &[HTTP]),
    asks("SELECT EXECUTE('DO HTTP_GET(''http://127.0.0.1/'')')", &[DYNAMIC, HTTP]),
];

fn try_with(root: &mut Conn, user: &mut Conn, sql: &str, grants: &[&str]) -> Result<(), (u16, String)> {
    root.query_drop("REVOKE IF EXISTS ALL PRIVILEGES, GRANT OPTION FROM u").unwrap();
    for grant in grants {
        root.query_drop(format!("GRANT {grant} TO u")).unwrap_or_else(|error| panic!("{grant}: {error}"));
    }
    match user.query_drop(sql) {
        Ok(()) => Ok(()),
        Err(Error::MySqlError(error)) => Err((error.code, error.message)),
        Err(error) => panic!("{sql}: {error}"),
    }
}

#[test]
fn statements_need_privileges_of_modules() {
    let server = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    let mut root = server.connect();
    root.query_drop("CREATE USER u").unwrap();
    root.query_drop(OBJECTS).unwrap();
    let mut user = connect_as("u", "127.0.0.1", server.port(), Duration::from_secs(10)).unwrap();
    let mut wrong = Vec::new();
    for row in ROWS {
        let all: Vec<&str> = row.needs.iter().map(|(grant, _)| *grant).collect();
        for (missing, (grant, code)) in row.needs.iter().enumerate() {
            let others: Vec<&str> =
                all.iter().enumerate().filter(|(at, _)| *at != missing).map(|(_, one)| *one).collect();
            let outcome = try_with(&mut root, &mut user, row.sql, &others);
            if outcome.as_ref().err().map(|(code, _)| *code) != Some(*code) {
                wrong.push(format!("{} without {grant}: {outcome:?} and not {code}", row.sql));
            }
        }
        let outcome = try_with(&mut root, &mut user, row.sql, &all);
        if outcome.as_ref().err().map(|(code, _)| *code) != row.fails_with {
            wrong.push(format!("{} with all privileges: {outcome:?}", row.sql));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), ROWS.len(), wrong.join("\n"));
}

#[test]
fn queued_statements_have_the_privileges_that_the_account_has_when_they_run() {
    let server = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    let mut root = server.connect();
    root.query_drop("CREATE USER u; GRANT EXECUTE ON async.* TO u").unwrap();
    let mut user = connect_as("u", "127.0.0.1", server.port(), Duration::from_secs(10)).unwrap();
    let mut ended = |sql: &str| {
        let number: u64 = user.exec_first("CALL async.queue(?)", (sql,)).unwrap().expect("its number");
        match user.query_drop(format!("CALL async.wait({number})")) {
            Err(Error::MySqlError(error)) => Some(error.code),
            other => other.map(|()| None).unwrap(),
        }
    };
    let statements = [
        ("SELECT HTTP_GET('http://127.0.0.1/')", "HTTP_CLIENT", Some(BLOCKED)),
        ("SELECT JS('1 + 1')", "JAVASCRIPT_EXECUTE", None),
        ("SELECT EXECUTE('DO 1')", "DYNAMIC_EXECUTE", None),
        ("DROP HTTP ENDPOINT IF EXISTS e", "HTTP_ENDPOINT_ADMIN", None),
    ];
    for (sql, privilege, end) in statements {
        assert_eq!(ended(sql), Some(DENIED), "{sql}");
        root.query_drop(format!("GRANT {privilege} ON *.* TO u")).unwrap();
        assert_eq!(ended(sql), end, "{sql}");
    }
}
