//! HTTP endpoints: the use of their secrets, and the places that must not show them.

use super::{error, start, value};
use mysql::prelude::Queryable as _;
use squall_test_support::server::{TestServer, connect_as};
use squall_test_support::web_peer::WebPeer;
use std::path::Path;
use std::time::Duration;

/// No statement but the one that sets it holds it.
const SECRET: &str = "hush-hush-4711";

fn lines_of(body: &str, name: &str) -> Vec<String> {
    let lines = body.lines().filter(|line| line.starts_with(&format!("{name}: ")));
    lines.map(|line| line[name.len() + 2..].to_string()).collect()
}

#[test]
fn secrets_go_to_the_endpoint_and_nowhere_else() {
    let (_server, peer, mut conn) = start();
    let other = WebPeer::start();
    let create =
        |name: &str, url: &str, rest: &str| format!("CREATE HTTP ENDPOINT {name} URL '{url}' {rest} SECRET '{SECRET}'");
    conn.query_drop(create("bearer", &peer.url("/echo"), "HEADER 'X-More: 1'")).unwrap();
    conn.query_drop(create("basic", &peer.url("/echo/"), "HEADER 'Authorization: Basic {secret_base64}'")).unwrap();
    conn.query_drop(create("keyed", &peer.url("/"), "HEADER 'X-Key: <{secret}>'")).unwrap();
    for (sql, line) in [
        ("SELECT HTTP_GET('bearer:')", "GET /echo HTTP/1.1"),
        ("SELECT HTTP_GET('bearer:?a=1')", "GET /echo?a=1 HTTP/1.1"),
        ("SELECT HTTP_GET('Bearer:/x/y?a=..')", "GET /echo/x/y?a=.. HTTP/1.1"),
        ("SELECT HTTP_POST('bearer:/x', 'a=1', NULL, '{\"headers\": {\"X-Own\": \"2\"}}')", "POST /echo/x HTTP/1.1"),
        ("SELECT HTTP_DELETE('bearer:/x')", "DELETE /echo/x HTTP/1.1"),
        (
            "SELECT JSON_VALUE(HTTP_REQUEST('{\"url\": \"bearer:/x\", \"method\": \"PUT\"}'), '$.body' RETURNING CHAR(2000))",
            "PUT /echo/x HTTP/1.1",
        ),
    ] {
        let body = value(&mut conn, sql);
        assert!(body.starts_with(line), "{sql}: {body}");
        assert_eq!(lines_of(&body, "authorization"), [format!("Bearer {SECRET}")], "{sql}");
        assert_eq!(lines_of(&body, "x-more"), ["1"], "{sql}");
    }
    let body = value(&mut conn, "SELECT HTTP_GET('basic:/')");
    assert_eq!(lines_of(&body, "authorization"), ["Basic aHVzaC1odXNoLTQ3MTE="]);
    assert_eq!(lines_of(&value(&mut conn, "SELECT HTTP_GET('keyed:/echo')"), "x-key"), [format!("<{SECRET}>")]);
    // Redirects take it along within the endpoint, and neither to another host nor out of the path.
    let to = |url: &str| format!("SELECT HTTP_GET('keyed:/to?{url}')");
    assert_eq!(lines_of(&value(&mut conn, &to("/echo")), "x-key").len(), 1);
    assert_eq!(lines_of(&value(&mut conn, &to(&other.url("/echo"))), "x-key").len(), 0);
    let back = format!("{}?{}", other.url("/to"), peer.url("/echo"));
    assert_eq!(lines_of(&value(&mut conn, &to(&back)), "x-key").len(), 0, "not on the way back either");
    conn.query_drop(create("narrow", &peer.url("/to"), "")).unwrap();
    let body = value(&mut conn, "SELECT HTTP_GET('narrow:?/echo')");
    assert_eq!((body.starts_with("GET /echo"), lines_of(&body, "authorization").len()), (true, 0));
    // The rules hold for endpoints as for any URL.
    conn.query_drop("SET GLOBAL http_client_allow_private = OFF").unwrap();
    let refused = "http_get: the destination is refused by http_client_allow_private";
    assert_eq!(error(&mut conn, "SELECT HTTP_GET('keyed:/echo')"), (50411, refused.to_string()));
}

