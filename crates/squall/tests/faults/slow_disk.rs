//! A disk with slow syncs: commits wait for them, readers do not, and no reader sees a change that could still be lost.

use super::{run, start, status, value, wait_until};
use mysql::prelude::Queryable;
use squall_test_support::faults::Control;
use squall_test_support::server::{self, TestServer};
use std::thread::JoinHandle;
use std::time::Duration;

fn create_table(server: &TestServer) -> mysql::Conn {
    let mut conn = server.connect();
    run(&mut conn, "CREATE TABLE d.t (id INT PRIMARY KEY, v INT, KEY (v))");
    run(&mut conn, "INSERT INTO d.t VALUES (1, 10), (2, 20)");
    conn
}

/// Runs a statement on a connection of its own; gives the connection's number and, in the end, its result.
fn in_background(server: &TestServer, sql: &str) -> (u32, JoinHandle<mysql::Result<()>>) {
    let mut conn = server::connect("127.0.0.1", server.port(), Duration::from_secs(5)).expect("a connection");
    let (id, sql) = (conn.connection_id(), sql.to_string());
    (id, std::thread::spawn(move || conn.query_drop(sql)))
}

/// Waits until so many statements that begin so are under way.
fn await_running(conn: &mut mysql::Conn, beginning: &str, count: u64) {
    let sql = format!("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '{beginning}%'");
    wait_until(beginning, || value::<u64>(conn, &sql) == Some(count));
}

#[test]
fn a_commit_is_seen_when_it_is_synced() {
    let Some((mut server, faults)) = start("a_commit_is_seen_when_it_is_synced") else { return };
    let mut conn = create_table(&server);
    let mut serializable = server.connect();
    run(&mut serializable, "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE");
    faults.hold_syncs();
    let (_, update) = in_background(&server, "UPDATE d.t SET v = 11 WHERE id = 1");
    faults.await_held_sync();
    let (_, delete) = in_background(&server, "DELETE FROM d.t WHERE id = 2");
    await_running(&mut conn, "DELETE", 1);
    let old = [
        ("SELECT v FROM d.t WHERE id = 1", 10),
        ("SELECT v FROM d.t WHERE id = 2", 20),
        ("SELECT SUM(v) FROM d.t", 30),
        ("SELECT id FROM d.t WHERE v = 10", 1),
        ("SELECT COUNT(*) FROM d.t WHERE v = 11", 0),
    ];
    for (sql, expected) in old {
        assert_eq!(value(&mut conn, sql), Some(expected), "{sql}");
        assert_eq!(value(&mut serializable, sql), Some(expected), "{sql}");
    }
    let locked = conn.query_drop("SELECT v FROM d.t WHERE id = 1 FOR UPDATE NOWAIT");
    assert_eq!(server::error_code(locked), Some(3572), "the commit has its locks until it is durable");
    // The power goes: no client has been told of what is gone.
    server.kill();
    faults.release_syncs();
    faults.cut_power();
    assert!(update.join().expect("a thread").is_err() && delete.join().expect("a thread").is_err());
    server.restart();
    let mut conn = server.connect();
    for (sql, expected) in old {
        assert_eq!(value(&mut conn, sql), Some(expected), "{sql} after the power cut");
    }
}

#[test]
fn commits_gather_while_the_disk_is_busy() {
    let Some((server, faults)) = start("commits_gather_while_the_disk_is_busy") else { return };
    let mut conn = create_table(&server);
    faults.hold_syncs();
    let mut writers = vec![in_background(&server, "INSERT INTO d.t VALUES (100, 0)")];
    faults.await_held_sync();
    writers.extend((101..=116).map(|id| in_background(&server, &format!("INSERT INTO d.t VALUES ({id}, 0)"))));
    await_running(&mut conn, "INSERT", 17);
    assert_eq!(value(&mut conn, "SELECT COUNT(*) FROM d.t"), Some(2));
    let before = faults.get(Control::SyncsEnded);
    faults.release_syncs();
    for (_, writer) in writers {
        writer.join().expect("a writer").expect("an insert");
    }
    assert_eq!(value(&mut conn, "SELECT COUNT(*) FROM d.t"), Some(19));
    let syncs = faults.get(Control::SyncsEnded) - before;
    assert!(syncs <= 8, "{syncs} syncs for 17 commits");
}

#[test]
fn who_waits_for_a_row_goes_on_after_the_sync() {
    let Some((server, faults)) = start("who_waits_for_a_row_goes_on_after_the_sync") else { return };
    let mut conn = create_table(&server);
    faults.hold_syncs();
    let (_, first) = in_background(&server, "UPDATE d.t SET v = v + 1 WHERE id = 1");
    faults.await_held_sync();
    let (_, second) = in_background(&server, "UPDATE d.t SET v = v + 1 WHERE id = 1");
    wait_until("the second waits", || status(&mut conn, "Innodb_row_lock_current_waits") == "1");
    faults.release_syncs();
    first.join().expect("a thread").expect("the first update");
    second.join().expect("a thread").expect("the second update");
    assert_eq!(value(&mut conn, "SELECT v FROM d.t WHERE id = 1"), Some(12));
}

