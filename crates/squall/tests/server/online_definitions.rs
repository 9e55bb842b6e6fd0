//! Keys that are added, and rows that are copied, while other sessions write to the table.

use super::{connect, error, options, run, start, value, wait_until};
use squall_client::{Client, ClientError, ConnectOptions};
use squall_test_support::SetOnDrop;
use squall_test_support::random::Random;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const ROWS: usize = 20_000;
const WRITERS: usize = 4;
/// Definitions one after another.
const KEYS: [&str; 5] = [
    "ADD KEY by_a (a)",
    "ADD UNIQUE KEY by_code (code)",
    "ADD KEY by_text (t(5), a DESC)",
    "ADD FULLTEXT KEY words (t)",
    "ADD KEY two (a, code), ADD KEY again (code, a)",
];
/// These copy the rows.
const COPIES: [&str; 8] = [
    "ADD UNIQUE KEY by_code (code), ADD COLUMN n INT DEFAULT 5, ADD KEY (n)",
    "MODIFY a DECIMAL(20,2)",
    "ENGINE=InnoDB",
    "ADD COLUMN g INT AS (id % 10) STORED, ADD KEY (g)",
    "ADD CONSTRAINT positive CHECK (id > 0)",
    "DROP PRIMARY KEY, ADD PRIMARY KEY (code, id), ADD UNIQUE KEY by_id (id)",
    "DROP PRIMARY KEY, DROP KEY by_code, DROP KEY by_id, ADD PRIMARY KEY (id), PARTITION BY HASH (id) PARTITIONS 3",
    "ENGINE=COLUMN",
];

fn fill(client: &mut Client, options: &str) {
    run(client, "CREATE DATABASE IF NOT EXISTS d; USE d");
    let columns = "id BIGINT PRIMARY KEY, a INT, code VARCHAR(40) NOT NULL, t TEXT";
    run(client, &format!("CREATE TABLE t ({columns}) {options}; CREATE TABLE mirror ({columns})"));
    let rows =
        format!("SELECT seq, seq % 97, CONCAT('c', seq), CONCAT('word', seq % 31, ' and more') FROM seq_1_to_{ROWS}");
    run(client, &format!("INSERT INTO t {rows}; INSERT INTO mirror {rows}"));
}

/// Changes rows until it is told to stop, in two tables alike. Codes stay unique; a row may take over that of another.
fn write(server: &ConnectOptions, writer: usize, stop: &AtomicBool, written: &AtomicU64, is_killed: bool) {
    let mut client = Client::connect(server).expect("a connection");
    let mut random = Random::new(writer as u64 + 7);
    run(&mut client, "USE d");
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let (id, other) = (1 + random.below(ROWS as u64 + 500), 1 + random.below(ROWS as u64));
        let (code, fresh) = (format!("w{writer}-{number}"), 10_000_000 * (writer + 1) + number);
        let change = match random.below(6) {
            0 => format!("INSERT INTO T VALUES ({fresh}, {writer}, '{code}', 'new words')"),
            1 => format!("DELETE FROM T WHERE id = {id}"),
            2 => format!("UPDATE T SET a = {number}, code = '{code}' WHERE id BETWEEN {id} AND {id}"),
            3 => format!("UPDATE T SET id = {fresh} WHERE id = {id}"),
            4 => format!("REPLACE INTO T VALUES ({id}, {number}, '{code}', 'replaced by {writer}')"),
            _ => format!(
                "DELETE FROM T WHERE id = {id}; UPDATE T SET code = @code WHERE id = {other} AND @code IS NOT NULL"
            ),
        };
        let change = change.replace("INTO T VALUES", "INTO T (id, a, code, t) VALUES");
        let (table, mirror) = (change.replace(" T ", " t "), change.replace(" T ", " mirror "));
        let read = format!("SET @code = NULL; SELECT code INTO @code FROM t WHERE id = {id} FOR UPDATE");
        match client.run(&format!("BEGIN; {read}; {table}; {mirror}; COMMIT")) {
            Ok(_) => written.fetch_add(1, Ordering::Relaxed),
            // Locks of two rows in either order; a transaction that began before the definition.
            Err(ClientError::Server(error)) if [1205, 1213, 1412].contains(&error.code) => {
                // What comes of it the next statement tells.
                let _ = client.run("ROLLBACK");
                continue;
            }
            Err(_) if is_killed => return,
            Err(error) => panic!("{change}: {error}"),
        };
    }
}

