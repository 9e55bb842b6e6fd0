//! Statements that are stopped by KILL, by a time limit, or because the client is gone; and clients that do not read.

use super::{ENDLESS, connect, error, run, start, value, wait_until};
use squall_client::{Client, ClientError};
use squall_test_support::server::TestServer;
use squall_wire::constants::command_code;

/// Statements that do not end by themselves, one for each kind of work.
const LONG: &[(&str, &str)] = &[
    ("a join", ENDLESS),
    (
        "a sort",
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \
                SELECT a.i FROM n a, n b, n c, n d ORDER BY RAND() LIMIT 1",
    ),
    (
        "a group",
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \
                 SELECT MAX(x) FROM (SELECT a.i + b.i AS x, COUNT(*) FROM n a, n b, n c, n d GROUP BY x) g",
    ),
    (
        "a window",
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \
                  SELECT SUM(x) FROM (SELECT ROW_NUMBER() OVER (ORDER BY a.i) AS x FROM n a, n b, n c, n d) w",
    ),
    (
        "a correlated subquery",
        "SELECT COUNT(*) FROM t a WHERE (SELECT COUNT(*) FROM t b, t c, t d WHERE b.id > a.id AND \
                               c.id > b.id AND d.id + a.id + b.id + c.id < 0) > 0",
    ),
    (
        "recursion",
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i > 0) SELECT COUNT(*) FROM n",
    ),
    ("SLEEP in rows", "SELECT SLEEP(100) FROM t"),
    ("an INSERT", "INSERT INTO u SELECT a.id FROM t a, t b, t c, t d WHERE a.id + b.id + c.id + d.id < 0"),
    ("SLEEP in a row that is inserted", "INSERT INTO u VALUES (SLEEP(1000))"),
    ("SLEEP in a row that is changed", "UPDATE t SET id = 5000 + SLEEP(1000) WHERE id = 1"),
    (
        "an UPDATE",
        "WITH n AS (SELECT id FROM t) \
         UPDATE t SET id = id + 10000 WHERE (SELECT COUNT(*) FROM n b, n c, n d WHERE b.id + c.id + d.id < 0) > 0",
    ),
    ("a DELETE", "DELETE a FROM t a, t b, t c, t d WHERE a.id + b.id + c.id + d.id < 0"),
    (
        "CREATE TABLE … SELECT",
        "CREATE TABLE w AS SELECT a.id FROM t a, t b, t c, t d WHERE a.id + b.id + c.id + d.id < 0",
    ),
    ("a program", "BEGIN NOT ATOMIC l: LOOP ITERATE l; END LOOP; END"),
    ("DO", "DO (SELECT COUNT(*) FROM t a, t b, t c, t d WHERE a.id + b.id + c.id + d.id < 0)"),
    ("SET", "SET @a = (SELECT COUNT(*) FROM t a, t b, t c, t d WHERE a.id + b.id + c.id + d.id < 0)"),
    ("EXPLAIN ANALYZE", "EXPLAIN ANALYZE SELECT COUNT(*) FROM t a, t b, t c, t d WHERE a.id + b.id + c.id + d.id < 0"),
];

fn thousand_rows(client: &mut Client) {
    run(client, "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE u (id INT)");
    let rows: Vec<String> = (1..=1000).map(|id| format!("({id})")).collect();
    run(client, &format!("INSERT INTO t VALUES {}", rows.join(",")));
    run(client, "SET GLOBAL cte_max_recursion_depth = 1000000000");
}

fn in_database(server: &TestServer) -> Client {
    let mut client = connect(server);
    run(&mut client, "USE d");
    client
}

/// Waits until a connection runs a statement.
fn wait_for_statement(observer: &mut Client, id: u32) {
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND command = 'Query' AND info IS NOT NULL"
    );
    wait_until("the statement runs", || value(observer, &sql) == "1");
}

#[test]
fn kill_query_ends_the_statement_and_not_the_connection() {
    let server = start();
    let mut observer = connect(&server);
    thousand_rows(&mut observer);
    for (what, sql) in LONG {
        let mut victim = in_database(&server);
        victim.query(sql).expect("sent");
        wait_for_statement(&mut observer, victim.connection_id());
        run(&mut observer, &format!("KILL QUERY {}", victim.connection_id()));
        match victim.next_result().and_then(|_| victim.next_row()) {
            Err(ClientError::Server(error)) => {
                assert_eq!(error.to_string(), "ERROR 1317 (70100): Query execution was interrupted", "{what}")
            }
            other => panic!("{what}: {other:?}"),
        }
        assert_eq!(value(&mut victim, "SELECT COUNT(*) FROM t"), "1000", "{what}");
        assert_eq!(value(&mut victim, "SELECT COUNT(*) FROM u"), "0", "{what}");
    }
}

#[test]
fn long_statements_leave_room_for_others() {
    let server = start();
    let mut observer = connect(&server);
    thousand_rows(&mut observer);
    run(&mut observer, "CREATE TABLE l (id INT PRIMARY KEY); INSERT INTO l VALUES (1)");
    let mut owner = in_database(&server);
    run(&mut owner, "BEGIN; UPDATE l SET id = 2");
    let waiting = [("a lock", "SELECT * FROM l FOR UPDATE"), ("GET_LOCK", "SELECT GET_LOCK('l', 100)")];
    run(&mut owner, "DO GET_LOCK('l', 0)");
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    for (what, sql) in LONG.iter().chain(&waiting) {
        let busy: Vec<Client> = (0..2 * threads)
            .map(|_| {
                let mut client = in_database(&server);
                client.query(sql).expect("sent");
                client
            })
            .collect();
        for client in &busy {
            wait_for_statement(&mut observer, client.connection_id());
        }
        assert_eq!(value(&mut observer, "SELECT COUNT(*) FROM t a JOIN t b ON a.id = b.id + 1"), "999", "{what}");
        for client in &busy {
            run(&mut observer, &format!("KILL {}", client.connection_id()));
        }
    }
}