#[test]
fn endpoints_load_tables_and_work_for_definers() {
    let (server, peer, mut conn) = start();
    conn.query_drop("CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, body VARCHAR(40))").unwrap();
    conn.query_drop(format!("CREATE HTTP ENDPOINT files URL '{}' SECRET '{SECRET}'", peer.url("/csv"))).unwrap();
    conn.query_drop("LOAD DATA FROM URL 'files:/3' INTO TABLE t FIELDS TERMINATED BY ','").unwrap();
    assert_eq!(value(&mut conn, "SELECT GROUP_CONCAT(body ORDER BY id) FROM t"), "text 0,text 1,text 2");
    // Who may not use it does by a routine of one who may.
    conn.query_drop("CREATE FUNCTION f() RETURNS TEXT READS SQL DATA RETURN HTTP_GET('files:/1')").unwrap();
    conn.query_drop("CREATE FUNCTION i() RETURNS TEXT READS SQL DATA SQL SECURITY INVOKER RETURN HTTP_GET('files:/1')")
        .unwrap();
    conn.query_drop("CREATE PROCEDURE p() SELECT HTTP_GET('files:/1')").unwrap();
    conn.query_drop("CREATE USER ann; GRANT EXECUTE, SELECT, INSERT ON d.* TO ann; GRANT HTTP_CLIENT ON *.* TO ann")
        .unwrap();
    let mut ann = connect_as("ann", "127.0.0.1", server.port(), Duration::from_secs(10)).unwrap();
    ann.query_drop("USE d").unwrap();
    let before = peer.requests();
    for sql in ["SELECT HTTP_GET('files:/1')", "SELECT i()", "LOAD DATA FROM URL 'files:/1' INTO TABLE t"] {
        assert_eq!(error(&mut ann, sql).0, 50411, "{sql}");
    }
    assert_eq!(peer.requests(), before);
    assert_eq!(value(&mut ann, "SELECT f()"), "0,text 0\n");
    assert_eq!(value(&mut ann, "CALL p()"), "0,text 0\n");
    // At once, in both directions, also for a statement that is prepared already.
    let prepared = ann.prep("SELECT HTTP_GET('files:/1')").unwrap();
    conn.query_drop("ALTER HTTP ENDPOINT files FOR ann").unwrap();
    assert_eq!(ann.exec_first::<String, _, _>(&prepared, ()).unwrap().unwrap(), "0,text 0\n");
    conn.query_drop("ALTER HTTP ENDPOINT files FOR NONE").unwrap();
    assert!(ann.exec_first::<String, _, _>(&prepared, ()).is_err());
    conn.query_drop("ALTER HTTP ENDPOINT files FOR PUBLIC; REVOKE HTTP_CLIENT ON *.* FROM ann").unwrap();
    assert_eq!(error(&mut ann, "SELECT HTTP_GET('files:/1')").0, 1227);
}

/// All texts that a server has left in files, but for those of the store.
fn written(folder: &Path, texts: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.file_type().unwrap().is_dir() {
            true => written(&entry.path(), texts),
            false => texts.push((entry.path().display().to_string(), std::fs::read(entry.path()).unwrap())),
        }
    }
}