fn alter_under_writers(table_options: &str, changes: &[&str]) {
    let server = start();
    let mut client = connect(&server);
    fill(&mut client, table_options);
    let (stop, written) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let _end = SetOnDrop(&stop);
        for writer in 0..WRITERS {
            let (server, stop, written) = (options(&server), &stop, &written);
            scope.spawn(move || write(&server, writer, stop, written, false));
        }
        for change in changes {
            let before = written.load(Ordering::Relaxed);
            wait_until("somebody writes", || written.load(Ordering::Relaxed) > before + 20);
            let lock = if change.contains("PARTITION") { "" } else { ", LOCK=NONE" };
            run(&mut client, &format!("ALTER TABLE t {change}{lock}"));
            assert_eq!(value(&mut client, "SELECT @@warning_count"), "0", "{change}");
        }
    });
    check_alike(&mut client);
}

/// The table has the rows of its mirror, and its indexes theirs.
fn check_alike(client: &mut Client) {
    let (_, rows) = client.run("CHECK TABLE t").expect("CHECK TABLE").remove(0);
    let last = rows.last().and_then(|row| row[3].clone()).expect("a result");
    assert_eq!(String::from_utf8_lossy(&last), "OK");
    let counts = "SELECT COUNT(*), COUNT(DISTINCT code), (SELECT COUNT(*) FROM mirror) FROM t";
    let counts = client.run(counts).expect("counts").remove(0).1.remove(0);
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
    let alike = "SELECT COUNT(*) FROM t JOIN mirror m ON m.id = t.id WHERE t.a = m.a AND t.code = m.code AND t.t = m.t";
    assert_eq!(Some(value(client, alike).into_bytes()), counts[0]);
}

/// Definitions that a killed server was in the middle of.
const REPEATED: [&str; 8] = [
    "ADD KEY by_a (a)",
    "ADD UNIQUE KEY by_code (code)",
    "MODIFY a BIGINT",
    "DROP KEY by_a",
    "ADD KEY by_a (a, code)",
    "DROP KEY by_code, DROP KEY by_a",
    "MODIFY a INT",
    "ENGINE=InnoDB",
];

#[test]
fn killed_servers_have_what_was_committed_beside_definitions() {
    let mut server = start();
    fill(&mut connect(&server), "");
    let mut random = Random::of_run("killed_servers_have_what_was_committed_beside_definitions");
    for round in 0..squall_test_support::crash_rounds(6) as usize {
        let to = options(&server);
        let (stop, written) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for writer in 0..2 {
                let (to, stop, written) = (&to, &stop, &written);
                scope.spawn(move || write(to, 2 * round + writer + WRITERS, stop, written, true));
            }
            let first = random.below(REPEATED.len() as u64) as usize;
            let to = &to;
            scope.spawn(move || {
                let mut client = Client::connect(to).expect("a connection");
                run(&mut client, "USE d");
                for change in REPEATED.iter().cycle().skip(first) {
                    // The key is there, or not, as the server was killed.
                    if let Err(ClientError::Io(_)) = client.run(&format!("ALTER TABLE t {change}")) {
                        return;
                    }
                }
            });
            std::thread::sleep(Duration::from_millis(200 + random.below(1500)));
            server.kill();
        });
        server.restart();
        let mut client = connect(&server);
        run(&mut client, "USE d");
        check_alike(&mut client);
    }
}

