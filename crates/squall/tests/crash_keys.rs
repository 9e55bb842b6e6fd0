//! `kill -9` at random times under writers of a table with functional keys, multi-valued keys and an index of its documents. Afterwards
//! each index finds exactly the rows that plain columns give.
//!
//! Every row has its document's values in plain columns too. `SQUALL_CRASH_ROUNDS=500` makes the long run.

use mysql::prelude::Queryable;
use squall_test_support::random::Random;
use squall_test_support::server::{self, TestServer};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const WRITERS: u64 = 3;
/// Rows have ids below this.
const ROWS: u64 = 400;
/// Values of `x` and `y` lie below this.
const VALUES: u64 = 20;

/// A table, and what its keys answer.
struct Case {
    table: &'static str,
    keys: &'static str,
    /// Conditions that a key answers, and what says the same of columns.
    same: &'static [(&'static str, &'static str)],
    /// Whether rows are sealed now and then.
    is_in_segment: bool,
}

const ROW_TABLE: Case = Case {
    table: "CREATE TABLE crash.t (id INT PRIMARY KEY, x INT, y INT, own INT, doc JSON, \
        KEY by_distance ((ABS(x - y))), \
        UNIQUE KEY by_own ((CAST(doc->'$.own' AS UNSIGNED ARRAY))), \
        KEY by_values ((CAST(doc->'$.values' AS UNSIGNED ARRAY))), \
        FULLTEXT KEY by_document (doc))",
    keys: "by_distance, by_values, by_document, by_own",
    same: &[
        ("FORCE INDEX (by_distance) WHERE ABS(x - y) = {}", "WHERE x - y = {} OR y - x = {}"),
        ("FORCE INDEX (by_values) WHERE {} MEMBER OF (doc->'$.values')", "WHERE x = {} OR y = {}"),
        ("FORCE INDEX (by_document) WHERE doc->'$.nested.x' = {}", "WHERE x = {}"),
        ("FORCE INDEX (by_own) WHERE JSON_OVERLAPS(doc->'$.own', '[{}, 1{}]')", "WHERE own IN ({}, 1{})"),
    ],
    is_in_segment: false,
};

const COLUMN_TABLE: Case = Case {
    table: "CREATE TABLE crash.t (id INT PRIMARY KEY, x INT, y INT, own INT, doc JSON, \
        KEY by_distance ((ABS(x - y))), \
        UNIQUE KEY by_own ((CAST(doc->'$.own[0]' AS UNSIGNED))), \
        UNIQUE KEY by_owns ((CAST(doc->'$.own' AS UNSIGNED ARRAY))), \
        KEY by_values ((CAST(doc->'$.values' AS UNSIGNED ARRAY))), \
        KEY by_nested ((CAST(doc->'$.nested.x' AS UNSIGNED)))) ENGINE=COLUMN",
    keys: "by_distance, by_nested, by_own, by_owns, by_values",
    same: &[
        ("WHERE ABS(x - y) = {}", "WHERE x - y = {} OR y - x = {}"),
        ("WHERE CAST(doc->'$.nested.x' AS UNSIGNED) = {}", "WHERE x = {}"),
        ("WHERE {} MEMBER OF (doc->'$.values')", "WHERE x = {} OR y = {}"),
        ("FORCE INDEX (by_owns) WHERE JSON_OVERLAPS(doc->'$.own', '[{}, 1{}]')", "WHERE own IN ({}, 1{})"),
        ("FORCE INDEX (by_own) WHERE CAST(doc->'$.own[0]' AS UNSIGNED) IN ({}, 1{})", "WHERE own IN ({}, 1{})"),
    ],
    is_in_segment: true,
};

#[test]
fn killed_servers_keep_keys_of_expressions_and_documents() {
    kill_under_writers(
        "killed_servers_keep_keys_of_expressions_and_documents",
        &ROW_TABLE,
        squall_test_support::crash_rounds(10),
    );
}

