//! `kill -9` at random times under branches of global transactions. A prepared branch is neither lost nor committed in part, and holds
//! its locks until a session commits it or rolls it back.
//!
//! Each writer's branch changes two tables and its own row of a third. The server tells the writer when the branch is prepared and when
//! it has ended. After a restart the branches and the rows must agree with that. `SQUALL_CRASH_ROUNDS=500` makes the long run.

use mysql::prelude::Queryable;
use squall_test_support::random::Random;
use squall_test_support::server::{self, TestServer};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const WRITERS: u64 = 3;
/// ER_LOCK_NOWAIT.
const LOCKED: u16 = 3572;

/// What a writer has been told of its branches, by their numbers.
#[derive(Default)]
struct Told {
    begun: u64,
    prepared: u64,
    committed: BTreeSet<u64>,
    rolled_back: BTreeSet<u64>,
}

#[test]
fn prepared_branches_outlive_kills() {
    let rounds = squall_test_support::crash_rounds(15);
    let mut server = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    let mut conn = server.connect();
    for sql in [
        "CREATE DATABASE xa",
        "CREATE TABLE xa.journal (writer INT, n INT, what VARCHAR(2000), PRIMARY KEY (writer, n), UNIQUE (what(40)))",
        "CREATE TABLE xa.copy (id INT AUTO_INCREMENT PRIMARY KEY, writer INT, n INT, KEY (writer, n))",
        "CREATE TABLE xa.counter (writer INT PRIMARY KEY, n INT)",
        "INSERT INTO xa.counter VALUES (0, 0), (1, 0), (2, 0)",
    ] {
        conn.query_drop(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    drop(conn);
    let told: Vec<Arc<Mutex<Told>>> = (0..WRITERS).map(|_| Arc::default()).collect();
    let mut random = Random::of_run("prepared_branches_outlive_kills");
    for round in 1..=rounds {
        let port = server.port();
        let writers: Vec<_> = told
            .iter()
            .zip(0..)
            .map(|(told, writer)| {
                let (told, seed) = (told.clone(), random.number());
                std::thread::spawn(move || write_until_killed(port, writer, &told, Random::new(seed)))
            })
            .collect();
        let total = || told.iter().map(|told| told.lock().expect("no panic").prepared).sum::<u64>();
        let before = total();
        squall_test_support::let_work(Duration::from_millis(20 + random.number() % 200), || total() > before + 2);
        server.kill();
        for writer in writers {
            writer.join().expect("a writer's thread");
        }
        server.restart();
        if random.number().is_multiple_of(3) {
            // Twice in a row, with nothing decided in between.
            server.kill();
            server.restart();
        }
        for (told, writer) in told.iter().zip(0..) {
            decide(&server, writer, &mut told.lock().expect("no panic"), round, &mut random);
        }
        let mut conn = server.connect();
        let left: Vec<(i64, i64, i64, String)> = conn.query("XA RECOVER").expect("XA RECOVER");
        assert!(left.is_empty(), "round {round}: branches that no writer has begun: {left:?}");
        let checked: Vec<(String, String, String, String)> =
            conn.query("CHECK TABLE xa.journal, xa.copy, xa.counter").expect("CHECK TABLE");
        assert!(checked.iter().all(|row| row.3 == "OK"), "round {round}: {checked:?}");
    }
    let branches: u64 = told.iter().map(|told| told.lock().expect("no panic").prepared).sum();
    assert!(branches > rounds, "too few branches ({branches}) for the run to mean anything");
    println!("{rounds} kills, {branches} branches");
}

fn xid(writer: u64, n: u64) -> String {
    format!("'{writer}', '{n}'")
}

/// Begins branches, and ends most of them, until the server is gone.
fn write_until_killed(port: u16, writer: u64, told: &Mutex<Told>, mut random: Random) {
    let Ok(mut conn) = server::connect("127.0.0.1", port, Duration::from_secs(5)) else { return };
    loop {
        let n = {
            let mut told = told.lock().expect("no panic");
            told.begun += 1;
            told.begun
        };
        let xid = xid(writer, n);
        let filling = "x".repeat((random.number() % 1900) as usize);
        let statements = [
            format!("XA START {xid}"),
            format!("INSERT INTO xa.journal VALUES ({writer}, {n}, '{writer}-{n}-{filling}')"),
            format!("INSERT INTO xa.copy (writer, n) VALUES ({writer}, {n}), ({writer}, {n})"),
            format!("UPDATE xa.counter SET n = {n} WHERE writer = {writer}"),
            format!("XA END {xid}"),
            format!("XA PREPARE {xid}"),
        ];
        if statements.iter().any(|sql| conn.query_drop(sql).is_err()) {
            return;
        }
        told.lock().expect("no panic").prepared = n;
        if random.number().is_multiple_of(4) {
            // From another session.
            let Ok(other) = server::connect("127.0.0.1", port, Duration::from_secs(5)) else { return };
            conn = other;
        }
        let commits = !random.number().is_multiple_of(3);
        let word = if commits { "COMMIT" } else { "ROLLBACK" };
        if conn.query_drop(format!("XA {word} {xid}")).is_err() {
            return;
        }
        let mut told = told.lock().expect("no panic");
        if commits {
            told.committed.insert(n)
        } else {
            told.rolled_back.insert(n)
        };
    }
}

/// Looks at what is there of a writer's branches after a restart, and ends the one that is prepared.
fn decide(server: &TestServer, writer: u64, told: &mut Told, round: u64, random: &mut Random) {
    let mut conn = server.connect();
    let branches: Vec<(i64, i64, i64, String)> = conn.query("XA RECOVER").expect("XA RECOVER");
    let own = branches.into_iter().filter_map(|(_, global, _, data)| {
        let (owner, n) = data.split_at(global as usize);
        (owner == writer.to_string()).then(|| n.parse::<u64>().expect("a number"))
    });
    let own: Vec<u64> = own.collect();
    let last = told.begun;
    assert!(own.len() <= 1 && own.iter().all(|n| *n == last), "round {round}, writer {writer}: {own:?} of {last}");
    let is_prepared = !own.is_empty();
    let had_ended = told.committed.contains(&last) || told.rolled_back.contains(&last);
    assert!(!is_prepared || !had_ended, "round {round}, writer {writer}: {last} has ended and is there");
    check_rows(&mut conn, writer, told, round);
    let is_committed = rows_of(&mut conn, writer, last).0 == 1;
    if told.prepared == last && !had_ended && !is_prepared && !is_committed {
        // It may have been rolled back, and the client not been told; but then a client has asked for that.
        assert!(rows_of(&mut conn, writer, last) == (0, 0), "round {round}, writer {writer}: half of {last}");
    }
    conn.query_drop("SET innodb_lock_wait_timeout = 1").expect("SET");
    let locked = conn.query_drop(format!("SELECT * FROM xa.counter WHERE writer = {writer} FOR UPDATE NOWAIT"));
    match locked {
        Ok(()) => assert!(!is_prepared, "round {round}, writer {writer}: the locks of {last} are gone"),
        Err(mysql::Error::MySqlError(error)) if error.code == LOCKED => {
            assert!(is_prepared, "round {round}, writer {writer}: somebody has a lock");
        }
        Err(error) => panic!("round {round}, writer {writer}: {error}"),
    }
    if is_prepared {
        let commits = random.number().is_multiple_of(2);
        let word = if commits { "COMMIT" } else { "ROLLBACK" };
        conn.query_drop(format!("XA {word} {}", xid(writer, last))).expect("the end of a branch");
        if commits {
            told.committed.insert(last)
        } else {
            told.rolled_back.insert(last)
        };
    } else if is_committed {
        told.committed.insert(last);
    } else {
        told.rolled_back.insert(last);
    }
    check_rows(&mut conn, writer, told, round);
}

/// Rows of one number in the journal and in its copy.
fn rows_of(conn: &mut mysql::Conn, writer: u64, n: u64) -> (u64, u64) {
    let sql = format!(
        "SELECT (SELECT COUNT(*) FROM xa.journal WHERE writer = {writer} AND n = {n}), \
         (SELECT COUNT(*) FROM xa.copy WHERE writer = {writer} AND n = {n})"
    );
    conn.query_first(sql).expect("a query").expect("a row")
}

fn check_rows(conn: &mut mysql::Conn, writer: u64, told: &Told, round: u64) {
    let journal: Vec<u64> =
        conn.query(format!("SELECT n FROM xa.journal WHERE writer = {writer} ORDER BY n")).expect("the journal");
    let copy: Vec<u64> = conn
        .query(format!("SELECT n FROM xa.copy WHERE writer = {writer} GROUP BY n HAVING COUNT(*) = 2 ORDER BY n"))
        .expect("the copy");
    assert_eq!(journal, copy, "round {round}, writer {writer}: half of a branch");
    let there: BTreeSet<u64> = journal.iter().copied().collect();
    assert!(
        told.committed.is_subset(&there),
        "round {round}, writer {writer}: lost {:?}",
        told.committed.difference(&there)
    );
    assert!(told.rolled_back.is_disjoint(&there), "round {round}, writer {writer}: what was rolled back is there");
    let counter: u64 =
        conn.query_first(format!("SELECT n FROM xa.counter WHERE writer = {writer}")).expect("a query").expect("a row");
    assert_eq!(counter, journal.last().copied().unwrap_or(0), "round {round}, writer {writer}");
}

#[test]
fn a_branch_that_is_not_prepared_ends_with_its_session() {
    let server = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    let mut conn = server.connect();
    conn.query_drop("CREATE DATABASE xa").expect("a database");
    conn.query_drop("CREATE TABLE xa.t (id INT PRIMARY KEY)").expect("a table");
    let mut other = server.connect();
    for sql in ["XA START 'gone'", "INSERT INTO xa.t VALUES (1)", "XA END 'gone'"] {
        other.query_drop(sql).expect("a branch");
    }
    drop(other);
    conn.query_drop("INSERT INTO xa.t VALUES (1)").expect("the row is free");
    conn.query_drop("XA START 'gone'").expect("so is the name");
}

#[test]
fn a_large_branch_is_brought_back() {
    let mut server = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    let mut conn = server.connect();
    for sql in [
        "CREATE DATABASE xa",
        "CREATE TABLE xa.source (id INT PRIMARY KEY, doc VARCHAR(500), FULLTEXT (doc))",
        "INSERT INTO xa.source WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \
         SELECT i, CONCAT('word', i, ' ', REPEAT('filling ', 40)) FROM n",
        "CREATE TABLE xa.large (id INT PRIMARY KEY, doc VARCHAR(500), FULLTEXT (doc))",
        "SET GLOBAL transaction_buffer_size = 65536",
        "XA START 'large'",
        "INSERT INTO xa.large SELECT * FROM xa.source",
        "DELETE FROM xa.source WHERE id > 10",
        "XA END 'large'",
        "XA PREPARE 'large'",
    ] {
        conn.query_drop(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    drop(conn);
    server.kill();
    server.restart();
    let mut conn = server.connect();
    let count = |conn: &mut mysql::Conn| -> (u64, u64) {
        conn.query_first("SELECT (SELECT COUNT(*) FROM xa.large), (SELECT COUNT(*) FROM xa.source)")
            .expect("a query")
            .expect("a row")
    };
    assert_eq!(count(&mut conn), (0, 1000));
    conn.query_drop("XA COMMIT 'large'").expect("the commit");
    assert_eq!(count(&mut conn), (1000, 10));
    let found: Option<u64> =
        conn.query_first("SELECT id FROM xa.large WHERE MATCH (doc) AGAINST ('word700')").expect("a query");
    assert_eq!(found, Some(700));
    let checked: Vec<(String, String, String, String)> =
        conn.query("CHECK TABLE xa.large, xa.source").expect("CHECK TABLE");
    assert!(checked.iter().all(|row| row.3 == "OK"), "{checked:?}");
}