/// KILL does not take a commit back that is on its way to the disk, and no client is told otherwise.
#[test]
fn a_commit_that_waits_is_killed() {
    let Some((server, faults)) = start("a_commit_that_waits_is_killed") else { return };
    let mut conn = create_table(&server);
    faults.hold_syncs();
    let (query, killed_query) = in_background(&server, "INSERT INTO d.t VALUES (3, 30)");
    faults.await_held_sync();
    let (connection, killed_connection) = in_background(&server, "INSERT INTO d.t VALUES (4, 40)");
    await_running(&mut conn, "INSERT", 2);
    run(&mut conn, &format!("KILL QUERY {query}"));
    run(&mut conn, &format!("KILL CONNECTION {connection}"));
    assert_eq!(value(&mut conn, "SELECT COUNT(*) FROM d.t"), Some(2));
    faults.release_syncs();
    let answer = killed_query.join().expect("a thread");
    assert!(answer.is_ok(), "the commit is done: {answer:?}");
    // The other one's client may or may not get its answer; an answer is true.
    let answered = killed_connection.join().expect("a thread");
    let there = "SELECT COUNT(*) FROM d.t WHERE id = 4";
    if answered.is_ok() {
        assert_eq!(value(&mut conn, there), Some(1));
    }
    wait_until("the connection is gone", || {
        value::<u64>(&mut conn, &format!("SELECT COUNT(*) FROM information_schema.processlist WHERE id = {connection}"))
            == Some(0)
    });
    let before: Option<u64> = value(&mut conn, there);
    run(&mut conn, "REPLACE INTO d.t VALUES (4, 41)");
    assert!(before.is_some_and(|count| count <= 1));
    assert_eq!(value(&mut conn, "SELECT v FROM d.t WHERE id = 4"), Some(41), "its locks are given back");
}

#[test]
fn a_slow_disk_makes_commits_slow_and_nothing_else() {
    let Some((mut server, faults)) = start("a_slow_disk_makes_commits_slow_and_nothing_else") else { return };
    drop(create_table(&server));
    faults.set(Control::SyncDelayMicros, 20_000);
    let port = server.port();
    let writers: Vec<_> = (0..8)
        .map(|writer| {
            std::thread::spawn(move || {
                let mut conn = server::connect("127.0.0.1", port, Duration::from_secs(5)).expect("a connection");
                for at in 0..20 {
                    let id = 1000 + writer * 100 + at;
                    run(&mut conn, &format!("INSERT INTO d.t VALUES ({id}, {writer})"));
                    run(&mut conn, "UPDATE d.t SET v = v + 1 WHERE id = 2");
                    assert_eq!(value(&mut conn, &format!("SELECT v FROM d.t WHERE id = {id}")), Some(writer));
                }
            })
        })
        .collect();
    for writer in writers {
        writer.join().expect("a writer");
    }
    server.kill();
    faults.cut_power();
    server.restart();
    let mut conn = server.connect();
    assert_eq!(value(&mut conn, "SELECT COUNT(*) FROM d.t"), Some(162));
    assert_eq!(value(&mut conn, "SELECT v FROM d.t WHERE id = 2"), Some(180));
}

/// Whatever a statement writes, those of other connections go on while it waits for the disk.
#[test]
fn no_statement_makes_others_wait_for_its_sync() {
    let Some((server, faults)) = start("no_statement_makes_others_wait_for_its_sync") else { return };
    drop(create_table(&server));
    // As many as there are loops for connections, and more.
    let mut others: Vec<mysql::Conn> = (0..16).map(|_| server.connect()).collect();
    let statements = [
        "CREATE USER u IDENTIFIED BY 'p'",
        "GRANT SELECT ON d.* TO u",
        "REVOKE SELECT ON d.* FROM u",
        "CREATE ROLE r",
        "GRANT r TO u",
        "SET DEFAULT ROLE r TO u",
        "ALTER USER u ACCOUNT LOCK",
        "RENAME USER u TO v",
        "SET PASSWORD FOR v = 'q'",
        "DROP USER v",
        "SET PERSIST max_connections = 500",
        "RESET PERSIST max_connections",
        "CREATE TABLE d.n (id INT PRIMARY KEY)",
        "ALTER TABLE d.n ADD COLUMN c INT",
        "CREATE VIEW d.w AS SELECT 1",
        "TRUNCATE TABLE d.n",
        "DROP TABLE d.n",
        "CREATE EVENT d.e ON SCHEDULE EVERY 1 DAY DO DELETE FROM d.t WHERE id = 0",
        "DROP EVENT d.e",
        "CALL async.queue('SELECT 1')",
        "CALL async.set_concurrency(4)",
        "UPDATE async.settings SET value = '5' WHERE variable = 'thread_count'",
        "OPTIMIZE TABLE d.t",
        "CALL ps_history.set_retention_period('1 day')",
        "CREATE DATABASE e",
        "CREATE EVENT e.e ON SCHEDULE EVERY 1 DAY DO DELETE FROM d.t WHERE id = 0",
        "DROP DATABASE e",
    ];
    let mut waited_for = Vec::new();
    for sql in statements {
        faults.hold_syncs();
        let (_, running) = in_background(&server, sql);
        faults.await_held_sync();
        let (answered, answers) = std::sync::mpsc::channel();
        let asking = std::thread::spawn(move || {
            for conn in &mut others {
                assert_eq!(value(conn, "SELECT v FROM d.t WHERE id = 1"), Some(10));
            }
            answered.send(()).expect("somebody waits for it");
            others
        });
        let in_time = answers.recv_timeout(Duration::from_secs(5));
        faults.release_syncs();
        running.join().expect("a thread").unwrap_or_else(|error| panic!("{sql}: {error}"));
        others = asking.join().expect("a thread");
        if in_time.is_err() {
            waited_for.push(sql);
        }
    }
    assert!(waited_for.is_empty(), "others wait for {waited_for:#?}");
}