#[test]
fn secrets_stand_in_no_log_and_no_table() {
    let server = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    let mut conn = server.connect();
    conn.query_drop("SET GLOBAL general_log = ON, slow_query_log = ON, long_query_time = 0; SET long_query_time = 0")
        .unwrap();
    conn.query_drop("UPDATE performance_schema.setup_consumers SET enabled = 'YES'").unwrap();
    let create = format!("CREATE OR REPLACE HTTP ENDPOINT e URL 'https://example.com' SECRET '{SECRET}'");
    let quoted = create.replace('\'', "''");
    conn.query_drop(&create).unwrap();
    conn.query_drop(format!("ALTER HTTP ENDPOINT e SECRET '{SECRET}'")).unwrap();
    conn.query_drop(format!("PREPARE s FROM '{quoted}'; EXECUTE s")).unwrap();
    conn.query_drop(format!("EXECUTE IMMEDIATE '{quoted}'")).unwrap();
    conn.query_drop(format!("EXECUTE '{quoted}'")).unwrap();
    conn.query_drop(format!("SELECT EXECUTE('{quoted}')")).unwrap();
    conn.query_drop(format!("EXECUTE '{quoted}' CONCURRENT WAIT")).unwrap();
    conn.query_drop(format!("EXECUTE '{quoted}' CONCURRENT")).unwrap();
    conn.query_drop(format!("CALL async.queue('{quoted}')")).unwrap();
    conn.query_drop("CALL async.wait_all()").unwrap();
    conn.exec_drop(&create, ()).unwrap();
    assert_eq!(error(&mut conn, &format!("ALTER HTTP ENDPOINT e HEADER 'X-Token: {SECRET}'")).0, 1210);
    let (code, message) = error(&mut conn, &format!("SET GLOBAL http_client_proxy = 'http://u:{SECRET}@proxy:1'"));
    assert!(code == 1231 && !message.contains(SECRET), "{message}");
    let unreadable = format!("CREATE HTTP ENDPOINT e URL 'https://example.com' COLOUR 'red' SECRET '{SECRET}'");
    assert_eq!(error(&mut conn, &unreadable).0, 1064);
    assert_eq!(error(&mut conn, &format!("EXECUTE '{}'", unreadable.replace('\'', "''"))).0, 1064);
    // Tables that hold texts of statements.
    let tables: Vec<(String, String, String)> = conn
        .query(
            "SELECT table_schema, table_name, GROUP_CONCAT(CONCAT('`', column_name, '`')) FROM information_schema.columns \
             WHERE table_schema IN ('performance_schema', 'information_schema', 'data_dictionary', 'mysql', 'sys', 'async') \
             AND data_type IN ('varchar', 'text', 'longtext', 'mediumtext', 'char', 'json', 'blob', 'longblob') GROUP BY 1, 2",
        )
        .unwrap();
    assert!(tables.len() > 50, "{tables:?}");
    let half = &SECRET[..9];
    let other_half = &SECRET[9..];
    for (database, table, columns) in tables {
        let sql = format!(
            "SELECT COUNT(*) FROM `{database}`.`{table}` WHERE CONCAT_WS(' ', {columns}) LIKE CONCAT('%{half}', '{other_half}%')"
        );
        let count = conn.query_first::<u64, _>(&sql);
        assert!(matches!(count, Ok(Some(0)) | Err(_)), "{database}.{table}: {count:?}");
    }
    assert!(!value(&mut conn, "SHOW CREATE HTTP ENDPOINT e").contains(SECRET));
    std::thread::sleep(Duration::from_millis(500));
    let mut files = Vec::new();
    written(&server.data_directory(), &mut files);
    let logs: Vec<_> = files.into_iter().filter(|(name, _)| name.ends_with(".log") || name.contains("/log")).collect();
    assert!(
        logs.iter().any(|(_, bytes)| bytes.windows(13).any(|part| part == b"HTTP ENDPOINT")),
        "no log has the statements"
    );
    for (name, bytes) in logs {
        assert!(!bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()), "{name}");
    }
    assert!(!server.log().contains(SECRET));
}

#[test]
fn endpoints_survive_a_kill() {
    let (mut server, peer, mut conn) = start();
    conn.query_drop("SET PERSIST http_client_allow_private = ON").unwrap();
    conn.query_drop(format!("CREATE HTTP ENDPOINT e URL '{}' SECRET '{SECRET}' FOR PUBLIC", peer.url("/echo")))
        .unwrap();
    conn.query_drop(format!("CREATE HTTP ENDPOINT gone URL '{}'", peer.url("/echo"))).unwrap();
    conn.query_drop("DROP HTTP ENDPOINT gone").unwrap();
    server.kill();
    server.restart();
    let mut conn = server.connect();
    assert_eq!(value(&mut conn, "SELECT GROUP_CONCAT(name) FROM data_dictionary.http_endpoints"), "e");
    assert_eq!(lines_of(&value(&mut conn, "SELECT HTTP_GET('e:')"), "authorization"), [format!("Bearer {SECRET}")]);
}
