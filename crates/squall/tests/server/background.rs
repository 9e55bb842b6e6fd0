//! Queued statements that the CALL runs itself: which they are, and that only their time differs.

use super::{WAIT_MAX, connect, run, value};
use squall_client::Client;
use squall_test_support::server::TestServer;
use std::path::Path;
use std::time::Instant;

const DONE_AT_ONCE: &str =
    "SELECT variable_value FROM performance_schema.global_status WHERE variable_name = 'Async_queries_done_at_once'";

fn prepared() -> (TestServer, Client) {
    let server = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    let mut client = connect(&server);
    run(
        &mut client,
        "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, n INT); INSERT INTO t VALUES (1, 0), (2, 0)",
    );
    (server, client)
}

/// Queues a statement, and waits until it has ended; whether the CALL has done it.
fn is_done_at_once(client: &mut Client, sql: &str) -> bool {
    let before = value(client, DONE_AT_ONCE);
    run(client, &format!("CALL async.queue('{sql}')"));
    let after = value(client, DONE_AT_ONCE);
    run(client, "CALL async.wait_all()");
    after != before
}

/// A worker keeps a session for as long as others like it come soon, and finds plans; on a busy machine not at the first try.
fn wait_until_done_at_once(client: &mut Client, sql: &str) {
    let begun = Instant::now();
    while !is_done_at_once(client, sql) {
        assert!(begun.elapsed() < WAIT_MAX, "{sql}");
    }
}

#[test]
fn brief_statements_are_done_by_the_call() {
    let (_server, mut client) = prepared();
    wait_until_done_at_once(&mut client, "UPDATE t SET n = n + 1 WHERE id = 1");
    wait_until_done_at_once(&mut client, "SELECT n FROM t WHERE id = 1");
    assert_eq!(value(&mut client, "SELECT state FROM async.q ORDER BY q_id DESC LIMIT 1"), "COMPLETED");
    let done = value(
        &mut client,
        "SELECT COUNT(*) FROM async.q WHERE sql_text LIKE 'UPDATE%' AND completed AND errno IS NULL",
    );
    assert_eq!(value(&mut client, "SELECT n FROM t WHERE id = 1"), done);
    // Its answer is its own, and stays.
    run(&mut client, "CALL async.queue('SELECT n FROM t WHERE id = 1')");
    run(&mut client, "UPDATE t SET n = -1 WHERE id = 1");
    assert_eq!(value(&mut client, "CALL async.wait(@query_number)"), done);
    assert_eq!(value(&mut client, "CALL async.wait(@query_number)"), done);
    // What may take long, and what sees more than its own session, is for a worker.
    for _ in 0..5 {
        for sql in ["SELECT SUM(n) FROM t", "DO 0", "SELECT n + @n FROM t WHERE id = 1", "UPDATE t SET n = n + 1"] {
            assert!(!is_done_at_once(&mut client, sql), "{sql}");
        }
    }
    run(&mut client, "CALL async.set_concurrency(1)");
    for _ in 0..5 {
        assert!(!is_done_at_once(&mut client, "SELECT n FROM t WHERE id = 1"), "one after the other");
    }
}

#[test]
fn a_session_in_which_something_is_left_is_not_used_again() {
    let (_server, mut client) = prepared();
    let mut done = |sql: &str| {
        run(&mut client, &format!("CALL async.queue(\"{sql}\")"));
        value(&mut client, "CALL async.wait(@query_number)")
    };
    for _ in 0..5 {
        assert_eq!(done("SELECT n FROM t WHERE id = 1"), "0");
        assert_eq!(done("SELECT @left := 5"), "5");
        assert_eq!(done("SELECT @left IS NULL"), "1");
        assert_eq!(done("SELECT /* a comment */ n FROM t WHERE id = 1 AND (@left := 6) = 6"), "0");
        assert_eq!(done("SELECT @left IS NULL"), "1");
    }
}

