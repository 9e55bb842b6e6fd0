//! Scripts in a server: limits that stop them, their isolation, and dumps of functions in JavaScript.

use mysql::prelude::Queryable;
use squall_test_support::server::{TestServer, error_code};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn server() -> TestServer {
    TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")))
}

fn one(client: &mut mysql::Conn, sql: &str) -> String {
    client.query_first::<String, _>(sql).expect(sql).expect("a row")
}

/// Starts a statement on a connection of its own, and gives its number as soon as it runs.
fn run(server: &TestServer, sql: &'static str) -> (u64, std::thread::JoinHandle<Option<u16>>) {
    let mut client = server.connect();
    let id = client.query_first("SELECT CONNECTION_ID()").expect("a number").expect("a row");
    let thread = std::thread::spawn(move || {
        let code = error_code(client.query_drop(sql));
        // The connection goes on.
        assert_eq!(one(&mut client, "SELECT JS('1 + 1')"), "2");
        code
    });
    let mut other = server.connect();
    let running = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id} AND INFO LIKE '%JS(%'");
    let begun = Instant::now();
    while one(&mut other, &running) != "1" {
        assert!(begun.elapsed() < Duration::from_secs(20), "{sql} does not run");
        std::thread::sleep(Duration::from_millis(5));
    }
    (id, thread)
}

#[test]
fn kill_stops_whatever_runs() {
    let server = server();
    let mut client = server.connect();
    for sql in [
        "SELECT JS('for(;;);')",
        "SELECT JS('try { for(;;); } catch (e) { 1 } finally { for(;;); }')",
        "SELECT JS('/(a+)+b/.test(\"a\".repeat(50))')",
        "SELECT JS('(\"a\".repeat(2e7)).indexOf(\"a\".repeat(1e7) + \"b\")')",
        "SELECT JS('for (;;) \"x\".repeat(1e7)')",
        "DO JS('for(;;);')",
    ] {
        let (id, thread) = run(&server, sql);
        std::thread::sleep(Duration::from_millis(100));
        let killed = Instant::now();
        client.query_drop(format!("KILL QUERY {id}")).expect("KILL");
        assert_eq!(thread.join().expect("the client"), Some(1317), "{sql}");
        assert!(killed.elapsed() < Duration::from_secs(2), "{sql}: {:?}", killed.elapsed());
    }
}

/// More endless scripts than the server has threads for queries.
#[test]
fn endless_scripts_hold_nobody_up() {
    let server = server();
    let mut client = server.connect();
    client.query_drop("CREATE DATABASE d").expect("a database");
    client.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, n INT)").expect("a table");
    client.query_drop("INSERT INTO d.t VALUES (1, 1), (2, 2), (3, 3)").expect("rows");
    let running: Vec<_> = (0..12).map(|_| run(&server, "SELECT JS('for(;;);')")).collect();
    client.query_drop("SET query_route = FULL_PLANNER").expect("SET");
    let begun = Instant::now();
    assert_eq!(one(&mut client, "SELECT SUM(a.n) FROM d.t a JOIN d.t b ON a.id = b.id"), "6");
    assert_eq!(one(&mut client, "SELECT JS('n + 1', n AS n) FROM d.t WHERE id = 3"), "4");
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    for (id, _) in &running {
        client.query_drop(format!("KILL QUERY {id}")).expect("KILL");
    }
    for (_, thread) in running {
        assert_eq!(thread.join().expect("the client"), Some(1317));
    }
}

#[test]
fn memory_of_all_scripts_is_bounded() {
    let server = server();
    let mut client = server.connect();
    client.query_drop("SET GLOBAL javascript_total_memory_limit = 40000000").expect("SET");
    let code = error_code(client.query_drop("SELECT JS('var a = []; for (;;) a.push(new Uint8Array(1e6))')"));
    assert_eq!(code, Some(50_401));
    let message = one(&mut client, "SELECT JS('1')");
    assert_eq!(message, "1");
    client.query_drop("SET GLOBAL javascript_total_memory_limit = 1").expect("SET");
    assert_eq!(error_code(client.query_drop("SELECT JS('1')")), Some(50_401));
    client.query_drop("SET GLOBAL javascript_total_memory_limit = DEFAULT").expect("SET");
    assert_eq!(one(&mut client, "SELECT JS('1')"), "1");
}

#[test]
fn functions_are_dumped_and_read_again() {
    let mut server = server();
    let mut client = server.connect();
    client.query_drop("CREATE DATABASE d").expect("a database");
    client.query_drop("USE d").expect("USE");
    let plain = "CREATE FUNCTION plain(a INT) RETURNS INT LANGUAGE JAVASCRIPT AS 'return a + 1 // it''s'";
    let tagged = "CREATE FUNCTION tagged(a TEXT) RETURNS TEXT DETERMINISTIC NO SQL COMMENT 'c' LANGUAGE JAVASCRIPT AS $x$\n  \
                  var s = \"$$\";\n  return s + a + '`\\n'.length;\n$x$";
    for sql in [plain, tagged] {
        client.query_drop(sql).expect(sql);
    }
    let port = server.port().to_string();
    let arguments = ["-h127.0.0.1", "-uroot", "--skip-ssl", "-P", &port];
    let dump = Command::new("mariadb-dump").args(arguments).args(["--routines", "d"]).output();
    let dump = match dump {
        Ok(dump) => dump,
        Err(_) => return eprintln!("functions_are_dumped_and_read_again: skipped, there is no mariadb-dump"),
    };
    assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
    client.query_drop("CREATE DATABASE again").expect("a database");
    let mut reader =
        Command::new("mariadb").args(arguments).arg("again").stdin(Stdio::piped()).spawn().expect("mariadb");
    std::io::Write::write_all(&mut reader.stdin.take().expect("input"), &dump.stdout).expect("the dump");
    assert!(reader.wait().expect("mariadb").success());
    assert_eq!(one(&mut client, "SELECT CONCAT(again.plain(1), again.tagged('a'))"), "2$$a2");
    let shown = |client: &mut mysql::Conn, name: &str| {
        client
            .query_first::<mysql::Row, _>(format!("SHOW CREATE FUNCTION {name}"))
            .expect("SHOW")
            .expect("a row")
            .get::<String, _>(2)
    };
    for name in ["plain", "tagged"] {
        assert_eq!(shown(&mut client, &format!("d.{name}")), shown(&mut client, &format!("again.{name}")));
    }
    drop(client);
    server.restart();
    assert_eq!(one(&mut server.connect(), "SELECT CONCAT(again.plain(1), d.tagged('a'))"), "2$$a2");
}