#[test]
fn keys_that_are_added_under_writers_are_those_of_the_rows() {
    alter_under_writers("", &KEYS);
}

#[test]
fn definitions_of_one_table_wait_in_turn() {
    const CHANGES: [&[&str]; 2] = [
        &["ADD KEY by_a (a)", "MODIFY a BIGINT", "DROP KEY by_a"],
        &["MODIFY t VARCHAR(300)", "ENGINE=InnoDB", "FORCE"],
    ];
    let server = start();
    let mut client = connect(&server);
    fill(&mut client, "");
    let (stop, written) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let _end = SetOnDrop(&stop);
        for writer in 0..WRITERS {
            let (server, stop, written) = (options(&server), &stop, &written);
            scope.spawn(move || write(&server, writer, stop, written, false));
        }
        let sessions = CHANGES.map(|changes| {
            let server = &server;
            scope.spawn(move || {
                let mut client = connect(server);
                run(&mut client, "USE d");
                changes.iter().for_each(|change| run(&mut client, &format!("ALTER TABLE t {change}")));
            })
        });
        for session in sessions {
            session.join().expect("definitions without a deadlock");
        }
    });
    check_alike(&mut client);
}

#[test]
fn so_are_keys_of_partitioned_tables() {
    let keys = ["ADD KEY by_a (a)", "ADD UNIQUE KEY by_code (code, id)"];
    alter_under_writers("PARTITION BY HASH (id) PARTITIONS 4", &keys);
}

#[test]
fn so_have_copies_whose_rows_have_one_key() {
    let changes = [
        "MODIFY a DECIMAL(20,2), ADD KEY by_a (a)",
        "PARTITION BY HASH (id) PARTITIONS 3",
        "ADD COLUMN g INT AS (id % 10) STORED, ADD KEY (g)",
        "REMOVE PARTITIONING",
        "ADD FULLTEXT KEY words (t), MODIFY code VARCHAR(50) NOT NULL",
        "MODIFY id INT",
    ];
    alter_under_writers("", &changes);
}

#[test]
fn copies_that_are_made_under_writers_have_all_rows() {
    alter_under_writers("", &COPIES);
}

/// A transaction that has written keeps a definition waiting, and nobody else.
#[test]
fn a_definition_that_waits_lets_others_write() {
    let server = start();
    let mut client = connect(&server);
    fill(&mut client, "");
    let mut holder = connect(&server);
    run(&mut holder, "USE d; BEGIN; UPDATE t SET a = 1 WHERE id = 1");
    let mut definer = connect(&server);
    run(&mut definer, "USE d");
    let id = definer.connection_id();
    std::thread::scope(|scope| {
        let defining = scope.spawn(move || run(&mut definer, "ALTER TABLE t ADD KEY by_a (a), ADD KEY by_code (code)"));
        let waits =
            format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {id} AND info LIKE 'ALTER%'");
        wait_until("the definition has begun", || value(&mut client, &waits) == "1");
        // Each of them would wait for the transaction's end, if a place in the line were kept for the definition.
        run(&mut client, "SET lock_wait_timeout = 20, innodb_lock_wait_timeout = 20");
        for row in 2..30 {
            run(&mut client, &format!("UPDATE t SET a = 5 WHERE id = {row}"));
            std::thread::sleep(Duration::from_millis(50));
        }
        assert_eq!(value(&mut client, &waits), "1");
        run(&mut holder, "COMMIT");
        defining.join().expect("a definition");
    });
    assert_eq!(value(&mut client, "SELECT COUNT(*) FROM t FORCE INDEX (by_a) WHERE a = 5 AND id < 30"), "28");
    // Its own time is bounded as before.
    run(&mut holder, "BEGIN; UPDATE t SET a = 1 WHERE id = 1");
    run(&mut client, "SET lock_wait_timeout = 1");
    let refused = error(&mut client, "ALTER TABLE t DROP KEY by_a");
    assert!(refused.contains("1205"), "{refused}");
}
