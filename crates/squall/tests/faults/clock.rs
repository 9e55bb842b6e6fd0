//! A wall clock that jumps: NOW() follows it, and nothing else does.

use super::{refusal, run, start, status, value, wait_until};
use mysql::prelude::Queryable;
use squall_test_support::server::{self, TestServer};
use squall_types::clock::now_micros;
use std::thread::JoinHandle;
use std::time::Duration;

const DAY: i64 = 86_400;

/// A day back and a day on; tests begin at the true time.
const JUMPS: [i64; 2] = [-DAY, DAY];

const STATEMENT_TIMEOUT: u16 = 3024;
const LOCK_WAIT_TIMEOUT: u16 = 1205;

fn true_time() -> i64 {
    now_micros() / 1_000_000
}

fn in_background(server: &TestServer, sql: Vec<String>) -> (u32, JoinHandle<mysql::Result<()>>) {
    let mut conn = server::connect("127.0.0.1", server.port(), Duration::from_secs(5)).expect("a connection");
    (conn.connection_id(), std::thread::spawn(move || sql.iter().try_for_each(|sql| conn.query_drop(sql))))
}

fn is_listed(conn: &mut mysql::Conn, condition: &str) -> bool {
    let sql = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE {condition}");
    value::<u64>(conn, &sql) != Some(0)
}

#[test]
fn now_follows_the_wall_clock_and_data_does_not() {
    let Some((server, faults)) = start("now_follows_the_wall_clock_and_data_does_not") else { return };
    let mut conn = server.connect();
    run(
        &mut conn,
        "CREATE TABLE d.t (id INT PRIMARY KEY AUTO_INCREMENT, at TIMESTAMP DEFAULT CURRENT_TIMESTAMP, u CHAR(36) UNIQUE)",
    );
    let insert = "INSERT INTO d.t (u) VALUES (UUID())";
    run(&mut conn, insert);
    let mut reader = server.connect();
    run(&mut reader, "START TRANSACTION WITH CONSISTENT SNAPSHOT");
    for offset in [0, -DAY, DAY, -20 * 365 * DAY, 0] {
        faults.set_clock(offset);
        let now: i64 = value(&mut conn, "SELECT UNIX_TIMESTAMP(NOW())").expect("a time");
        assert!((now - offset - true_time()).abs() < 60, "{now} at {offset} s from the true time");
        let before: Vec<(u32, i64)> = conn.query("SELECT id, UNIX_TIMESTAMP(at) FROM d.t ORDER BY id").expect("rows");
        run(&mut conn, insert);
        let after: Vec<(u32, i64)> = conn.query("SELECT id, UNIX_TIMESTAMP(at) FROM d.t ORDER BY id").expect("rows");
        assert_eq!(after[..before.len()], before, "rows that were there");
        let (id, at) = after[before.len()];
        assert_eq!(id as usize, before.len() + 1, "AUTO_INCREMENT goes on");
        assert!((at - offset - true_time()).abs() < 60, "{at} at {offset} s from the true time");
        assert_eq!(value(&mut reader, "SELECT COUNT(*) FROM d.t"), Some(1), "the snapshot stays");
        let uptime: u64 = status(&mut conn, "Uptime").parse().expect("a number");
        assert!(uptime < 600, "up for {uptime} s");
        assert!(!is_listed(&mut conn, "time > 600 OR time < 0"), "times of the process list");
    }
}

#[test]
fn time_limits_of_statements_do_not_jump() {
    let Some((server, faults)) = start("time_limits_of_statements_do_not_jump") else { return };
    let mut conn = server.connect();
    for jump in JUMPS {
        faults.set_clock(0);
        let endless = "SELECT SUM(a.c + b.c) FROM d.many a, d.many b, d.many c, d.many d, d.many e";
        if jump == JUMPS[0] {
            run(&mut conn, "CREATE TABLE d.many (c INT)");
            let rows = vec!["(1)"; 1000].join(",");
            run(&mut conn, &format!("INSERT INTO d.many VALUES {rows}"));
        }
        // One that has an hour goes on, one that has a tenth of a second ends.
        let hour = vec!["SET max_execution_time = 3600000".to_string(), format!("{endless} /* hour */")];
        let (id, hour) = in_background(&server, hour);
        wait_until("the long one runs", || is_listed(&mut conn, &format!("id = {id} AND info LIKE 'SELECT SUM%'")));
        faults.set_clock(jump);
        run(&mut conn, "SET max_execution_time = 100");
        assert_eq!(refusal(&mut conn, endless).0, STATEMENT_TIMEOUT);
        run(&mut conn, "SET max_execution_time = 0");
        assert!(
            is_listed(&mut conn, &format!("id = {id} AND info LIKE 'SELECT SUM%'")),
            "{jump}: ended before its hour"
        );
        assert_eq!(value(&mut conn, "SELECT SLEEP(0.05)"), Some(0));
        run(&mut conn, &format!("KILL {id}"));
        assert!(hour.join().expect("a thread").is_err());
    }
}

#[test]
fn lock_waits_do_not_jump() {
    let Some((server, faults)) = start("lock_waits_do_not_jump") else { return };
    let mut holder = server.connect();
    run(&mut holder, "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)");
    run(&mut holder, "INSERT INTO d.t VALUES (1, 0)");
    let mut conn = server.connect();
    for jump in JUMPS {
        faults.set_clock(0);
        run(&mut holder, "BEGIN");
        run(&mut holder, "UPDATE d.t SET v = v + 1 WHERE id = 1");
        let update = "UPDATE d.t SET v = v + 10 WHERE id = 1";
        let (_, waiting) = in_background(&server, vec!["SET innodb_lock_wait_timeout = 1000".into(), update.into()]);
        wait_until("it waits", || status(&mut conn, "Innodb_row_lock_current_waits") == "1");
        faults.set_clock(jump);
        run(&mut conn, "SET innodb_lock_wait_timeout = 1");
        assert_eq!(refusal(&mut conn, update).0, LOCK_WAIT_TIMEOUT);
        assert_eq!(status(&mut conn, "Innodb_row_lock_current_waits"), "1", "{jump}: its 1000 seconds are not over");
        run(&mut holder, "COMMIT");
        waiting.join().expect("a thread").expect("the update");
    }
    assert_eq!(value(&mut conn, "SELECT v FROM d.t"), Some(22));
}

#[test]
fn idle_time_does_not_jump() {
    let Some((server, faults)) = start("idle_time_does_not_jump") else { return };
    let mut conn = server.connect();
    for jump in JUMPS {
        faults.set_clock(0);
        let mut long_timeout = server.connect();
        run(&mut long_timeout, "SET wait_timeout = 3600");
        let mut short_timeout = server.connect();
        run(&mut short_timeout, "SET wait_timeout = 1");
        faults.set_clock(jump);
        let id = short_timeout.connection_id();
        wait_until("the idle connection is closed", || !is_listed(&mut conn, &format!("id = {id}")));
        assert!(short_timeout.query_drop("SELECT 1").is_err(), "{jump}");
        assert_eq!(value(&mut long_timeout, "SELECT 1"), Some(1), "{jump}");
    }
}
