//! Statements that wait have threads, whose number is bounded: one more is refused, and none waits for ever.

use super::{connect, error, run, start, value, wait_until};
use squall_client::{Client, ClientError};
use squall_test_support::server::TestServer;

const REFUSED: &str = "ERROR 1135 (HY000): Can't create a new thread (errno 11); if you are not out of available memory, you can \
                       consult the manual for a possible OS-dependent bug";

/// Statements that wait, or may have to: for the row with the id 1, for a table, for another statement, for the time.
const WAITING: &[&str] = &[
    "UPDATE d.t SET n = n + 1 WHERE id = 1",
    "DELETE FROM d.t WHERE id = 1 AND n < 0",
    "INSERT INTO d.t VALUES (1, 1) ON DUPLICATE KEY UPDATE n = n + 1",
    "SELECT n FROM d.t WHERE id = 1 FOR UPDATE",
    "SELECT SLEEP(0.001) FROM d.t",
    "SELECT GET_LOCK('l', 1)",
    "SELECT COUNT(d.changes(id)) FROM d.t",
    "INSERT INTO d.u SELECT id FROM d.t WHERE id > 2",
    "ALTER TABLE d.u ADD COLUMN added INT",
    "CREATE OR REPLACE VIEW d.v AS SELECT id FROM d.t",
    "LOCK TABLES d.t READ",
    "UNLOCK TABLES",
    "ANALYZE TABLE d.t",
    "EXECUTE 'DO 1' CONCURRENT WAIT",
];

/// Of those the ones that wait for nothing while others only have the row.
const NEEDS_NONE: &[&str] = &["UNLOCK TABLES"];

fn with_tables(server: &TestServer) -> Client {
    let mut root = connect(server);
    run(
        &mut root,
        "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, n INT); CREATE TABLE d.u (id INT PRIMARY KEY); \
         CREATE TABLE d.noted (id INT AUTO_INCREMENT PRIMARY KEY); \
         INSERT INTO d.t VALUES (1, 0), (2, 0), (3, 0)",
    );
    run(&mut root, "CREATE FUNCTION d.changes(i INT) RETURNS INT BEGIN INSERT INTO d.noted VALUES (); RETURN i; END");
    root
}

#[test]
fn statements_that_wait_are_bounded_and_others_go_on() {
    let server = start();
    let mut root = with_tables(&server);
    run(&mut root, "SET GLOBAL thread_pool_max_threads = 2");
    let mut holder = connect(&server);
    run(&mut holder, "BEGIN; UPDATE d.t SET n = 10 WHERE id = 1");
    let waiters: Vec<_> = (0..2)
        .map(|_| {
            let mut waiter = connect(&server);
            std::thread::spawn(move || run(&mut waiter, "UPDATE d.t SET n = n + 1 WHERE id = 1"))
        })
        .collect();
    let waits = "SELECT COUNT(*) FROM performance_schema.data_locks WHERE lock_status = 'WAITING'";
    wait_until("both wait", || value(&mut root, waits) == "2");
    let mut other = connect(&server);
    for sql in WAITING.iter().filter(|sql| !NEEDS_NONE.contains(sql)) {
        assert_eq!(error(&mut other, sql), REFUSED, "{sql}");
    }
    // What waits for nothing needs no thread, and the holder can end it.
    assert_eq!(value(&mut other, "SELECT n FROM d.t WHERE id = 1"), "0");
    assert_eq!(value(&mut other, "SELECT SUM(a.n) FROM d.t a JOIN d.t b ON a.id = b.n"), "NULL");
    run(&mut other, "BEGIN; INSERT INTO d.t VALUES (4, 0); UPDATE d.t SET n = 1 WHERE id = 4; ROLLBACK");
    run(&mut holder, "UPDATE d.t SET n = 20 WHERE id = 1; COMMIT");
    for waiter in waiters {
        waiter.join().expect("it has got the row");
    }
    assert_eq!(value(&mut root, "SELECT n FROM d.t WHERE id = 1"), "22");
    for sql in WAITING {
        run(&mut other, sql);
    }
    assert_eq!(value(&mut other, "SELECT COUNT(*) FROM d.noted"), "3", "the refused statement has changed nothing");
    assert_eq!(
        value(&mut other, "SELECT CONCAT(n, ' ', @@GLOBAL.thread_pool_max_threads) FROM d.t WHERE id = 1"),
        "24 2"
    );
}

#[test]
fn statements_inside_of_others_are_refused_and_do_not_wait_for_each_other() {
    let server = start();
    let mut root = with_tables(&server);
    run(&mut root, "SET GLOBAL thread_pool_max_threads = 3");
    let clients: Vec<_> = (0..8)
        .map(|_| {
            let mut client = connect(&server);
            std::thread::spawn(move || {
                let ran =
                    (0..25).map(|_| client.run("EXECUTE 'SELECT SLEEP(0.01) FROM d.t WHERE id = 1' CONCURRENT WAIT"));
                let refused = ran.filter_map(|result| match result {
                    Ok(_) => None,
                    Err(ClientError::Server(error)) => Some(error.to_string()),
                    Err(error) => panic!("{error}"),
                });
                let refused: Vec<String> = refused.collect();
                refused.iter().for_each(|error| assert_eq!(error, REFUSED));
                refused.len()
            })
        })
        .collect();
    let refused: usize = clients.into_iter().map(|client| client.join().expect("every statement is answered")).sum();
    assert!((1..200).contains(&refused), "{refused} of 200");
    run(&mut root, "EXECUTE 'SELECT SLEEP(0.01) FROM d.t WHERE id = 1' CONCURRENT WAIT");
    assert_eq!(value(&mut root, "SELECT d.changes(7)"), "7");
}

#[test]
fn transactions_end_without_a_place() {
    let server = start();
    let mut root = with_tables(&server);
    run(&mut root, "SET GLOBAL thread_pool_max_threads = 2");
    let mut writer = connect(&server);
    run(&mut writer, "BEGIN; INSERT INTO d.t VALUES (10, 10)");
    let mut branch = connect(&server);
    run(&mut branch, "XA START 'b'; INSERT INTO d.t VALUES (11, 11); XA END 'b'");
    let mut locker = connect(&server);
    run(&mut locker, "FLUSH TABLES WITH READ LOCK");
    let sleepers: Vec<_> = (0..2)
        .map(|_| {
            let mut sleeper = connect(&server);
            std::thread::spawn(move || run(&mut sleeper, "SELECT SLEEP(5)"))
        })
        .collect();
    let mut other = connect(&server);
    wait_until("both sleep", || other.run("SELECT SLEEP(0)").is_err());
    // The branch is as it was, and the commit waits for the read lock alone.
    assert_eq!(error(&mut branch, "XA PREPARE 'b'"), REFUSED);
    let committing = std::thread::spawn(move || run(&mut writer, "COMMIT"));
    std::thread::sleep(std::time::Duration::from_millis(200));
    run(&mut locker, "UNLOCK TABLES");
    committing.join().expect("committed");
    for sleeper in sleepers {
        sleeper.join().expect("awake");
    }
    run(&mut branch, "XA PREPARE 'b'; XA COMMIT 'b'");
    assert_eq!(value(&mut root, "SELECT GROUP_CONCAT(id ORDER BY id) FROM d.t WHERE id >= 10"), "10,11");
}
