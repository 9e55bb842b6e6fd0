//! `kill -9` at random times under clients that queue statements and workers that run them. No acknowledged statement is lost, no ended
//! one runs again, none stays in the state *running*, and stored results stay the same.
//!
//! Each queued statement appends its client's next number to a table that accepts duplicates. `SQUALL_CRASH_ROUNDS=500` makes the long
//! run.

use mysql::prelude::Queryable;
use squall_test_support::random::Random;
use squall_test_support::server::{self, TestServer};
use squall_types::clock::now_micros;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::Duration;

const CLIENTS: u64 = 3;

/// A server with four workers and the table that statements append to.
fn start() -> TestServer {
    let server = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    let mut conn = server.connect();
    conn.query_drop("CREATE DATABASE crash").expect("a database");
    conn.query_drop("CREATE TABLE crash.seen (client INT, n BIGINT, KEY (client, n))").expect("a table");
    conn.query_drop("CALL async.set_concurrency(4)").expect("a setting");
    server
}

/// Statements of a client that were acknowledged: query number, client, number.
type Acknowledged = Vec<(u64, (u64, u64))>;

/// Clients that queue statements until the server is gone.
fn start_clients(port: u16, round: u64) -> Vec<JoinHandle<Acknowledged>> {
    let client = |client| std::thread::spawn(move || queue_until_killed(port, client, round * 1_000_000));
    (1..=CLIENTS).map(client).collect()
}

#[test]
fn killed_servers_lose_no_queued_statement_and_run_none_twice() {
    let rounds = squall_test_support::crash_rounds(10);
    let mut server = start();
    let mut random = Random::of_run("killed_servers_lose_no_queued_statement_and_run_none_twice");
    let mut acknowledged: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    let mut kept: BTreeMap<u64, (String, Option<String>)> = BTreeMap::new();
    for round in 1..=rounds {
        let clients = start_clients(server.port(), round);
        std::thread::sleep(Duration::from_millis(20 + random.number() % 200));
        server.kill();
        for client in clients {
            acknowledged.extend(client.join().expect("a client's thread"));
        }
        server.restart();
        check(&server, &acknowledged, &mut kept, round);
    }
    assert!(acknowledged.len() as u64 > rounds, "too few statements ({}) to mean anything", acknowledged.len());
    println!("{rounds} kills, {} statements", acknowledged.len());
}

/// `kill -9` under the same clients, and a client that reads what runs.
#[test]
fn what_was_seen_to_run_is_not_run_again() {
    let rounds = squall_test_support::crash_rounds(5);
    let mut server = start();
    let mut random = Random::of_run("what_was_seen_to_run_is_not_run_again");
    let mut seen_of_all = 0;
    for round in 1..=rounds {
        let port = server.port();
        let clients = start_clients(port, round);
        let observer = std::thread::spawn(move || look_until_killed(port));
        std::thread::sleep(Duration::from_millis(50 + random.number() % 200));
        server.kill();
        let killed = unix_seconds();
        clients.into_iter().for_each(|client| drop(client.join().expect("a client's thread")));
        let seen = observer.join().expect("the observer's thread");
        // Moments are shown in seconds: what ends from now on is to have another one.
        while unix_seconds() == killed {
            std::thread::sleep(Duration::from_millis(10));
        }
        server.restart();
        let mut conn = server.connect();
        let left = "SELECT COUNT(*) FROM async.q WHERE state IN ('RUNNING', 'WAITING')";
        while conn.query_first::<u64, _>(left).expect("a count") != Some(0) {
            std::thread::sleep(Duration::from_millis(10));
        }
        let ended = "SELECT q_id FROM async.q WHERE state = 'COMPLETED' AND UNIX_TIMESTAMP(completed_on) > ";
        let ended: BTreeSet<u64> = conn.query(format!("{ended}{killed}")).expect("queries").into_iter().collect();
        let again: Vec<_> = seen.intersection(&ended).collect();
        assert!(again.is_empty(), "round {round}: {again:?} were seen to run, and ran again");
        seen_of_all += seen.len();
    }
    println!("{rounds} kills, {seen_of_all} statements seen to run");
    assert!(seen_of_all > 0, "nothing was seen to run");
}

fn unix_seconds() -> u64 {
    now_micros().unsigned_abs() / 1_000_000
}