#[test]
fn killed_servers_keep_keys_of_expressions_of_column_tables() {
    kill_under_writers(
        "killed_servers_keep_keys_of_expressions_of_column_tables",
        &COLUMN_TABLE,
        squall_test_support::crash_rounds(6),
    );
}

fn kill_under_writers(test: &str, case: &Case, rounds: u64) {
    let mut server = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    let mut conn = server.connect();
    conn.query_drop("CREATE DATABASE crash").expect("a database");
    conn.query_drop(case.table).expect("a table");
    let mut random = Random::of_run(test);
    let done = Arc::new(AtomicU64::new(0));
    for round in 1..=rounds {
        let port = server.port();
        let writers: Vec<_> = (0..WRITERS)
            .map(|_| {
                let (done, random) = (done.clone(), Random::new(random.number()));
                std::thread::spawn(move || write_until_killed(port, random, &done))
            })
            .collect();
        std::thread::sleep(Duration::from_millis(50 + random.number() % 300));
        server.kill();
        for writer in writers {
            writer.join().expect("a writer's thread");
        }
        server.restart();
        check(&server, case, round);
        if case.is_in_segment && round % 2 == 0 {
            server.connect().query_drop("OPTIMIZE TABLE crash.t").expect("rows are sealed");
            check(&server, case, round);
        }
    }
    let done = done.load(Ordering::Relaxed);
    assert!(done > rounds, "too few changes ({done}) for the run to mean anything");
    println!("{rounds} kills, {done} changes");
}

/// Changes rows in transactions of a few statements until the server is gone.
fn write_until_killed(port: u16, mut random: Random, done: &AtomicU64) {
    // A duplicate of another row, a deadlock, a row that has changed since the transaction began.
    const REFUSED: [u16; 3] = [1062, 1213, 1020];
    let Ok(mut conn) = server::connect("127.0.0.1", port, Duration::from_secs(5)) else { return };
    loop {
        let [id, x, y] = [ROWS, VALUES, VALUES].map(|below| random.number() % below);
        let own = random.number() % 2000;
        let document = format!(
            "JSON_OBJECT('values', JSON_ARRAY({x}, {y}, {x}), 'own', JSON_ARRAY({own}), 'nested', JSON_OBJECT('x', {x}))"
        );
        let sql = match random.number() % 8 {
            0 => "BEGIN".to_string(),
            1 => "COMMIT".to_string(),
            2 => "ROLLBACK".to_string(),
            3 => format!("DELETE FROM crash.t WHERE {x} MEMBER OF (doc->'$.values') LIMIT 2"),
            4 => format!("UPDATE crash.t SET x = {x}, y = {y}, own = {own}, doc = {document} WHERE id = {id}"),
            5 => format!("UPDATE crash.t SET id = {id} WHERE ABS(x - y) = {x} LIMIT 1"),
            _ => format!("REPLACE INTO crash.t VALUES ({id}, {x}, {y}, {own}, {document})"),
        };
        match conn.query_drop(&sql) {
            Ok(()) => {
                done.fetch_add(1, Ordering::Relaxed);
            }
            Err(mysql::Error::MySqlError(error)) if REFUSED.contains(&error.code) => {}
            Err(mysql::Error::MySqlError(error)) => panic!("{sql}: {error}"),
            Err(_) => return,
        }
    }
}

/// Asks every key for every value.
fn check(server: &TestServer, case: &Case, round: u64) {
    let mut conn = server.connect();
    let mut ids = |from: &str, value: u64| -> Vec<u64> {
        let sql = format!("SELECT id FROM crash.t {} ORDER BY id", from.replace("{}", &value.to_string()));
        conn.query(&sql).unwrap_or_else(|error| panic!("round {round}: {sql}: {error}"))
    };
    for (by_key, by_columns) in case.same {
        for value in 0..VALUES {
            let scan = format!("IGNORE INDEX ({}) {by_columns}", case.keys);
            assert_eq!(ids(by_key, value), ids(&scan, value), "round {round}: {by_key} of {value}");
        }
    }
}
