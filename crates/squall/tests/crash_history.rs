//! `kill -9` at random times under clients that copy performance_schema: no acknowledged snapshot is lost, none is there in part or
//! twice, and the next server continues after them.

use mysql::prelude::Queryable;
use squall_test_support::random::Random;
use squall_test_support::server::{self, TestServer};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// Clients that collect at the same time as each other and as the server itself.
const CLIENTS: u64 = 2;
/// Of how many tables the snapshots are compared.
const TABLES: [&str; 3] = ["hosts", "global_status", "threads"];

#[test]
fn killed_servers_lose_no_snapshot_and_double_none() {
    let rounds = squall_test_support::crash_rounds(6);
    let mut server = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    server.connect().query_drop("CALL ps_history.set_collection_interval(1)").expect("a setting");
    let mut random = Random::of_run("killed_servers_lose_no_snapshot_and_double_none");
    let mut acknowledged = BTreeSet::new();
    for round in 1..=rounds {
        let port = server.port();
        let clients: Vec<_> = (0..CLIENTS).map(|_| std::thread::spawn(move || collect_until_killed(port))).collect();
        std::thread::sleep(Duration::from_millis(150 + random.number() % 400));
        server.kill();
        for client in clients {
            acknowledged.extend(client.join().expect("a client's thread"));
        }
        server.restart();
        check(&server, &acknowledged, round);
    }
    assert!(acknowledged.len() as u64 > rounds, "too few snapshots ({}) to mean anything", acknowledged.len());
}

/// Collects until the server is gone; gives the times that were seen after each of its collections.
fn collect_until_killed(port: u16) -> Vec<String> {
    let mut acknowledged = Vec::new();
    let Ok(mut conn) = server::connect("127.0.0.1", port, Duration::from_secs(5)) else { return acknowledged };
    loop {
        let last = conn
            .query_drop("CALL ps_history.collect()")
            .and_then(|()| conn.query_first("SELECT ts FROM ps_history.hosts ORDER BY ts DESC LIMIT 1"));
        match last {
            Ok(last) => acknowledged.extend::<Option<String>>(last),
            Err(mysql::Error::MySqlError(error)) => panic!("{error}"),
            Err(_) => return acknowledged,
        }
    }
}

fn check(server: &TestServer, acknowledged: &BTreeSet<String>, round: u64) {
    let mut conn = server.connect();
    let mut stamps = |table: &str| -> Vec<String> {
        conn.query(format!("SELECT DISTINCT ts FROM ps_history.{table}")).expect("a table")
    };
    let all: Vec<BTreeSet<String>> = TABLES.iter().map(|table| stamps(table).into_iter().collect()).collect();
    let common: BTreeSet<_> = all[0].intersection(&all[1]).cloned().collect();
    for stamp in acknowledged {
        assert!(all.iter().all(|stamps| stamps.contains(stamp)), "round {round}: {stamp} is lost");
    }
    // A snapshot is there in all tables or in none; the server itself collects between two of these queries.
    let last = common.last().cloned();
    for stamps in &all {
        assert!(stamps.iter().all(|stamp| common.contains(stamp) || Some(stamp) > last.as_ref()), "round {round}");
    }
    let doubled: Vec<(String, String)> = conn
        .query("SELECT ts, variable_name FROM ps_history.global_status GROUP BY ts, variable_name HAVING COUNT(*) > 1")
        .expect("a query");
    assert_eq!(doubled, [], "round {round}");
}
