//! HTTP_GET() and related functions with a web server that gives good and bad answers.

mod endpoints;
mod https;

use mysql::prelude::Queryable as _;
use mysql::{Conn, Value};
use squall_test_support::server::TestServer;
use squall_test_support::web_peer::WebPeer;
use std::path::Path;
use std::time::{Duration, Instant};

/// A server that may reach its own machine, a web server, and a client of the former.
fn start() -> (TestServer, WebPeer, Conn) {
    let server = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    let mut conn = server.connect();
    conn.query_drop("SET GLOBAL http_client_allow_private = ON").unwrap();
    (server, WebPeer::start(), conn)
}

fn value(conn: &mut Conn, sql: &str) -> String {
    let row: Option<mysql::Row> = conn.query_first(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    match row.and_then(|row| row.get(0)) {
        Some(Value::Bytes(bytes)) => String::from_utf8(bytes).expect("text"),
        Some(Value::NULL) => "NULL".to_string(),
        other => format!("{other:?}"),
    }
}

/// Code and message of a statement that must fail.
fn error(conn: &mut Conn, sql: &str) -> (u16, String) {
    match conn.query_drop(sql) {
        Err(mysql::Error::MySqlError(error)) => (error.code, error.message),
        other => panic!("{sql}: {other:?}"),
    }
}

#[test]
fn bodies_of_rows_are_their_own() {
    let (_server, peer, mut conn) = start();
    assert_eq!(value(&mut conn, &format!("SELECT HTTP_GET('{}')", peer.url("/hello"))), "hello");
    conn.query_drop("CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, url TEXT)").unwrap();
    for id in 0..6 {
        conn.query_drop(format!("INSERT INTO t VALUES ({id}, '{}')", peer.url(&format!("/row/{id}")))).unwrap();
    }
    conn.query_drop("INSERT INTO t VALUES (6, NULL)").unwrap();
    let before = peer.requests();
    let rows: Vec<(u32, Option<String>)> = conn.query("SELECT id, HTTP_GET(url) FROM t ORDER BY id").unwrap();
    let expected: Vec<_> = (0..6).map(|id| (id, Some(format!("row {id}")))).chain([(6, None)]).collect();
    assert_eq!(rows, expected);
    assert_eq!(peer.requests() - before, 6, "once for each row");
    assert!((2..=4).contains(&peer.most_running()), "{} at once", peer.most_running());
    // A call with constant arguments is one call for each row, too.
    let before = peer.requests();
    let rows: Vec<String> = conn.query(format!("SELECT HTTP_GET('{}') FROM t", peer.url("/hello"))).unwrap();
    assert_eq!((rows.len(), peer.requests() - before), (7, 7));
    let before = peer.requests();
    let sql = format!("SELECT id, (SELECT HTTP_GET('{}')) FROM t", peer.url("/hello"));
    assert_eq!(conn.query::<(u32, String), _>(sql).unwrap().len(), 7);
    assert_eq!(peer.requests() - before, 1, "a scalar subquery is evaluated once");
    // Rows that are not shown are not asked for, nor are branches that are not taken.
    let before = peer.requests();
    conn.query_drop("SELECT HTTP_GET(url) FROM t LIMIT 1").unwrap();
    conn.query_drop("SELECT id, IF(id = 2, HTTP_GET(url), 0) FROM t").unwrap();
    conn.query_drop("SELECT id FROM t WHERE id = 1 AND HTTP_GET(url) = 'row 1'").unwrap();
    assert_eq!(peer.requests() - before, 3);
    // Changes of rows, and the statement's own life: the second row's failure fails it, no row is asked for twice.
    conn.query_drop("CREATE TABLE u (id INT, body TEXT)").unwrap();
    let before = peer.requests();
    conn.query_drop("INSERT INTO u SELECT id, HTTP_GET(url) FROM t").unwrap();
    conn.query_drop("UPDATE u SET body = HTTP_GET(CONCAT((SELECT url FROM t WHERE id = 0))) WHERE id = 3").unwrap();
    assert_eq!(peer.requests() - before, 7);
    assert_eq!(value(&mut conn, "SELECT GROUP_CONCAT(body ORDER BY id) FROM u"), "row 0,row 1,row 2,row 0,row 4,row 5");
    conn.query_drop(format!("UPDATE t SET url = '{}' WHERE id = 1", peer.url("/short"))).unwrap();
    let before = peer.requests();
    assert_eq!(error(&mut conn, "SELECT HTTP_GET(url) FROM t").0, 50410);
    assert!(peer.requests() - before <= 6, "{} requests", peer.requests() - before);
}

#[test]
fn requests_say_what_was_asked_for() {
    let (_server, peer, mut conn) = start();
    let echo = peer.url("/echo?a=1");
    let text = value(&mut conn, &format!("SELECT HTTP_POST('{echo}', 'a=1')"));
    assert!(text.starts_with("POST /echo?a=1 HTTP/1.1\n") && text.ends_with("\n\na=1"), "{text}");
    assert!(text.contains("content-type: application/x-www-form-urlencoded\n"), "{text}");
    assert!(text.contains("user-agent: squall/") && text.contains("content-length: 3\n"), "{text}");
    let text = value(&mut conn, &format!("SELECT HTTP_POST('{echo}', '<a/>', 'text/xml')"));
    assert!(text.contains("content-type: text/xml\n"), "{text}");
    let text = value(&mut conn, &format!("SELECT HTTP_POST('{echo}', NULL)"));
    assert!(text.contains("content-length: 0\n") && text.ends_with("\n\n"), "{text}");
    let text = value(&mut conn, &format!("SELECT HTTP_PUT('{echo}', JSON_OBJECT('a', '☃'))"));
    assert!(
        text.starts_with("PUT ") && text.contains("application/json") && text.ends_with("{\"a\": \"☃\"}"),
        "{text}"
    );
    let options = r#"{"headers": {"X-One": ["1", "2"], "Accept": "a/b"}, "user": "ann", "password": "s:ecret"}"#;
    let text = value(&mut conn, &format!("SELECT HTTP_PATCH('{echo}', 'b', 'c/d', '{options}')"));
    assert!(
        text.starts_with("PATCH ") && text.contains("x-one: 1\nx-one: 2\n") && text.contains("accept: a/b\n"),
        "{text}"
    );
    assert!(text.contains("authorization: Basic YW5uOnM6ZWNyZXQ=\n"), "{text}");
    let text = value(&mut conn, &format!(r#"SELECT HTTP_DELETE('{echo}', '{{"bearer": "tok"}}')"#));
    assert!(text.starts_with("DELETE ") && text.contains("authorization: Bearer tok\n"), "{text}");
    let text = value(&mut conn, &format!("SELECT HTTP_GET('{}')", echo.replace("http://", "http://ann:p%40ss@")));
    assert!(text.contains("authorization: Basic YW5uOnBAc3M=\n"), "{text}");
    let text = value(&mut conn, &format!("SELECT HTTP_GET('{}')", echo.replace("http://", "")));
    assert!(text.starts_with("GET /echo?a=1 "), "{text}");
    let body = format!(r#"JSON_OBJECT('url', '{echo}', 'method', 'post', 'body', JSON_ARRAY(1, '𝄢'))"#);
    let text = value(&mut conn, &format!("SELECT JSON_VALUE(HTTP_REQUEST({body}), '$.body' RETURNING CHAR)"));
    assert!(text.contains("content-type: application/json\n") && text.ends_with("[1, \"𝄢\"]"), "{text}");
    conn.query_drop("SET @b = X'00ff0d0a'").unwrap();
    assert_eq!(
        value(&mut conn, &format!("SELECT HEX(RIGHT(HTTP_POST('{echo}', @b, 'a/b', '{{\"as\": \"binary\"}}'), 4))")),
        "00FF0D0A"
    );
}

#[test]
fn answers_are_values() {
    let (_server, peer, mut conn) = start();
    let get = |path: &str| format!("HTTP_GET('{}')", peer.url(path));
    let with = |path: &str, options: &str| format!("HTTP_GET('{}', '{options}')", peer.url(path));
    assert_eq!(value(&mut conn, &format!("SELECT {}", get("/status/404"))), "status 404");
    let (code, message) = error(&mut conn, &format!("SELECT {}", with("/status/404", r#"{"fail_on_status": true}"#)));
    assert_eq!((code, message.as_str()), (50412, "http_get: the answer has status 404"));
    assert_eq!(value(&mut conn, &format!("SELECT {}", get("/latin1"))), "café");
    assert_eq!(value(&mut conn, &format!("SELECT LENGTH({})", get("/packed"))), "700");
    assert_eq!(error(&mut conn, &format!("SELECT {}", get("/binary"))).0, 50410);
    assert_eq!(value(&mut conn, &format!("SELECT HEX({})", with("/binary", r#"{"as": "binary"}"#))), "00FFFE80");
    let request = |path: &str| format!("HTTP_REQUEST(JSON_OBJECT('url', '{}'))", peer.url(path));
    let status = format!("SELECT JSON_VALUE({}, '$.status')", request("/status/404"));
    assert_eq!(value(&mut conn, &status), "404");
    let names = value(&mut conn, &format!("SELECT JSON_KEYS({})", request("/hello")));
    assert_eq!(names, r#"["url", "body", "status", "headers", "redirects", "elapsed_ms", "content_type"]"#);
    let sql = format!(
        "SELECT CONCAT_WS(' ', r->>'$.status', r->>'$.url', r->>'$.redirects', r->>'$.body', r->>'$.content_type') FROM (SELECT {} r) d",
        request("/to?/hello")
    );
    assert_eq!(value(&mut conn, &sql), format!("200 {} 1 hello text/plain", peer.url("/hello")));
    assert_eq!(value(&mut conn, &format!("SELECT JSON_VALUE({}, '$.body_base64')", request("/binary"))), "AP/+gA==");
    let head = format!("HTTP_HEAD('{}')", peer.url("/echo"));
    assert_eq!(
        value(&mut conn, &format!("SELECT JSON_EXTRACT({head}, '$.status', '$.headers.\"x-two\"')")),
        r#"[200, ["1", "2"]]"#
    );
    // A redirect that changes the method, one that does not, and one that is not followed.
    let post = |path: &str| format!("SELECT HTTP_POST('{}', 'body')", peer.url(path));
    assert!(value(&mut conn, &post("/moved?302/echo")).starts_with("GET /echo "));
    assert!(value(&mut conn, &post("/moved?307/echo")).starts_with("POST /echo "));
    assert_eq!(
        value(
            &mut conn,
            &format!(
                "SELECT JSON_VALUE(HTTP_REQUEST(JSON_OBJECT('redirects', 0, 'url', '{}')), '$.status')",
                peer.url("/loop")
            )
        ),
        "302"
    );
    // Credentials stay with the origin.
    let other = WebPeer::start();
    let options = r#"{"bearer": "tok", "headers": {"X-Api-Key": "k", "Accept": "a/b"}}"#;
    let text = value(&mut conn, &format!("SELECT {}", with(&format!("/to?{}", other.url("/echo")), options)));
    assert!(!text.contains("tok") && !text.contains("api-key") && text.contains("accept: a/b"), "{text}");
    let text = value(&mut conn, &format!("SELECT {}", with("/to?/echo", options)));
    assert!(text.contains("Bearer tok") && text.contains("x-api-key: k"), "{text}");
}

#[test]
fn peers_that_misbehave_are_cut_off() {
    let (server, peer, mut conn) = start();
    let unreachable = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let cases = [
        (peer.url("/silent"), "no whole answer within 700 ms"),
        (peer.url("/drip"), "no whole answer within 700 ms"),
        (peer.url("/endless"), "the body has more than 16777216 bytes"),
        (peer.url("/bomb"), "the body has more than 16777216 bytes"),
        (peer.url("/endless_head"), "the answer is no HTTP"),
        (peer.url("/garbage"), "the answer is no HTTP"),
        (peer.url("/short"), "the connection was closed before the answer was whole"),
        (peer.url("/loop"), "more than 5 redirects"),
        (format!("http://{unreachable}/"), "the connection failed: connection refused"),
        ("http://name.invalid/".to_string(), "the name of the host has no address"),
        (peer.url("/hello").replace("http:", "https:"), "TLS: "),
    ];
    let memory = server.resident_bytes();
    for (url, expected) in cases {
        // A busy machine takes its time to make a bomb.
        let millis = if expected.ends_with("700 ms") { 700 } else { 15_000 };
        conn.query_drop(format!("SET http_client_timeout_ms = {millis}")).unwrap();
        let begun = Instant::now();
        let (code, message) = error(&mut conn, &format!("SELECT HTTP_GET('{url}')"));
        assert_eq!(code, 50410, "{url}: {message}");
        if expected.contains("MiB") || !url.contains("endless_head") {
            assert!(message.starts_with(&format!("http_get: {expected}")), "{url}: {message}");
        }
        let most = Duration::from_secs(if millis == 700 { 5 } else { 20 });
        assert!(begun.elapsed() < most, "{url}: {:?}", begun.elapsed());
        assert_eq!(value(&mut conn, "SELECT 'usable'"), "usable");
    }
    if let (Some(before), Some(after)) = (memory, server.resident_bytes()) {
        assert!(after < before + (150 << 20), "{before} → {after}");
    }
}

#[test]
fn connections_that_are_not_made_are_given_up() {
    let (_server, _peer, mut conn) = start();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    // As good as no room for connections that are not accepted: the system answers no more of them.
    rustix::net::listen(&listener, 0).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting = Vec::new();
    while let Ok(stream) = std::net::TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
        waiting.push(stream);
        assert!(waiting.len() < 100, "the listener takes them all");
    }
    conn.query_drop("SET http_client_connect_timeout_ms = 300").unwrap();
    let begun = Instant::now();
    let (code, message) = error(&mut conn, &format!("SELECT HTTP_GET('http://{address}/')"));
    let elapsed = begun.elapsed();
    assert_eq!(code, 50410, "{message}");
    assert!((Duration::from_millis(250)..Duration::from_secs(5)).contains(&elapsed), "{message}: {elapsed:?}");
}

#[test]
fn rules_take_effect_at_once() {
    let (_server, peer, mut conn) = start();
    let sql = format!("SELECT HTTP_GET('{}')", peer.url("/hello"));
    let redirect = |to: &str| format!("SELECT HTTP_GET('{}')", peer.url(&format!("/to?{to}")));
    assert_eq!(value(&mut conn, &sql), "hello");
    let refused = |by: &str| (50411, format!("http_get: the destination is refused by {by}"));
    // The connection of before is no way around.
    conn.query_drop("SET GLOBAL http_client_allow_private = OFF").unwrap();
    assert_eq!(error(&mut conn, &sql), refused("http_client_allow_private"));
    conn.query_drop("SET GLOBAL http_client_allow_private = ON, http_client_deny = '127.0.0.0/8'").unwrap();
    assert_eq!(error(&mut conn, &sql), refused("http_client_deny"));
    conn.query_drop("SET GLOBAL http_client_deny = '', http_client_allow = '*.example.com, 10.0.0.0/8'").unwrap();
    assert_eq!(error(&mut conn, &sql), refused("http_client_allow"));
    conn.query_drop(format!("SET GLOBAL http_client_allow = '127.0.0.1:{}'", peer.port())).unwrap();
    assert_eq!(value(&mut conn, &sql), "hello");
    // Each hop is checked.
    let other = WebPeer::start();
    assert_eq!(error(&mut conn, &redirect(&other.url("/hello"))), refused("http_client_allow"));
    assert_eq!(error(&mut conn, &redirect("file:///etc/passwd")).0, 50411);
    // What cannot be read is refused, and what held before goes on to hold.
    for scope in ["GLOBAL", "PERSIST", "PERSIST_ONLY"] {
        assert_eq!(error(&mut conn, &format!("SET {scope} http_client_allow = 'a b'")).0, 1231, "{scope}");
    }
    assert_eq!(error(&mut conn, &redirect(&other.url("/hello"))), refused("http_client_allow"));
    assert_eq!(other.requests(), 0);
}

#[test]
fn kill_and_time_out_end_requests_at_once() {
    let (server, peer, mut conn) = start();
    conn.query_drop("SET http_client_timeout_ms = 60000").unwrap();
    let sql = format!("SELECT HTTP_GET('{}')", peer.url("/silent"));
    let id = conn.connection_id();
    let mut observer = server.connect();
    // The best of some, for busy machines: only a wait for the peer would be long each time.
    let mut shortest = Duration::MAX;
    for time in 1..=5 {
        let sql = sql.clone();
        let statement = std::thread::spawn(move || (error(&mut conn, &sql), Instant::now(), conn));
        while peer.requests() < time {
            std::thread::sleep(Duration::from_millis(5));
        }
        let killed = Instant::now();
        observer.query_drop(format!("KILL QUERY {id}")).unwrap();
        let ((code, _), ended, again) = statement.join().unwrap();
        assert_eq!(code, 1317);
        shortest = shortest.min(ended - killed);
        conn = again;
    }
    assert!(shortest < Duration::from_millis(100), "{shortest:?}");
    let begun = Instant::now();
    let timed = format!("SELECT /*+ MAX_EXECUTION_TIME(200) */ HTTP_GET('{}')", peer.url("/silent"));
    assert_eq!(error(&mut conn, &timed).0, 3024);
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    assert_eq!(
        value(
            &mut conn,
            "SELECT COUNT(*) FROM data_dictionary.http_client_requests WHERE error_number IN (1317, 3024)"
        ),
        "6"
    );
}

#[test]
fn answers_are_rows() {
    let (_server, peer, mut conn) = start();
    peer.set_page(r#"[{"id": 1, "name": "ann"}, {"id": 2, "name": "bob"}]"#);
    let url = peer.url("/page");
    let columns = "'$[*]' COLUMNS (id INT PATH '$.id', name VARCHAR(10) PATH '$.name')";
    let sql = format!("SELECT GROUP_CONCAT(id, name ORDER BY id) FROM JSON_TABLE(HTTP_GET('{url}'), {columns}) AS j");
    assert_eq!(value(&mut conn, &sql), "1ann,2bob");
    let lateral = format!(
        "SELECT COUNT(*) FROM (SELECT '{url}' AS u UNION ALL SELECT '{url}') AS t, JSON_TABLE(HTTP_GET(t.u), {columns}) AS j"
    );
    assert_eq!(value(&mut conn, &lateral), "4");
}

#[test]
fn nothing_is_sent_without_an_execution() {
    let (server, peer, mut conn) = start();
    let url = peer.url("/hello");
    let call = format!("HTTP_GET('{url}')");
    conn.query_drop(format!("PREPARE p FROM \"SELECT {call}\"")).unwrap();
    conn.query_drop(format!("EXPLAIN SELECT {call}")).unwrap();
    conn.query_drop(format!("EXPLAIN FORMAT=TREE SELECT {call}")).unwrap();
    conn.query_drop("CREATE DATABASE d; USE d").unwrap();
    conn.query_drop(format!("CREATE VIEW v AS SELECT {call} AS body")).unwrap();
    conn.query_drop("CREATE TABLE t (id INT PRIMARY KEY, body TEXT) PARTITION BY HASH (id) PARTITIONS 2").unwrap();
    conn.query_drop(format!("EXPLAIN SELECT * FROM t WHERE id = {call}")).unwrap();
    conn.query_drop(format!("EXPLAIN UPDATE t SET body = {call}")).unwrap();
    let statement = conn.prep(format!("SELECT {call}, ?")).unwrap();
    assert_eq!(peer.requests(), 0);
    let row: Option<(String, u32)> = conn.exec_first(&statement, (7,)).unwrap();
    assert_eq!((row, peer.requests()), (Some(("hello".to_string(), 7)), 1));
    conn.query_drop("EXECUTE p").unwrap();
    conn.query_drop("EXECUTE p").unwrap();
    conn.query_drop("SELECT * FROM v").unwrap();
    conn.query_drop(format!("EXPLAIN ANALYZE SELECT {call}")).unwrap();
    assert_eq!(peer.requests(), 5);
    // Triggers make requests only where somebody has said so.
    conn.query_drop("CREATE FUNCTION f() RETURNS TEXT READS SQL DATA RETURN (SELECT body FROM v)").unwrap();
    conn.query_drop(format!("CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.body = {call}")).unwrap();
    assert_eq!(error(&mut conn, "INSERT INTO t (id) VALUES (1)").0, 50411);
    conn.query_drop("DROP TRIGGER g; CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.body = f()").unwrap();
    assert_eq!(error(&mut conn, "INSERT INTO t (id) VALUES (1)").0, 50411);
    assert_eq!((value(&mut conn, "SELECT f()"), peer.requests()), ("hello".to_string(), 6));
    conn.query_drop("SET GLOBAL http_client_in_triggers = ON").unwrap();
    conn.query_drop("INSERT INTO t (id) VALUES (1), (2)").unwrap();
    assert_eq!((value(&mut conn, "SELECT GROUP_CONCAT(body) FROM t"), peer.requests()), ("hello,hello".to_string(), 8));
    // A routine runs with its definer's privilege, not its caller's.
    conn.query_drop("CREATE USER ann; GRANT SELECT, EXECUTE ON d.* TO ann").unwrap();
    conn.query_drop("CREATE FUNCTION k(u TEXT) RETURNS TEXT DETERMINISTIC RETURN HTTP_GET(u)").unwrap();
    conn.query_drop("CREATE FUNCTION i(u TEXT) RETURNS TEXT DETERMINISTIC SQL SECURITY INVOKER RETURN HTTP_GET(u)")
        .unwrap();
    let mut ann =
        squall_test_support::server::connect_as("ann", "127.0.0.1", server.port(), Duration::from_secs(10)).unwrap();
    assert_eq!(error(&mut ann, &format!("SELECT {call}")).0, 1227);
    assert_eq!(error(&mut ann, &format!("SELECT d.i('{url}')")).0, 1227);
    assert_eq!(value(&mut ann, &format!("SELECT d.k('{url}')")), "hello");
    conn.query_drop("GRANT HTTP_CLIENT ON *.* TO ann").unwrap();
    assert_eq!(value(&mut ann, &format!("SELECT {call}")), "hello");
    conn.query_drop("REVOKE HTTP_CLIENT ON *.* FROM ann").unwrap();
    assert_eq!(error(&mut ann, &format!("SELECT {call}")).0, 1227);
}

#[test]
fn requests_are_noted_without_secrets() {
    let (server, peer, mut conn) = start();
    let url = peer.url("/hello?token=secret").replace("http://", "http://ann:secret@");
    conn.query_drop(format!("SELECT HTTP_GET('{url}')")).unwrap();
    let sql = "SELECT CONCAT_WS(' ', method, url, status, response_bytes, redirects, function_name, user) FROM data_dictionary.http_client_requests";
    assert_eq!(value(&mut conn, sql), format!("GET {}?… 200 5 0 http_get root@localhost", peer.url("/hello")));
    let (_, message) = error(&mut conn, &format!("SELECT HTTP_GET('{}')", url.replace("hello", "short")));
    assert!(!message.contains("secret"), "{message}");
    conn.query_drop("SET GLOBAL http_client_log = OFF").unwrap();
    conn.query_drop(format!("SELECT HTTP_GET('{url}')")).unwrap();
    assert_eq!(value(&mut conn, "SELECT COUNT(*) FROM data_dictionary.http_client_requests"), "2");
    conn.query_drop("CREATE USER bob; GRANT SELECT ON data_dictionary.* TO bob").unwrap();
    let mut bob =
        squall_test_support::server::connect_as("bob", "127.0.0.1", server.port(), Duration::from_secs(10)).unwrap();
    assert_eq!(value(&mut bob, "SELECT COUNT(*) FROM data_dictionary.http_client_requests"), "0");
}

#[test]
fn the_last_thousand_requests_are_kept() {
    let (_server, peer, mut conn) = start();
    conn.query_drop("SET cte_max_recursion_depth = 2000, http_client_row_parallelism = 16").unwrap();
    let sql = |from: u32, to: u32| {
        format!(
            "WITH RECURSIVE n AS (SELECT {from} AS i UNION ALL SELECT i + 1 FROM n WHERE i < {to}) \
             SELECT SUM(LENGTH(HTTP_GET(CONCAT('{}', i)))) FROM n",
            peer.url("/row/")
        )
    };
    let kept = "SELECT CONCAT_WS(' ', COUNT(*), MIN(id), MAX(id)) FROM data_dictionary.http_client_requests";
    conn.query_drop(sql(1, 999)).unwrap();
    assert_eq!(value(&mut conn, kept), "999 1 999");
    conn.query_drop(sql(1000, 1250)).unwrap();
    assert_eq!(value(&mut conn, kept), "1000 251 1250");
    let newest = "SELECT COUNT(*) FROM data_dictionary.http_client_requests WHERE url LIKE '%/row/1___'";
    assert_eq!(value(&mut conn, newest), "251");
}

#[test]
fn rows_are_asked_for_as_many_at_once_as_the_variable_says() {
    let (_server, _peer, mut conn) = start();
    conn.query_drop("CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY)").unwrap();
    conn.query_drop("INSERT INTO t VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9), (10), (11)").unwrap();
    for parallelism in [1, 4, 8] {
        let peer = WebPeer::start();
        conn.query_drop(format!("SET http_client_row_parallelism = {parallelism}")).unwrap();
        let rows: Vec<(u32, String)> = conn
            .query(format!(
                "SELECT id, HTTP_GET(CONCAT('{}', IF(id % 2, '/pause/60', '/pause/20'))) FROM t ORDER BY id",
                peer.url("")
            ))
            .unwrap();
        assert_eq!(rows, (0..12).map(|id| (id, "paused".to_string())).collect::<Vec<_>>());
        assert_eq!(peer.most_running(), parallelism, "{parallelism} at once");
    }
    let (code, _) = error(&mut conn, "SET http_client_row_parallelism = 'many'");
    assert_eq!(code, 1232);
}

#[test]
fn requests_at_once_are_bounded() {
    let (server, peer, mut conn) = start();
    conn.query_drop("SET GLOBAL http_client_max_concurrent = 2").unwrap();
    let others: Vec<_> = (0..6)
        .map(|_| {
            let (mut conn, url) = (server.connect(), peer.url("/pause/100"));
            std::thread::spawn(move || value(&mut conn, &format!("SELECT HTTP_GET('{url}')")))
        })
        .collect();
    for other in others {
        assert_eq!(other.join().unwrap(), "paused");
    }
    assert_eq!(peer.most_running(), 2);
    // The wait for others counts in the request's own time.
    let holders: Vec<_> = (0..2)
        .map(|_| {
            let (mut conn, url) = (server.connect(), peer.url("/pause/3000"));
            std::thread::spawn(move || value(&mut conn, &format!("SELECT HTTP_GET('{url}')")))
        })
        .collect();
    std::thread::sleep(Duration::from_millis(500));
    conn.query_drop("SET http_client_timeout_ms = 300").unwrap();
    assert_eq!(error(&mut conn, &format!("SELECT HTTP_GET('{}')", peer.url("/hello"))).0, 50410);
    holders.into_iter().for_each(|holder| assert_eq!(holder.join().unwrap(), "paused"));
}

/// Files that the server itself has written come back, in each format.
fn files_are_loaded_by_format(conn: &mut Conn, folder: &Path, load: &dyn Fn(&str, &str) -> String) {
    for format in ["PARQUET", "NDJSON", "CSV"] {
        let file = folder.join(format).display().to_string();
        conn.query_drop(format!(
            "SELECT 1 AS id, 'one' AS body UNION SELECT 2, NULL INTO OUTFILE '{file}' FORMAT {format}"
        ))
        .unwrap();
        conn.query_drop(load(&format!("/file?{file}"), &format!("FORMAT {format}"))).unwrap();
        assert_eq!(value(conn, "SELECT GROUP_CONCAT(id, IFNULL(body, '-') ORDER BY id) FROM t"), "1one,2-");
        conn.query_drop("TRUNCATE t").unwrap();
    }
}

#[test]
fn tables_are_loaded_from_urls() {
    let folder = tempfile::tempdir().unwrap();
    let (_default, peer, _) = start();
    let secure = format!("--secure-file-priv={}", folder.path().display());
    let server = TestServer::start_with_arguments(Path::new(env!("CARGO_BIN_EXE_squall")), &[&secure]);
    let mut conn = server.connect();
    conn.query_drop("CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, body VARCHAR(40))").unwrap();
    let load = |path: &str, clauses: &str| format!("LOAD DATA FROM URL '{}' INTO TABLE t {clauses}", peer.url(path));
    let fields = "FIELDS TERMINATED BY ','";
    assert_eq!(
        error(&mut conn, &load("/csv/3", fields)),
        (50411, "load data: the destination is refused by http_client_allow_private".to_string())
    );
    conn.query_drop("SET GLOBAL http_client_allow_private = ON, http_client_max_bytes = 100").unwrap();
    conn.query_drop("SET http_client_max_bytes = 100").unwrap();
    // 100,000 rows are more than a part, and go around the transaction.
    for (path, rows) in [
        ("/csv/0", 0),
        ("/csv/3", 3),
        ("/csv/100000", 100_000),
        ("/gz/50000", 50_000),
        ("/zst/50000", 50_000),
        ("/gz2/3", 3),
        ("/to?/gz/2", 2),
    ] {
        conn.query_drop(load(path, fields)).unwrap();
        assert_eq!(conn.affected_rows(), rows, "{path}");
        let expected = format!("{rows} {}", if rows == 0 { 0 } else { rows - 1 });
        assert_eq!(
            value(
                &mut conn,
                "SELECT CONCAT(COUNT(*), ' ', IFNULL(MAX(id), 0)) FROM t WHERE body = CONCAT('text ', id)"
            ),
            expected
        );
        conn.query_drop("TRUNCATE t").unwrap();
    }
    files_are_loaded_by_format(&mut conn, folder.path(), &load);
    // Failures leave nothing.
    conn.query_drop("SET http_client_timeout_ms = 500").unwrap();
    for (path, code) in
        [("/status/404", 50412), ("/short", 50410), ("/silent", 50410), ("/loop", 50410), ("/garbage", 50410)]
    {
        assert_eq!(error(&mut conn, &load(path, fields)).0, code, "{path}");
        assert_eq!(error(&mut conn, &load(path, "FORMAT CSV")).0, code, "{path}");
    }
    conn.query_drop("SET http_client_load_max_bytes = 1000000, http_client_timeout_ms = 20000").unwrap();
    for path in ["/endless", "/bomb", "/csv/100000", "/gz/100000", "/gz2/100000"] {
        let (code, message) = error(&mut conn, &load(path, fields));
        assert_eq!((code, message.as_str()), (50410, "load data: the body has more than 1000000 bytes"), "{path}");
    }
    assert_eq!(value(&mut conn, "SELECT COUNT(*) FROM t"), "0");
    let noted = "SELECT CONCAT_WS(' ', function_name, url, status, response_bytes > 0) FROM data_dictionary.http_client_requests \
                 WHERE url LIKE '%/csv/3' AND error_number IS NULL";
    assert_eq!(value(&mut conn, noted), format!("load data {} 200 1", peer.url("/csv/3")));
    // Both privileges, and KILL.
    conn.query_drop("CREATE USER ann; GRANT SELECT ON d.* TO ann").unwrap();
    let mut ann =
        squall_test_support::server::connect_as("ann", "127.0.0.1", server.port(), Duration::from_secs(10)).unwrap();
    ann.query_drop("USE d").unwrap();
    let before = peer.requests();
    assert_eq!(error(&mut ann, &load("/csv/3", fields)).0, 1142);
    conn.query_drop("GRANT INSERT ON d.* TO ann").unwrap();
    assert_eq!(error(&mut ann, &load("/csv/3", fields)).0, 1227);
    assert_eq!(error(&mut ann, &load("/csv/3", "FORMAT CSV")).0, 1227);
    assert_eq!(peer.requests(), before);
    conn.query_drop("GRANT HTTP_CLIENT ON *.* TO ann").unwrap();
    ann.query_drop(load("/csv/3", fields)).unwrap();
    let id = ann.connection_id();
    let sql = load("/drip", fields);
    let statement = std::thread::spawn(move || error(&mut ann, &sql));
    while peer.requests() == before + 1 {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::sleep(Duration::from_millis(100));
    conn.query_drop(format!("KILL QUERY {id}")).unwrap();
    assert_eq!(statement.join().unwrap().0, 1317);
    assert_eq!(value(&mut conn, "SELECT COUNT(*) FROM t"), "3");
}

/// What a peer packs into one part comes out in many: neither memory nor the client's threads are the peer's.
#[test]
fn bombs_take_no_memory() {
    let (mut server, peer, mut conn) = start();
    conn.query_drop("SET PERSIST_ONLY query_memory_limit = 67108864").unwrap();
    server.terminate();
    server.restart();
    let mut conn = server.connect();
    conn.query_drop("SET GLOBAL http_client_allow_private = ON").unwrap();
    conn.query_drop("CREATE DATABASE d; USE d; CREATE TABLE t (id INT, body LONGTEXT)").unwrap();
    conn.query_drop("SET http_client_load_max_bytes = 1000000000, http_client_timeout_ms = 30000").unwrap();
    let before = server.resident_bytes();
    for path in ["/blocks", "/blocks/encoded"] {
        let (code, message) = error(&mut conn, &format!("LOAD DATA FROM URL '{}' INTO TABLE t", peer.url(path)));
        assert_eq!(code, 1041, "{path}: {message}");
    }
    let (code, message) = error(&mut conn, &format!("SELECT HTTP_GET('{}')", peer.url("/blocks/encoded")));
    assert_eq!((code, message.as_str()), (50410, "http_get: the body has more than 16777216 bytes"));
    if let (Some(before), Some(after)) = (before, server.resident_bytes()) {
        assert!(after < before + (300 << 20), "{before} → {after}");
    }
    assert_eq!(value(&mut conn, "SELECT COUNT(*) FROM t"), "0");
}

#[test]
fn sessions_do_not_wait_for_requests_of_others() {
    let (server, peer, mut conn) = start();
    conn.query_drop("SET GLOBAL http_client_timeout_ms = 60000").unwrap();
    // Some on each event loop.
    let mut observers: Vec<Conn> = (0..8).map(|_| server.connect()).collect();
    conn.query_drop(
        "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, body TEXT); INSERT INTO t VALUES (1, '')",
    )
    .unwrap();
    conn.query_drop("CREATE PROCEDURE p(u TEXT) BEGIN DECLARE b TEXT; SET b = HTTP_GET(u); SELECT b; END").unwrap();
    conn.query_drop("CREATE PROCEDURE q(u TEXT) BEGIN IF HTTP_GET(u) = 'a' THEN SELECT 1; END IF; END").unwrap();
    conn.query_drop("CREATE FUNCTION f(u TEXT) RETURNS TEXT DETERMINISTIC RETURN HTTP_GET(u)").unwrap();
    let url = format!("'{}'", peer.url("/silent"));
    let statements = [
        format!("SELECT HTTP_GET({url})"),
        format!("SELECT HTTP_GET({url}) FROM t WHERE id = 1"),
        format!("SELECT id FROM t WHERE id = 1 AND HTTP_GET({url}) = ''"),
        format!("SELECT id FROM t ORDER BY HTTP_GET(CONCAT({url}, body)) LIMIT 1"),
        format!("SELECT MAX(HTTP_GET({url})) FROM t GROUP BY id HAVING COUNT(*) > 0"),
        format!("DO HTTP_GET({url})"),
        format!("SET @a = HTTP_GET({url})"),
        format!("INSERT INTO t VALUES (2, HTTP_GET({url}))"),
        format!("INSERT INTO t VALUES (1, '') ON DUPLICATE KEY UPDATE body = HTTP_GET({url})"),
        format!("UPDATE t SET body = HTTP_GET({url}) WHERE id = 1"),
        format!("DELETE FROM t WHERE id = 1 AND HTTP_GET({url}) = ''"),
        format!("CALL p({url})"),
        format!("CALL q({url})"),
        format!("CALL p(HTTP_GET({url}))"),
        format!("SELECT f({url})"),
        format!("BEGIN NOT ATOMIC IF HTTP_GET({url}) = '' THEN SELECT 1; END IF; END"),
    ];
    for sql in statements {
        let mut other = server.connect();
        other.query_drop("USE d").unwrap();
        let (id, before, text) = (other.connection_id(), peer.requests(), sql.clone());
        let waiting = std::thread::spawn(move || error(&mut other, &text));
        let begun = Instant::now();
        while peer.requests() == before {
            assert!(begun.elapsed() < Duration::from_secs(30), "{sql}: no request");
            std::thread::sleep(Duration::from_millis(2));
        }
        for observer in &mut observers {
            assert_eq!(value(observer, "SELECT body FROM d.t WHERE id = 1"), "", "{sql}");
        }
        conn.query_drop(format!("KILL QUERY {id}")).unwrap();
        assert_eq!(waiting.join().unwrap().0, 1317, "{sql}");
        assert_eq!(peer.requests() - before, 1, "{sql}");
    }
}
