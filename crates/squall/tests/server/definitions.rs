//! Definitions beside other statements: a waiting statement uses the current table of its name, no acknowledged row is lost, and a
//! statement that meets a definition gets MySQL's error.

use super::{connect, error, run, start, value, wait_until};
use squall_client::{Client, ClientError};
use squall_test_support::SetOnDrop;
use squall_test_support::server::TestServer;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Enough for a copy to take longer than some inserts.
const ROWS: u64 = 30_000;
/// Tables that each maker of the stress test makes and drops.
const TABLES: u64 = 60;

fn in_database(server: &TestServer) -> Client {
    let mut client = connect(server);
    run(&mut client, "USE d");
    client
}

fn altering(client: &mut Client) -> String {
    value(client, "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'ALTER%'")
}

/// `first` and `second` wait behind an UPDATE for the same table; rows are inserted from its end on until both are done. All that
/// were acknowledged are there, by every way to them.
fn definitions_in_line(engine: &str, first: &str, second: &str) {
    let server = start();
    let mut a = connect(&server);
    run(&mut a, "CREATE DATABASE d; USE d; SET SESSION cte_max_recursion_depth = 1000000");
    run(
        &mut a,
        &format!("CREATE TABLE t (id BIGINT AUTO_INCREMENT PRIMARY KEY, a INT, b INT, KEY (a)) ENGINE={engine}"),
    );
    let numbers = format!("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})");
    run(&mut a, &format!("INSERT INTO t (a, b) {numbers} SELECT i, i FROM n"));
    run(&mut a, "BEGIN; UPDATE t SET a = a + 1 WHERE id = 1");
    let (done, acknowledged) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let end = SetOnDrop(&done);
        let mut waiting = Vec::new();
        for (at, statement) in [first, second].into_iter().enumerate() {
            let server = &server;
            waiting.push(scope.spawn(move || run(&mut in_database(server), statement)));
            wait_until("a definition that waits", || altering(&mut a) == (at + 1).to_string());
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
        run(&mut a, "COMMIT");
        scope.spawn(|| {
            let mut client = in_database(&server);
            while !done.load(Ordering::Acquire) {
                match client.run("INSERT INTO t (a, b) VALUES (-1, -1)") {
                    Ok(_) => _ = acknowledged.fetch_add(1, Ordering::AcqRel),
                    // Where the table has another name now.
                    Err(ClientError::Server(error)) if error.code == 1146 => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
        waiting.into_iter().for_each(|thread| thread.join().expect("a definition"));
        drop(end);
    });
    let table = value(&mut a, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'd'");
    let expected = (ROWS + acknowledged.load(Ordering::Acquire)).to_string();
    assert_eq!(value(&mut a, &format!("SELECT COUNT(*) FROM {table}")), expected, "{engine}: {first}; {second}");
    let inserted = acknowledged.load(Ordering::Acquire).to_string();
    let keys =
        value(&mut a, "SELECT COUNT(DISTINCT index_name) FROM information_schema.statistics WHERE table_schema = 'd'");
    assert!(keys.parse::<u32>().is_ok_and(|keys| keys >= 2), "{keys}");
    for column in ["a", "b"] {
        let sql = format!("SELECT COUNT(*) FROM {table} WHERE {column} = -1");
        assert_eq!(value(&mut a, &sql), inserted, "{engine}: {first}; {second}: by {column}");
    }
    let check = a.run(&format!("CHECK TABLE {table}")).expect("a check");
    let last = check[0].1.last().and_then(|row| row[3].clone());
    assert_eq!(last.as_deref(), Some(b"OK".as_slice()), "{check:?}");
}

#[test]
fn a_second_change_of_a_column_copies_what_was_inserted_after_the_first() {
    definitions_in_line("InnoDB", "ALTER TABLE t MODIFY a BIGINT", "ALTER TABLE t MODIFY b BIGINT");
}

#[test]
fn a_second_change_of_a_column_table_copies_what_was_inserted_after_the_first() {
    definitions_in_line("COLUMN", "ALTER TABLE t MODIFY a BIGINT", "ALTER TABLE t MODIFY b BIGINT");
}

#[test]
fn a_key_that_waited_for_a_copy_has_all_rows() {
    definitions_in_line("InnoDB", "ALTER TABLE t MODIFY a BIGINT", "ALTER TABLE t ADD KEY second (b)");
}

#[test]
fn a_new_name_that_waited_for_a_copy_is_that_of_the_copy() {
    definitions_in_line("InnoDB", "ALTER TABLE t MODIFY a BIGINT", "ALTER TABLE t RENAME TO renamed");
}

#[test]
fn a_change_of_engine_that_waited_takes_all_rows_along() {
    definitions_in_line("InnoDB", "ALTER TABLE t MODIFY a BIGINT", "ALTER TABLE t ENGINE=COLUMN");
    definitions_in_line("COLUMN", "ALTER TABLE t ENGINE=InnoDB", "ALTER TABLE t ADD KEY second (b)");
}

/// What statements that meet a definition may say: the table is not there, or not as it was, or there is one already.
const EXPECTED: [u16; 5] = [1050, 1051, 1146, 1412, 3572];

#[test]
fn readers_and_writers_beside_definitions_meet_no_internal_error() {
    let server = start();
    run(&mut connect(&server), "CREATE DATABASE d");
    let done = [const { AtomicBool::new(false) }; 2];
    let surprises = no_surprises();
    std::thread::scope(|scope| {
        for maker in 0..2 {
            let (server, done, surprises) = (&server, &done, &surprises);
            scope.spawn(move || {
                let _end = SetOnDrop(&done[maker]);
                let mut client = in_database(server);
                let engine = ["InnoDB", "COLUMN"][maker];
                for round in 0..TABLES {
                    let name = format!("t{maker}");
                    for statement in [
                        format!(
                            "CREATE TABLE {name} (id INT AUTO_INCREMENT PRIMARY KEY, a INT, KEY (a)) ENGINE={engine}"
                        ),
                        format!("INSERT INTO {name} (a) VALUES (1), (2), (3)"),
                        match round % 3 {
                            0 => format!("TRUNCATE TABLE {name}"),
                            1 => format!("ALTER TABLE {name} MODIFY a BIGINT"),
                            _ => format!("ALTER TABLE {name} ADD KEY second (a, id)"),
                        },
                        format!("DROP TABLE {name}"),
                    ] {
                        ask(&mut client, &statement, surprises);
                    }
                }
            });
        }
        for reader in 0..3 {
            let (server, done, surprises) = (&server, &done, &surprises);
            scope.spawn(move || {
                let mut client = in_database(server);
                let statements: &[&str] = match reader {
                    0 => &[
                        "SELECT COUNT(table_rows), SUM(data_length) FROM information_schema.tables WHERE table_schema = 'd'",
                        "SELECT COUNT(cardinality) FROM information_schema.statistics",
                        "SHOW TABLE STATUS FROM d",
                        "SHOW INDEX FROM t0",
                        "SELECT COUNT(*) FROM information_schema.files",
                    ],
                    1 => &[
                        "SELECT COUNT(*), SUM(a) FROM t0",
                        "SELECT * FROM t1 WHERE id = 1",
                        "SELECT t0.a FROM t0 JOIN t1 USING (id) ORDER BY t0.a",
                        "CHECK TABLE t0, t1",
                        "SHOW CREATE TABLE t1",
                        "ANALYZE TABLE t0, t1",
                    ],
                    _ => &[
                        "INSERT INTO t0 (a) VALUES (7)",
                        "UPDATE t1 SET a = a + 1 WHERE id < 3",
                        "DELETE FROM t0 WHERE id = 2",
                        "INSERT INTO t1 (a) SELECT a FROM t0",
                        "SELECT * FROM t0 WHERE id = 1 FOR UPDATE",
                        "OPTIMIZE TABLE t1",
                    ],
                };
                while !done.iter().all(|done| done.load(Ordering::Acquire)) {
                    statements.iter().for_each(|statement| ask(&mut client, statement, surprises));
                }
            });
        }
    });
    let surprises = surprises.into_inner().expect("no panic");
    assert!(surprises.is_empty(), "{surprises:#?}");
}

fn no_surprises() -> std::sync::Mutex<Vec<String>> {
    std::sync::Mutex::default()
}

fn ask(client: &mut Client, statement: &str, surprises: &std::sync::Mutex<Vec<String>>) {
    match client.run(statement) {
        Ok(_) => {}
        Err(ClientError::Server(error)) if EXPECTED.contains(&error.code) => {}
        Err(error) => surprises.lock().expect("no panic").push(format!("{statement}: {error}")),
    }
}

#[test]
fn lock_tables_locks_what_the_name_stands_for_when_it_is_had() {
    let server = start();
    let mut a = connect(&server);
    run(&mut a, "CREATE DATABASE d; USE d; CREATE TABLE t (id INT PRIMARY KEY, a INT); INSERT INTO t VALUES (1, 1)");
    run(&mut a, "BEGIN; UPDATE t SET a = 2");
    std::thread::scope(|scope| {
        let alter = scope.spawn(|| run(&mut in_database(&server), "ALTER TABLE t MODIFY a BIGINT"));
        wait_until("a definition that waits", || altering(&mut a) == "1");
        std::thread::sleep(std::time::Duration::from_millis(200));
        let lock = scope.spawn(|| {
            let mut client = in_database(&server);
            run(&mut client, "LOCK TABLES t WRITE");
            client
        });
        std::thread::sleep(std::time::Duration::from_millis(300));
        run(&mut a, "COMMIT");
        alter.join().expect("the definition");
        let _locked = lock.join().expect("the lock");
        run(&mut a, "SET lock_wait_timeout = 1, innodb_lock_wait_timeout = 1");
        assert!(error(&mut a, "UPDATE t SET a = 3").contains("1205"));
    });
}
