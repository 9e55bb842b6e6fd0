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

/// The end of a statement: its error, and when it came.
type Ended = (Option<u16>, Instant);

/// Starts a statement on a connection of its own, and gives its number as soon as it runs.
fn run(server: &TestServer, sql: &'static str) -> (u64, std::thread::JoinHandle<Ended>) {
    let mut client = server.connect();
    let id = client.query_first("SELECT CONNECTION_ID()").expect("a number").expect("a row");
    let thread = std::thread::spawn(move || {
        let code = error_code(client.query_drop(sql));
        let ended = Instant::now();
        // The connection goes on.
        assert_eq!(one(&mut client, "SELECT JS('1 + 1')"), "2");
        (code, ended)
    });
    let mut other = server.connect();
    let running = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id} AND (INFO LIKE '%JS(%' OR INFO LIKE 'CALL %')"
    );
    let begun = Instant::now();
    while one(&mut other, &running) != "1" {
        assert!(begun.elapsed() < Duration::from_secs(20), "{sql} does not run");
        std::thread::sleep(Duration::from_millis(5));
    }
    (id, thread)
}

/// How soon a script has to be over.
const SOON: Duration = Duration::from_millis(100);
/// Tries on a machine that may be busy with other things.
const TRIES: usize = 5;

#[test]
fn kill_stops_whatever_runs() {
    let server = server();
    let mut client = server.connect();
    client.query_drop("CREATE DATABASE d").expect("a database");
    client.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY)").expect("a table");
    client.query_drop("INSERT INTO d.t VALUES (1)").expect("a row");
    let procedures = [
        ("spins", "for (;;);"),
        ("sleeps", "try { session.sql('DO SLEEP(100)').execute() } catch (e) { } for (;;);"),
        ("asks", "for (;;) try { session.sql('SELECT SUM(id) FROM d.t').execute() } catch (e) { }"),
        ("calls", "session.sql('CALL d.sleeps()').execute()"),
        ("locks", "session.sql('SELECT id FROM d.t WHERE id = 1 FOR UPDATE').execute()"),
        ("scripts", "session.sql('SELECT JS(\"for(;;);\")').execute()"),
    ];
    for (name, body) in procedures {
        client.query_drop(format!("CREATE PROCEDURE d.{name}() LANGUAGE JAVASCRIPT AS $$ {body} $$")).expect(name);
    }
    let aggregate = "CREATE AGGREGATE FUNCTION d.endless(x INT) RETURNS INT LANGUAGE JAVASCRIPT AS $$
        function init() { return 0 } function add(s, x) { for (;;); } function merge(a, b) { } function result(s) { return s }
        $$";
    client.query_drop(aggregate).expect("an aggregate function");
    client.query_drop("SET GLOBAL javascript_memory_limit = 1 << 30").expect("SET");
    let mut holder = server.connect();
    holder.query_drop("BEGIN").expect("BEGIN");
    holder.query_drop("SELECT * FROM d.t WHERE id = 1 FOR UPDATE").expect("a lock");
    for sql in [
        "SELECT JS('for(;;);')",
        "SELECT JS('try { for(;;); } catch (e) { 1 } finally { for(;;); }')",
        "SELECT JS('/(a+)+b/.test(\"a\".repeat(50))')",
        "SELECT JS('(\"a\".repeat(2e7)).indexOf(\"a\".repeat(1e7) + \"b\")')",
        "SELECT JS('for (;;) \"x\".repeat(1e7)')",
        "SELECT JS('var a = []; for (var i = 0; i < 3e6; i++) a.push(i * 7919 % 1000003 + \"\"); for (;;) a.reverse().sort()')",
        "SELECT JS('for (;;) new Uint8Array(1e7).map((x, i) => i * 7919).sort()')",
        "DO JS('for(;;);')",
        "CALL d.spins()",
        "CALL d.sleeps()",
        "CALL d.asks()",
        "CALL d.calls()",
        "CALL d.locks()",
        "CALL d.scripts()",
        "SELECT d.endless(id) /* JS( */ FROM d.t",
    ] {
        let mut took = Duration::MAX;
        for _ in 0..TRIES {
            let (id, thread) = run(&server, sql);
            std::thread::sleep(Duration::from_millis(300));
            let killed = Instant::now();
            client.query_drop(format!("KILL QUERY {id}")).expect("KILL");
            let (code, ended) = thread.join().expect("the client");
            assert_eq!(code, Some(1317), "{sql}");
            took = took.min(ended.saturating_duration_since(killed));
            if took < SOON {
                break;
            }
        }
        assert!(took < SOON, "{sql}: {took:?}");
    }
}

