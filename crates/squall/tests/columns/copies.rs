//! Column copies, while the rows change.

use super::{DEFINITION_CHANGED, IN_THE_WAY, difference, run};
use mysql::Conn;
use mysql::prelude::Queryable;
use squall_test_support::random::Random;
use squall_test_support::server::TestServer;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Statements of each writer, and reads and rounds of new copies beside them.
const WRITES: u64 = 300;
const READS: u64 = 60;
const DEFINITIONS: u64 = 30;

fn connect(port: u16) -> Conn {
    let mut client =
        squall_test_support::server::connect("127.0.0.1", port, Duration::from_secs(5)).expect("a connection");
    run(&mut client, "USE d");
    client
}

fn write(port: u16, seed: u64) {
    let (mut client, mut random, mut written) = (connect(port), Random::new(seed), 0);
    for _ in 0..WRITES {
        let id = 1 + random.below(4100);
        let value = random.below(60);
        let sql = match random.below(6) {
            0 => format!("REPLACE INTO t VALUES ({id}, {value}, 's{}', 1)", value % 11),
            1 => format!("DELETE FROM t WHERE id = {id}"),
            2 => format!("UPDATE t SET w = w + 1 WHERE id BETWEEN {id} AND {id} + 20"),
            3 => format!("UPDATE t SET v = v + 1 WHERE id BETWEEN {id} AND {id} + 20"),
            4 => format!("UPDATE t SET id = id + 5000 WHERE id = {id}"),
            _ => format!("UPDATE t SET s = 'x' WHERE v = {value} AND id % 40 = {}", id % 40),
        };
        // Another writer's key or lock may be in the way.
        match client.query_drop(&sql) {
            Ok(()) => written += 1,
            Err(mysql::Error::MySqlError(error)) if IN_THE_WAY.contains(&error.code) => {}
            Err(error) => panic!("{sql}\n{error}"),
        }
    }
    assert!(written * 2 > WRITES, "only {written} of {WRITES} changes were made");
}

/// Makes and drops the copy, this many times.
fn define(port: u16, defined: &AtomicU64) {
    let mut client = connect(port);
    for _ in 0..DEFINITIONS {
        for sql in [
            "OPTIMIZE TABLE t",
            "ALTER TABLE t DROP INDEX copy, ADD COLUMNAR INDEX copy (s, v)",
            "OPTIMIZE TABLE t",
            "DROP INDEX copy ON t",
            "CREATE COLUMN INDEX copy ON t (v, s)",
        ] {
            run(&mut client, sql);
        }
        check(&mut client);
        defined.fetch_add(1, Ordering::Relaxed);
    }
}

fn check(client: &mut Conn) {
    let checked: (String, String, String, String) = client.query_first("CHECK TABLE t").unwrap().unwrap();
    assert_eq!(checked.3, "OK");
}

fn uses_copy(client: &mut Conn, query: &str) -> bool {
    let plan: Vec<mysql::Row> = client.query(format!("EXPLAIN {}", query.replace('$', "t"))).unwrap_or_default();
    plan.iter().any(|row| row.get_opt::<String, _>("key").is_some_and(|key| key.is_ok_and(|key| key == "copy")))
}

/// Asks the copy and the rows in one snapshot; whether both have answered.
fn compare(client: &mut Conn, query: &str) -> bool {
    let found = client.query::<mysql::Row, _>(query.replace('$', "t"));
    let expected = client.query::<mysql::Row, _>(query.replace('$', "t USE INDEX ()"));
    match (found, expected) {
        (Ok(found), Ok(expected)) => {
            let values = |rows: Vec<mysql::Row>| rows.into_iter().map(mysql::Row::unwrap).collect::<Vec<_>>();
            let (found, expected) = (Ok(values(found)), Ok(values(expected)));
            assert!(found == expected, "{query}\n{}", difference(&expected, &found));
            true
        }
        // A definition may be younger than the snapshot, then or a moment later.
        (found, expected) => {
            for error in [found.err(), expected.err()].iter().flatten() {
                let younger = matches!(error, mysql::Error::MySqlError(error) if error.code == DEFINITION_CHANGED);
                assert!(younger, "{query}\n{error}");
            }
            false
        }
    }
}

/// Readers of a copy of columns see what the rows are at the same time, while rows change, the copy is sealed and merged, and
/// others are made and dropped.
#[test]
fn a_copy_is_what_the_rows_are() {
    let server = TestServer::start_with_arguments(Path::new(env!("CARGO_BIN_EXE_squall")), &[]);
    let mut client = server.connect();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (id INT PRIMARY KEY, v INT, s VARCHAR(20), w INT, COLUMNAR KEY copy (v, s))",
        "SET SESSION cte_max_recursion_depth = 1000000",
        "INSERT INTO t WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < 4000) SELECT id, id % 50, CONCAT('s', id % 9), 0 FROM n",
    ] {
        run(&mut client, sql);
    }
    let port = server.port();
    let defined = Arc::new(AtomicU64::new(0));
    let mut random = Random::of_run("a_copy_is_what_the_rows_are");
    let (one, other) = (random.number(), random.number());
    let (counted, last) = (defined.clone(), defined);
    let threads = [
        std::thread::spawn(move || write(port, one)),
        std::thread::spawn(move || write(port, other)),
        std::thread::spawn(move || define(port, &counted)),
        // Copies are sealed while they are being made, too.
        std::thread::spawn(move || {
            let mut client = connect(port);
            while last.load(Ordering::Relaxed) < DEFINITIONS {
                run(&mut client, "OPTIMIZE TABLE t");
            }
        }),
    ];
    let (mut by_copy, mut compared) = (0, 0);
    for read in 0..READS {
        let query = [
            "SELECT COUNT(*), SUM(v), MIN(v), COUNT(DISTINCT s) FROM $",
            "SELECT s, COUNT(*), SUM(v) FROM $ GROUP BY s ORDER BY s",
            "SELECT id, v, s FROM $ WHERE v > 30 ORDER BY id",
        ][read as usize % 3];
        run(&mut client, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
        by_copy += u64::from(uses_copy(&mut client, query));
        compared += u64::from(compare(&mut client, query));
        run(&mut client, "COMMIT");
    }
    threads.into_iter().for_each(|thread| thread.join().expect("a client's thread"));
    assert!(by_copy > 0, "no query has used the copy");
    assert!(compared * 2 > READS, "only {compared} of {READS} answers could be compared");
    check(&mut client);
}