#[test]
fn kill_connection_ends_both() {
    let server = start();
    let mut observer = connect(&server);
    thousand_rows(&mut observer);
    for by_command in [false, true] {
        let mut victim = in_database(&server);
        run(&mut victim, "BEGIN; INSERT INTO u VALUES (1)");
        victim.query(ENDLESS).expect("sent");
        let id = victim.connection_id();
        wait_for_statement(&mut observer, id);
        if by_command {
            observer.simple_command(command_code::PROCESS_KILL, &id.to_le_bytes()).expect("a kill");
        } else {
            run(&mut observer, &format!("KILL {id}"));
        }
        match victim.next_result() {
            Err(ClientError::Server(error)) => assert_eq!(error.code, 1317),
            Err(_) => {}
            Ok(result) => panic!("{result:?}"),
        }
        assert!(victim.ping().is_err(), "the connection goes on");
        let sql = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id}");
        wait_until("the connection is gone", || value(&mut observer, &sql) == "0");
        assert_eq!(value(&mut observer, "SELECT COUNT(*) FROM d.u"), "0", "its transaction is rolled back");
    }
    let unknown = "ERROR 1094 (HY000): Unknown thread id: 4000000000";
    assert_eq!(error(&mut observer, "KILL 4000000000"), unknown);
    assert_eq!(error(&mut observer, "KILL QUERY 4000000000"), unknown);
}

#[test]
fn kill_reaches_a_statement_that_waits_for_a_lock() {
    let server = start();
    let mut observer = connect(&server);
    thousand_rows(&mut observer);
    let mut owner = in_database(&server);
    run(&mut owner, "BEGIN; UPDATE t SET id = 5000 WHERE id = 1");
    let mut victim = in_database(&server);
    victim.query("UPDATE t SET id = 6000 WHERE id = 1").expect("sent");
    let waits = "SHOW GLOBAL STATUS WHERE Variable_name = 'Innodb_row_lock_current_waits' AND Value = '1'";
    wait_until("the statement waits", || observer.run(waits).is_ok_and(|results| results[0].1.len() == 1));
    run(&mut observer, &format!("KILL QUERY {}", victim.connection_id()));
    match victim.next_result() {
        Err(ClientError::Server(error)) => assert_eq!(error.code, 1317),
        other => panic!("{other:?}"),
    }
    run(&mut owner, "COMMIT");
    assert_eq!(value(&mut victim, "SELECT COUNT(*) FROM t WHERE id IN (5000, 6000)"), "1");
}

#[test]
fn max_execution_time_ends_selects_only() {
    let server = start();
    let mut client = connect(&server);
    thousand_rows(&mut client);
    let expected = "ERROR 3024 (HY000): Query execution was interrupted, maximum statement execution time exceeded";
    run(&mut client, "SET max_execution_time = 100");
    assert_eq!(error(&mut client, ENDLESS), expected);
    assert_eq!(error(&mut client, "SELECT SLEEP(100) FROM t"), expected);
    // A statement that changes something is not timed.
    run(&mut client, "INSERT INTO u SELECT SLEEP(0.3)");
    run(&mut client, "SET max_execution_time = 0");
    let hint = ENDLESS.replace("SELECT COUNT(*)", "SELECT /*+ MAX_EXECUTION_TIME(100) */ COUNT(*)");
    assert_eq!(error(&mut client, &hint), expected);
    assert_eq!(value(&mut client, "SELECT COUNT(*) FROM u"), "1");
}

#[test]
fn the_statement_of_a_client_that_hangs_up_is_stopped() {
    let server = start();
    let mut observer = connect(&server);
    thousand_rows(&mut observer);
    for (what, sql) in LONG {
        let mut victim = in_database(&server);
        let id = victim.connection_id();
        victim.query(sql).expect("sent");
        wait_for_statement(&mut observer, id);
        // Some say goodbye first, which is then unread in the socket.
        if what.len() % 2 == 0 {
            victim.quit().expect("a goodbye");
        } else {
            drop(victim);
        }
        let sql = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id}");
        wait_until(&format!("{what} is stopped"), || value(&mut observer, &sql) == "0");
    }
    assert_eq!(value(&mut observer, "SELECT COUNT(*) FROM t"), "1000");
}

#[test]
fn a_client_that_reads_slowly_costs_no_memory() {
    let server = start();
    let mut observer = connect(&server);
    run(&mut observer, "SET GLOBAL net_write_timeout = 600");
    let mut slow = connect(&server);
    run(&mut slow, "SET cte_max_recursion_depth = 10000000");
    // Half a gigabyte, if it were kept.
    slow.query(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 700) \
         SELECT a.i, b.i, REPEAT('x', 1000) FROM n a, n b",
    )
    .expect("sent");
    slow.next_result().expect("columns").expect("a result set");
    for _ in 0..1000 {
        slow.next_row().expect("a row").expect("a row");
    }
    let resident = server.resident_bytes();
    // Others are served meanwhile.
    for _ in 0..50 {
        assert_eq!(value(&mut observer, "SELECT COUNT(*) FROM information_schema.processlist"), "2");
    }
    let mut rows = 1000;
    let mut most = resident.unwrap_or_default();
    while slow.next_row().expect("a row").is_some() {
        rows += 1;
        if rows % 100_000 == 0 {
            most = most.max(server.resident_bytes().unwrap_or_default());
        }
    }
    assert_eq!(rows, 700 * 700);
    assert!(most < 300 << 20, "{} MB", most >> 20);
}