/// More procedures at once than the server has threads for queries, each with statements, and scripts in those.
#[test]
fn procedures_do_not_wait_for_others() {
    let server = server();
    let mut client = server.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, n INT)",
        "INSERT INTO d.t VALUES (1, 0), (2, 0)",
        "CREATE FUNCTION d.next_js(n INT) RETURNS INT LANGUAGE JAVASCRIPT AS 'return n + 1'",
        "CREATE PROCEDURE d.inner_js(INOUT n INT) LANGUAGE JAVASCRIPT AS $$ n = session.sql('SELECT d.next_js(?) FROM d.t LIMIT 1', [n]).execute().fetchOne()[0] $$",
        "CREATE PROCEDURE d.counts(rounds INT, OUT n INT) LANGUAGE JAVASCRIPT AS $$
           session.sql('SET @n = 0').execute();
           for (let i = 0; i < rounds; i++) {
             session.sql('CALL d.inner_js(@n)').execute();
             session.sql('UPDATE d.t SET n = d.next_js(n) WHERE id = 1').execute();
           }
           n = session.sql('SELECT @n').execute().fetchOne()[0]
         $$",
    ] {
        client.query_drop(sql).expect(sql);
    }
    let begun = Instant::now();
    let threads: Vec<_> = (0..16)
        .map(|_| {
            let mut client = server.connect();
            std::thread::spawn(move || {
                client.query_drop("CALL d.counts(20, @told)").expect("CALL");
                one(&mut client, "SELECT @told")
            })
        })
        .collect();
    for thread in threads {
        assert_eq!(thread.join().expect("a client"), "20");
    }
    assert_eq!(one(&mut client, "SELECT n FROM d.t WHERE id = 1"), "320");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
}

/// A client that goes away, and a server that stops, do not leave a procedure behind.
#[test]
fn a_procedure_ends_with_its_client() {
    let mut server = server();
    let mut client = server.connect();
    client.query_drop("CREATE DATABASE d").expect("a database");
    let sends = "CREATE PROCEDURE d.sends() LANGUAGE JAVASCRIPT AS $$
        try { for (;;) session.sql('SELECT REPEAT(\"x\", 100000)').send() } catch (e) { }
        for (;;);
    $$";
    client.query_drop(sends).expect("a procedure");
    let mut leaver = server.connect();
    let id: u64 = leaver.query_first("SELECT CONNECTION_ID()").expect("a number").expect("a row");
    // One result set is read, and the others never are.
    let mut results = leaver.query_iter("CALL d.sends()").expect("CALL");
    assert!(results.next().is_some());
    std::mem::forget(results);
    drop(client);
    let mut client = server.connect();
    client.query_drop(format!("KILL {id}")).expect("KILL");
    let there = format!("SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {id}");
    let begun = Instant::now();
    while one(&mut client, &there) != "0" {
        assert!(begun.elapsed() < Duration::from_secs(10), "the procedure runs on");
        std::thread::sleep(Duration::from_millis(20));
    }
    client.query_drop("CREATE PROCEDURE d.spins() LANGUAGE JAVASCRIPT AS 'for (;;);'").expect("a procedure");
    let mut other = server.connect();
    let thread = std::thread::spawn(move || other.query_drop("CALL d.spins()"));
    std::thread::sleep(Duration::from_millis(300));
    let begun = Instant::now();
    server.terminate();
    assert!(thread.join().expect("the client").is_err());
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

/// A hundred thousand groups, and one that knows too much.
#[test]
fn groups_are_bounded() {
    let mut server = server();
    let mut client = server.connect();
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.t (id INT PRIMARY KEY, n INT)",
        "SET cte_max_recursion_depth = 1000000",
        "INSERT INTO d.t WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r LIMIT 100000) SELECT n, n FROM r",
        "CREATE AGGREGATE FUNCTION d.js_sum(x BIGINT) RETURNS BIGINT LANGUAGE JAVASCRIPT AS $$
           function init() { return 0 } function add(s, x) { return s + x } function merge(a, b) { return a + b } function result(s) { return s }
         $$",
        "CREATE AGGREGATE FUNCTION d.keeps(x INT) RETURNS INT LANGUAGE JAVASCRIPT AS $$
           function init() { return '' } function add(s, x) { return s + 'x'.repeat(5000) } function merge(a, b) { return a + b }
           function result(s) { return s.length }
         $$",
    ] {
        client.query_drop(sql).expect(sql);
    }
    let sum = "SELECT CONCAT(COUNT(*), ' ', SUM(s)) FROM (SELECT id, d.js_sum(n) AS s FROM d.t GROUP BY id) AS x";
    assert_eq!(one(&mut client, sum), "100000 5000050000");
    assert_eq!(one(&mut client, "SELECT d.js_sum(n) FROM d.t"), "5000050000");
    // A state beyond the heap, and one beyond max_allowed_packet, of one group.
    assert_eq!(error_code(client.query_drop("SELECT d.keeps(id) FROM d.t")), Some(50_401));
    assert_eq!(one(&mut client, "SELECT d.keeps(id) FROM d.t WHERE id < 100"), "495000");
    client.query_drop("SET GLOBAL max_allowed_packet = 1048576").expect("SET");
    let mut client = server.connect();
    assert_eq!(error_code(client.query_drop("SELECT d.keeps(id) FROM d.t WHERE id < 2000")), Some(1301));
    // Groups of more than all queries may have go to files, and come back.
    client.query_drop("SET PERSIST_ONLY query_memory_limit = 67108864").expect("SET");
    drop(client);
    server.terminate();
    server.restart();
    let mut client = server.connect();
    client.query_drop(
        "CREATE AGGREGATE FUNCTION d.lengths(x TEXT) RETURNS INT LANGUAGE JAVASCRIPT AS $$
           function init() { return 0 } function add(s, x) { return s + x.length } function merge(a, b) { return a + b } function result(s) { return s }
         $$",
    )
    .expect("a function");
    let sum = "SELECT CONCAT(COUNT(*), ' ', SUM(s)) FROM (SELECT id, d.lengths(REPEAT('x', 2000)) AS s FROM d.t GROUP BY id) AS x";
    assert_eq!(one(&mut client, sum), "100000 200000000");
}

