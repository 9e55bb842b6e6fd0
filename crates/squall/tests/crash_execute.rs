//! `kill -9` while child sessions of EXECUTE run lists: each list is there as a whole or not at all, and acknowledged lists are there.
//!
//! `SQUALL_CRASH_ROUNDS=500` makes the long run.

use mysql::prelude::Queryable;
use squall_test_support::random::Random;
use squall_test_support::server::{self, TestServer};
use std::path::Path;
use std::time::Duration;

const CLIENTS: u64 = 3;

/// Runs lists until the server is gone: by the function, by the statement, and in the background. The numbers of those that were acknowledged.
fn run_until_killed(port: u16, client: u64, first: u64) -> Vec<u64> {
    let mut acknowledged = Vec::new();
    let Ok(mut conn) = server::connect("127.0.0.1", port, Duration::from_secs(10)) else { return acknowledged };
    for n in first.. {
        let list = format!("INSERT INTO crash.a VALUES ({client}, {n}); INSERT INTO crash.b VALUES ({client}, {n})");
        let sql = match n % 3 {
            0 => format!("SELECT EXECUTE('{list}')"),
            1 => format!("EXECUTE '{list}' CONCURRENT WAIT"),
            _ => format!("EXECUTE '{list}' WITH NO RETURN"),
        };
        if conn.query_drop(sql).is_err() {
            break;
        }
        acknowledged.push(n);
    }
    acknowledged
}

#[test]
fn killed_servers_have_lists_as_a_whole_or_not_at_all() {
    let rounds = squall_test_support::crash_rounds(5);
    let mut server = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    let mut conn = server.connect();
    conn.query_drop("CREATE DATABASE crash").expect("a database");
    for table in ["a", "b"] {
        conn.query_drop(format!("CREATE TABLE crash.{table} (client INT, n BIGINT, PRIMARY KEY (client, n))"))
            .expect("a table");
    }
    drop(conn);
    let mut random = Random::of_run("killed_servers_have_lists_as_a_whole_or_not_at_all");
    let mut lists = 0;
    for round in 1..=rounds {
        let port = server.port();
        let begin = |client| std::thread::spawn(move || run_until_killed(port, client, round * 1_000_000));
        let clients: Vec<_> = (1..=CLIENTS).map(|client| (client, begin(client))).collect();
        std::thread::sleep(Duration::from_millis(50 + random.number() % 300));
        server.kill();
        let acknowledged: Vec<_> =
            clients.into_iter().map(|(client, thread)| (client, thread.join().expect("a client's thread"))).collect();
        server.restart();
        let mut conn = server.connect();
        let halves = "SELECT COUNT(*) FROM crash.a LEFT JOIN crash.b USING (client, n) WHERE b.n IS NULL";
        assert_eq!(conn.query_first::<u64, _>(halves).expect("a count"), Some(0), "round {round}: halves");
        let others = "SELECT COUNT(*) FROM crash.b LEFT JOIN crash.a USING (client, n) WHERE a.n IS NULL";
        assert_eq!(conn.query_first::<u64, _>(others).expect("a count"), Some(0), "round {round}: halves");
        for (client, numbers) in acknowledged {
            lists += numbers.len();
            let Some(last) = numbers.last() else { continue };
            let sql = format!(
                "SELECT COUNT(*) FROM crash.a WHERE client = {client} AND n BETWEEN {} AND {last}",
                round * 1_000_000
            );
            assert_eq!(conn.query_first::<usize, _>(sql).expect("a count"), Some(numbers.len()), "round {round}");
        }
    }
    println!("{rounds} kills, {lists} lists");
    assert!(lists > 0, "no list was run");
}