/// Looks at the queue until the server is gone; gives the numbers of what was running.
fn look_until_killed(port: u16) -> BTreeSet<u64> {
    let mut seen = BTreeSet::new();
    let Ok(mut conn) = server::connect("127.0.0.1", port, Duration::from_secs(5)) else { return seen };
    while let Ok(found) = conn.query::<u64, _>("SELECT q_id FROM async.q WHERE state = 'RUNNING'") {
        seen.extend(found);
    }
    seen
}

/// Queues statements until the server is gone; gives those that were acknowledged.
fn queue_until_killed(port: u16, client: u64, first: u64) -> Acknowledged {
    let mut acknowledged = Vec::new();
    let Ok(mut conn) = server::connect("127.0.0.1", port, Duration::from_secs(5)) else { return acknowledged };
    for n in first.. {
        // What a worker does, and what the CALL does itself once a worker has found out how.
        let values = if n % 3 == 0 { format!("SELECT {client}, {n}") } else { format!("VALUES ({client}, {n})") };
        let sql = format!("CALL async.queue('INSERT INTO crash.seen {values}')");
        match conn.query_first::<u64, _>(sql) {
            Ok(Some(number)) => acknowledged.push((number, (client, n))),
            Ok(None) => panic!("a queue without a number"),
            Err(mysql::Error::MySqlError(error)) => panic!("{error}"),
            Err(_) => return acknowledged,
        }
    }
    acknowledged
}

/// Waits until everything has ended, and compares.
fn check(
    server: &TestServer,
    acknowledged: &BTreeMap<u64, (u64, u64)>,
    kept: &mut BTreeMap<u64, (String, Option<String>)>,
    round: u64,
) {
    let mut conn = server.connect();
    // Some are there whose client was never told.
    let numbers: Vec<u64> = conn.query("SELECT q_id FROM async.q ORDER BY q_id").expect("the queue");
    for number in numbers.iter().filter(|number| !kept.contains_key(number)) {
        match conn.query_drop(format!("CALL async.wait({number})")) {
            Ok(()) => {}
            // Failed at the restart.
            Err(mysql::Error::MySqlError(error)) => assert_eq!(error.state, "HY000", "round {round}: {error}"),
            Err(error) => panic!("round {round}: {error}"),
        }
    }
    let rows: Vec<(u64, String, Option<String>)> =
        conn.query("SELECT q_id, state, errmsg FROM async.q").expect("the queue");
    let states: BTreeMap<u64, (String, Option<String>)> =
        rows.into_iter().map(|(number, state, message)| (number, (state, message))).collect();
    for (number, end) in kept.iter() {
        assert_eq!(states.get(number), Some(end), "round {round}: an end has changed");
    }
    let kept_bytes: Option<u64> = conn
        .query_first(
            "SELECT SUM(LENGTH(payload) + COALESCE(output_bytes, 0) + COALESCE(LENGTH(message), 0)) FROM mysql.job WHERE kind = 'async'",
        )
        .expect("the jobs");
    let shown: Option<(String, u64)> =
        conn.query_first("SHOW GLOBAL STATUS LIKE 'Async_result_total_bytes'").expect("a status");
    assert_eq!(shown.map(|(_, bytes)| bytes), kept_bytes, "round {round}: bytes that are kept");
    let mut seen: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for key in conn.query::<(u64, u64), _>("SELECT client, n FROM crash.seen").expect("the table") {
        *seen.entry(key).or_default() += 1;
    }
    assert!(seen.values().all(|times| *times == 1), "round {round}: a statement was run twice");
    let found: BTreeSet<&str> = states.values().map(|(state, _)| state.as_str()).collect();
    assert!(!found.contains("RUNNING") && !found.contains("WAITING"), "round {round}: {found:?}");
    for (number, key) in acknowledged {
        let (state, message) = states.get(number).unwrap_or_else(|| panic!("round {round}: query {number} is lost"));
        match state.as_str() {
            "COMPLETED" => assert!(seen.contains_key(key), "round {round}: query {number} left nothing"),
            // It was running when the server was killed, and may have been through.
            "ERROR" => {
                assert!(message.as_deref().is_some_and(|text| text.contains("restarted")), "round {round}: {message:?}")
            }
            other => panic!("round {round}: query {number} is {other}"),
        }
        kept.insert(*number, (state.clone(), message.clone()));
    }
}