/// More endless scripts than the server has threads for queries.
#[test]
fn endless_scripts_hold_no_session_up() {
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
        assert_eq!(thread.join().expect("the client").0, Some(1317));
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
    // Room for two scripts: other calls wait for them.
    client.query_drop("SET GLOBAL javascript_total_memory_limit = 3000000").expect("SET");
    let busy = "SELECT JS('var until = Date.now() + 300; while (Date.now() < until); 7')";
    let calls: Vec<_> = (0..6)
        .map(|_| {
            let mut client = server.connect();
            std::thread::spawn(move || client.query_first::<String, _>(busy))
        })
        .collect();
    for call in calls {
        assert_eq!(call.join().expect("a thread").expect("a call that waits"), Some("7".to_string()));
    }
    client.query_drop("SET GLOBAL javascript_total_memory_limit = DEFAULT").expect("SET");
    assert_eq!(one(&mut client, "SELECT JS('1')"), "1");
}

#[test]
fn routines_are_dumped_and_read_again() {
    let mut server = server();
    let mut client = server.connect();
    client.query_drop("CREATE DATABASE d").expect("a database");
    client.query_drop("USE d").expect("USE");
    let plain = "CREATE FUNCTION plain(a INT) RETURNS INT LANGUAGE JAVASCRIPT AS 'return a + 1 // it''s'";
    let tagged = "CREATE FUNCTION tagged(a TEXT) RETURNS TEXT DETERMINISTIC NO SQL COMMENT 'c' LANGUAGE JAVASCRIPT AS $x$\n  \
                  var s = \"$$\";\n  return s + a + '`\\n'.length;\n$x$";
    let procedure = "CREATE PROCEDURE doubled(a INT, OUT b INT) SQL SECURITY INVOKER LANGUAGE JAVASCRIPT AS $$ b = session.sql('SELECT 2 * ?', \
                     [a]).execute().fetchOne()[0]; $$";
    let aggregate = "CREATE AGGREGATE FUNCTION counted(a INT) RETURNS INT COMMENT 'it''s' LANGUAGE JAVASCRIPT AS $x$
        function init() { return 0; }
        function add(s, a) { return s + 1; }
        function merge(a, b) { return a + b; }
        function result(s) { return s; }
        $x$";
    for sql in [plain, tagged, procedure, aggregate] {
        client.query_drop(sql).expect(sql);
    }
    let port = server.port().to_string();
    let arguments = ["-h127.0.0.1", "-uroot", "--skip-ssl", "-P", &port];
    let dump = Command::new("mariadb-dump").args(arguments).args(["--routines", "d"]).output();
    let dump = match dump {
        Ok(dump) => dump,
        Err(error) => panic!("mariadb-dump: {error}"),
    };
    assert!(dump.status.success(), "{}", String::from_utf8_lossy(&dump.stderr));
    client.query_drop("CREATE DATABASE again").expect("a database");
    let mut reader =
        Command::new("mariadb").args(arguments).arg("again").stdin(Stdio::piped()).spawn().expect("mariadb");
    std::io::Write::write_all(&mut reader.stdin.take().expect("input"), &dump.stdout).expect("the dump");
    assert!(reader.wait().expect("mariadb").success());
    assert_eq!(one(&mut client, "SELECT CONCAT(again.plain(1), again.tagged('a'))"), "2$$a2");
    client.query_drop("CALL again.doubled(21, @b)").expect("CALL");
    assert_eq!(one(&mut client, "SELECT CONCAT(@b, again.counted(1))"), "421");
    let shown = |client: &mut mysql::Conn, name: &str| {
        client
            .query_first::<mysql::Row, _>(format!("SHOW CREATE {name}"))
            .expect("SHOW")
            .expect("a row")
            .get::<String, _>(2)
    };
    for (kind, name) in
        [("FUNCTION", "plain"), ("FUNCTION", "tagged"), ("PROCEDURE", "doubled"), ("FUNCTION", "counted")]
    {
        let shown = ["d", "again"].map(|database| shown(&mut client, &format!("{kind} {database}.{name}")));
        assert!(shown[0].is_some() && shown[0] == shown[1], "{shown:?}");
    }
    drop(client);
    server.terminate();
    server.restart();
    assert_eq!(one(&mut server.connect(), "SELECT CONCAT(again.plain(1), d.tagged('a'), again.counted(1))"), "2$$a21");
}
