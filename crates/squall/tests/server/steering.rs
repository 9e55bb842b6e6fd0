//! Connections follow their clients from one event loop to another, and keep their state.

use squall_test_support::SetOnDrop;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};
use squall_client::{Client, ClientError, ConnectOptions, TlsMode};
use squall_test_support::server::TestServer;
use squall_test_support::skip;

use super::{WAIT_MAX, connect, options, run, start, value};

const CLIENTS: usize = 8;
const MOVES: u64 = 5;
/// More than from one look at where a client is to the next but one, at first. Each move makes looks half as frequent.
const STATEMENTS: usize = 300;
/// After this many stays on a core they get no longer.
const LONGER_STAYS: usize = 6;

/// Has each event loop of a server run on a core of its own: on a busy machine both may be on one for as long as a test looks.
fn spread_loops(server: &TestServer, cores: &[usize]) {
    let threads = std::fs::read_dir(format!("/proc/{}/task", server.process_id())).expect("the threads");
    for thread in threads.flatten() {
        let name = std::fs::read_to_string(thread.path().join("comm")).unwrap_or_default();
        let Some(number) = name.trim().strip_prefix("squall-loop-").and_then(|number| number.parse::<usize>().ok())
        else {
            continue;
        };
        let id = thread.file_name().to_str().and_then(|id| id.parse().ok()).and_then(Pid::from_raw);
        let mut core = CpuSet::new();
        core.set(cores[number % cores.len()]);
        sched_setaffinity(id, &core).expect("a loop's core");
    }
}

#[test]
fn connections_that_move_keep_all_that_they_have() {
    let allowed = sched_getaffinity(None).expect("the cores");
    let cores: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect();
    if cores.len() < 2 {
        skip("connections_that_move_keep_all_that_they_have", "two cores");
        return;
    }
    let server = start();
    spread_loops(&server, &cores);
    let mut root = connect(&server);
    run(&mut root, "CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, n INT)");
    let (enough, ids) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        let end = SetOnDrop(&enough);
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| {
                let (server, cores, enough, ids) = (&server, &cores, &enough, &ids);
                scope.spawn(move || {
                    // What is encrypted stays where it is.
                    let plain = ConnectOptions { tls: TlsMode::Disabled, ..options(server) };
                    let mut client = Client::connect(&plain).expect("a connection");
                    let id = value(&mut client, "SELECT CONNECTION_ID()");
                    ids.lock().expect("no panic").push(id.clone());
                    run(&mut client, &format!("USE d; SET @own = 'client {number}'; SET sort_buffer_size = 77777"));
                    run(&mut client, "CREATE TEMPORARY TABLE own AS SELECT @own AS name; BEGIN");
                    run(&mut client, &format!("PREPARE own FROM 'SELECT @own, ?'; INSERT INTO t VALUES ({number}, 0)"));
                    let mut rounds = 0;
                    while !enough.load(Ordering::Relaxed) {
                        let mut core = CpuSet::new();
                        core.set(cores[(number + rounds) % cores.len()]);
                        sched_setaffinity(None, &core).expect("a core of one's own");
                        for _ in 0..STATEMENTS << rounds.min(LONGER_STAYS) {
                            assert_eq!(value(&mut client, "SELECT CONNECTION_ID()"), id);
                        }
                        run(&mut client, &format!("UPDATE t SET n = n + 1 WHERE id = {number}"));
                        rounds += 1;
                    }
                    let own = format!("client {number}");
                    assert_eq!(value(&mut client, "SELECT @own"), own);
                    assert_eq!(value(&mut client, "SELECT name FROM own"), own);
                    assert_eq!(value(&mut client, "EXECUTE own USING @own"), own);
                    assert_eq!(value(&mut client, "SELECT CONCAT(DATABASE(), @@sort_buffer_size)"), "d77777");
                    run(&mut client, "COMMIT");
                    (client, rounds)
                })
            })
            .collect();
        let moved =
            "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Connections_moved'";
        let (begun, mut moves) = (Instant::now(), 0);
        while moves < MOVES && begun.elapsed() < 5 * WAIT_MAX && !clients.iter().any(|client| client.is_finished()) {
            std::thread::sleep(Duration::from_millis(100));
            moves = value(&mut root, moved).parse().expect("a number");
        }
        // Before anything is asserted: they go on until they are told.
        drop(end);
        assert!(moves >= MOVES, "only {moves} have moved");
        let clients: Vec<_> = clients.into_iter().map(|client| client.join().expect("a client")).collect();
        let rounds: usize = clients.iter().map(|(_, rounds)| rounds).sum();
        assert_eq!(value(&mut root, "SELECT SUM(n) FROM d.t"), rounds.to_string());
        // They are found by KILL where they are.
        for id in ids.lock().expect("no panic").iter() {
            run(&mut root, &format!("KILL {id}"));
        }
        for (mut client, _) in clients {
            // The last statement may have come before the loop has looked: it is told that it ended.
            let mut ended = client.run("SELECT 1");
            if matches!(ended, Err(ClientError::Server(_))) {
                ended = client.run("SELECT 1");
            }
            assert!(matches!(&ended, Err(error) if !matches!(error, ClientError::Server(_))), "{ended:?}");
        }
    });
}