#[test]
fn what_fails_at_once_has_failed() {
    let (_server, mut client) = prepared();
    wait_until_done_at_once(&mut client, "UPDATE t SET n = 5 WHERE id = 2");
    let begun = Instant::now();
    let is_failed_at_once = |client: &mut Client| {
        let before = value(client, DONE_AT_ONCE);
        run(client, "CALL async.queue('INSERT INTO t VALUES (2, 1)')");
        let error = client.run("CALL async.wait(@query_number)").expect_err("a duplicate").to_string();
        assert!(error.contains("1062"), "{error}");
        value(client, DONE_AT_ONCE) != before
    };
    while !is_failed_at_once(&mut client) {
        assert!(begun.elapsed() < WAIT_MAX);
    }
    assert_eq!(value(&mut client, "SELECT errno FROM async.q WHERE q_id = @query_number"), "23000");
    assert_eq!(value(&mut client, "SELECT n FROM t WHERE id = 2"), "5");
}

#[test]
fn the_call_waits_for_no_lock() {
    let (server, mut client) = prepared();
    let update = "UPDATE t SET n = n + 1 WHERE id = 1";
    let n = "SELECT n FROM t WHERE id = 1";
    let mut expected = 0;
    for own in [
        ["BEGIN; SELECT * FROM t WHERE id = 1 FOR UPDATE", "ROLLBACK"],
        ["LOCK TABLES t WRITE", "UNLOCK TABLES"],
        ["LOCK TABLES t READ, t AS u READ", "UNLOCK TABLES"],
    ] {
        let [take, give] = own;
        wait_until_done_at_once(&mut client, update);
        run(&mut client, take);
        run(&mut client, &format!("CALL async.queue('{update}')"));
        run(&mut client, "SET @number = @query_number");
        assert_eq!(value(&mut client, "SELECT completed FROM async.q WHERE q_id = @number"), "0", "{take}");
        run(&mut client, give);
        run(&mut client, "CALL async.wait(@number)");
        let count = "SELECT COUNT(*) FROM async.q WHERE sql_text LIKE 'UPDATE%' AND completed";
        expected = value(&mut client, count).parse().expect("a number");
        assert_eq!(value(&mut client, n), expected.to_string(), "{take}: each is done once");
    }
    assert!(expected > 3);
    // No session is left that holds something.
    let mut other = connect(&server);
    run(&mut other, "USE d; SET lock_wait_timeout = 20; ALTER TABLE t ADD COLUMN later INT, ALGORITHM = COPY");
}

/// A change that the CALL has begun and given up is counted where it is run again.
#[test]
fn what_the_call_gives_up_is_counted_once() {
    let (server, mut client) = prepared();
    let changes = "SELECT variable_value FROM performance_schema.global_status WHERE variable_name = 'Com_update'";
    wait_until_done_at_once(&mut client, "UPDATE d.t SET n = n + 1 WHERE id = 2");
    let mut other = connect(&server);
    run(&mut other, "BEGIN; SELECT * FROM d.t WHERE id = 1 FOR UPDATE");
    let before: u64 = value(&mut client, changes).parse().expect("a number");
    run(&mut client, "CALL async.queue('UPDATE d.t SET n = n + 1 WHERE id = 1')");
    run(&mut other, "COMMIT");
    run(&mut client, "CALL async.wait_all()");
    assert_eq!(value(&mut client, "SELECT n FROM d.t WHERE id = 1"), "1");
    assert_eq!(value(&mut client, changes).parse::<u64>().expect("a number"), before + 1);
}

#[test]
fn a_callers_transaction_has_no_part_in_it() {
    let (_server, mut client) = prepared();
    let insert = |id: i32| format!("CALL async.queue('INSERT INTO t VALUES ({id}, 1)')");
    wait_until_done_at_once(&mut client, "UPDATE t SET n = 0 WHERE id = 2");
    run(&mut client, "START TRANSACTION; UPDATE t SET n = 7 WHERE id = 1");
    for id in 10..20 {
        run(&mut client, &insert(id));
    }
    run(&mut client, "CALL async.wait_all()");
    run(&mut client, "ROLLBACK");
    assert_eq!(value(&mut client, "SELECT COUNT(*) FROM t"), "12");
    assert_eq!(value(&mut client, "SELECT n FROM t WHERE id = 1"), "0");
    // The caller's own last number is not that of the queued one.
    run(&mut client, "CREATE TABLE a (id INT PRIMARY KEY AUTO_INCREMENT, n INT); INSERT INTO a (n) VALUES (1)");
    wait_until_done_at_once(&mut client, "INSERT INTO a (n) VALUES (2)");
    assert_eq!(value(&mut client, "SELECT LAST_INSERT_ID()"), "1");
}