/// The work of the only stage that tells of any: what is done, and all of it.
fn work(conn: &mut mysql::Conn, stage: &str) -> Option<(u64, u64)> {
    let sql = format!(
        "SELECT work_completed, work_estimated FROM performance_schema.events_stages_current WHERE event_name = \
         '{stage}' AND end_event_id IS NULL AND work_estimated IS NOT NULL"
    );
    conn.query_first(sql).expect("a stage")
}

#[test]
fn an_alteration_tells_how_far_it_is() {
    let Some((server, faults)) = start("an_alteration_tells_how_far_it_is") else { return };
    let mut conn = create_table(&server);
    run(&mut conn, "SET cte_max_recursion_depth = 30000");
    run(
        &mut conn,
        "INSERT INTO d.t WITH RECURSIVE s AS (SELECT 3 AS n UNION ALL SELECT n + 1 FROM s WHERE n < 20000) SELECT n, n FROM s",
    );
    // The index's files are made when all rows have been read, and cannot be finished now.
    faults.hold_syncs();
    let (id, alter) = in_background(&server, "ALTER TABLE d.t ADD UNIQUE KEY by_both (id, v)");
    wait_until("an alteration", || work(&mut conn, "stage/sql/altering table").is_some_and(|(done, _)| done > 0));
    let (done, all) = work(&mut conn, "stage/sql/altering table").expect("it is held");
    assert!(done <= all && all == 20_000, "{done} of {all}");
    let progress: Option<f64> = value(&mut conn, &format!("SELECT progress FROM sys.session WHERE conn_id = {id}"));
    assert!(progress.is_some_and(|progress| progress > 0.0 && progress <= 100.0), "{progress:?}");
    faults.release_syncs();
    alter.join().expect("a thread").expect("an alteration");
    assert_eq!(work(&mut conn, "stage/sql/altering table"), None);
}

#[test]
fn a_commit_is_a_wait_while_it_lasts() {
    let Some((server, faults)) = start("a_commit_is_a_wait_while_it_lasts") else { return };
    let mut conn = create_table(&server);
    faults.hold_syncs();
    let (id, update) = in_background(&server, "UPDATE d.t SET v = 12 WHERE id = 1");
    let of_thread = |condition: &str| {
        format!("SELECT event_name FROM performance_schema.events_waits_current WHERE thread_id = {id} AND {condition}")
    };
    let lasts = of_thread("end_event_id IS NULL");
    wait_until("a commit", || value::<String>(&mut conn, &lasts).is_some());
    assert_eq!(value::<String>(&mut conn, &lasts).as_deref(), Some("wait/synch/cond/squall/commit"));
    let last: Option<String> =
        value(&mut conn, &format!("SELECT last_wait_latency FROM sys.session WHERE conn_id = {id}"));
    assert_eq!(last.as_deref(), Some("Still Waiting"));
    faults.release_syncs();
    update.join().expect("a thread").expect("an update");
}

#[test]
fn an_event_that_fires_while_it_is_dropped_stays_dropped() {
    let Some((mut server, faults)) = start("an_event_that_fires_while_it_is_dropped_stays_dropped") else { return };
    let mut conn = server.connect();
    run(&mut conn, "SET GLOBAL event_scheduler = ON");
    for round in 0..6 {
        run(&mut conn, "CREATE EVENT d.e ON SCHEDULE EVERY 1 SECOND DO DO 1");
        // Most often the record that it has fired is what is held up.
        std::thread::sleep(Duration::from_millis(700));
        faults.hold_syncs();
        faults.await_held_sync();
        let (_, drop) = in_background(&server, "DROP EVENT d.e");
        await_running(&mut conn, "DROP EVENT", 1);
        faults.release_syncs();
        drop.join().expect("a thread").expect("the event is dropped");
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(value(&mut conn, "SELECT COUNT(*) FROM information_schema.events"), Some(0), "round {round}");
    }
    server.kill();
    server.restart();
    assert_eq!(value(&mut server.connect(), "SELECT COUNT(*) FROM information_schema.events"), Some(0));
}
