//! Failed writes and syncs: nothing acknowledged is lost, no other change is visible, and the server reports the failure.

use super::{ERROR_DURING_COMMIT, READ_ONLY, refusal, run, start, status, value, wait_until};
use mysql::prelude::Queryable;
use squall_test_support::faults::{Control, EIO, ENOSPC, Faults};
use squall_test_support::random::Random;
use squall_test_support::server::{self, TestServer, error_code};
use std::time::Duration;

/// Tables whose rows come in pairs, each pair by one transaction.
fn create_pairs(server: &TestServer) -> mysql::Conn {
    let mut conn = server.connect();
    run(&mut conn, "CREATE TABLE d.a (id INT PRIMARY KEY, v LONGBLOB)");
    run(&mut conn, "CREATE TABLE d.b (id INT PRIMARY KEY, w INT, KEY (w))");
    conn
}

/// Commits a pair; gives the error's number, if there was one.
fn insert_pair(conn: &mut mysql::Conn, id: u64) -> Option<u16> {
    let statements = [
        "BEGIN".to_string(),
        format!("INSERT INTO d.a VALUES ({id}, REPEAT('x', {}))", id * 37 % 2000),
        format!("INSERT INTO d.b VALUES ({id}, -{id})"),
        "COMMIT".to_string(),
    ];
    let failed = statements.iter().find_map(|sql| error_code(conn.query_drop(sql)));
    if failed.is_some() {
        run(conn, "ROLLBACK");
    }
    failed
}

/// The ids that are there, which all ways of reading must agree on.
fn pairs(conn: &mut mysql::Conn) -> Vec<u64> {
    let a: Vec<u64> = conn.query("SELECT id FROM d.a ORDER BY id").expect("rows of a");
    let b: Vec<u64> = conn.query("SELECT id FROM d.b ORDER BY id").expect("rows of b");
    let by_key: Vec<u64> = conn.query("SELECT id FROM d.b FORCE INDEX (w) WHERE w < 0 ORDER BY id").expect("by key");
    assert_eq!(a, b, "half a transaction");
    assert_eq!(b, by_key, "an index that differs from its table");
    for id in &a {
        assert_eq!(value(conn, &format!("SELECT id FROM d.a WHERE id = {id}")), Some(*id));
    }
    a
}

fn restart(server: &mut TestServer) -> mysql::Conn {
    server.kill();
    server.restart();
    server.connect()
}

#[test]
fn a_failed_sync_stops_writes_and_is_not_shown() {
    let Some((mut server, faults)) = start("a_failed_sync_stops_writes_and_is_not_shown") else { return };
    let mut conn = create_pairs(&server);
    assert_eq!((1..=5).find_map(|id| insert_pair(&mut conn, id)), None);
    assert_eq!(status(&mut conn, "Squall_write_failure"), "");
    let mut earlier = server.connect();
    run(&mut earlier, "BEGIN");
    assert_eq!(pairs(&mut earlier), [1, 2, 3, 4, 5]);

    // Eight at once: whatever group each is in, none is told that it is done.
    faults.set(Control::SyncError, EIO);
    let port = server.port();
    let writers: Vec<_> = (11..=18)
        .map(|id| {
            std::thread::spawn(move || {
                let mut conn = server::connect("127.0.0.1", port, Duration::from_secs(5)).expect("a connection");
                insert_pair(&mut conn, id)
            })
        })
        .collect();
    for writer in writers {
        let code = writer.join().expect("a writer").expect("an error");
        assert!([ERROR_DURING_COMMIT, READ_ONLY].contains(&code), "{code}");
    }
    assert!(faults.get(Control::Failures) > 0);

    // They are not visible in any way; reads go on.
    for conn in [&mut conn, &mut earlier] {
        assert_eq!(pairs(conn), [1, 2, 3, 4, 5]);
    }
    assert_eq!(value::<u64>(&mut conn, "SELECT id FROM d.a WHERE id = 11 FOR UPDATE"), None);
    assert_eq!(value::<u64>(&mut conn, "SELECT COUNT(*) FROM d.b WHERE w < -10 FOR SHARE"), Some(0));

    // The reason is told, also when the disk is well again: what a sync has lost once stays lost.
    faults.set(Control::SyncError, 0);
    for sql in ["DELETE FROM d.a", "INSERT INTO d.b VALUES (30, 30)", "CREATE TABLE d.c (id INT)", "DROP TABLE d.a"] {
        let (code, text) = refusal(&mut conn, sql);
        assert_eq!(code, READ_ONLY, "{sql}: {text}");
        assert!(text.contains("Input/output error") && text.contains("restart the server"), "{sql}: {text}");
    }
    assert!(status(&mut conn, "Squall_write_failure").contains("Input/output error"));
    assert!(server.log().contains("[Server] writing to the data directory has failed"), "{}", server.log());

    // A restart decides what has become of them; each is there as a whole or not at all. What it shows goes to the tables'
    // files, since the system may take for written what it could not write to the log: a power cut changes nothing.
    let after = pairs(&mut restart(&mut server));
    assert_eq!(after[..5], [1, 2, 3, 4, 5]);
    assert!(after[5..].iter().all(|id| (11..=18).contains(id)), "{after:?}");
    server.kill();
    faults.cut_power();
    server.restart();
    let mut conn = server.connect();
    assert_eq!(pairs(&mut conn), after);
    assert_eq!(insert_pair(&mut conn, 20), None);
}

#[test]
fn what_could_not_be_synced_is_gone_after_a_power_cut() {
    let Some((mut server, faults)) = start("what_could_not_be_synced_is_gone_after_a_power_cut") else { return };
    let mut conn = create_pairs(&server);
    assert_eq!((1..=3).find_map(|id| insert_pair(&mut conn, id)), None);
    faults.set(Control::SyncError, EIO);
    assert_eq!(insert_pair(&mut conn, 4), Some(ERROR_DURING_COMMIT));
    assert_eq!(pairs(&mut conn), [1, 2, 3]);
    faults.set(Control::SyncError, 0);
    server.kill();
    faults.cut_power();
    server.restart();
    assert_eq!(pairs(&mut server.connect()), [1, 2, 3]);
}

#[test]
fn a_definition_that_cannot_be_synced_does_not_happen() {
    let Some((mut server, faults)) = start("a_definition_that_cannot_be_synced_does_not_happen") else { return };
    let mut conn = server.connect();
    faults.set(Control::SyncError, EIO);
    let (code, _) = refusal(&mut conn, "CREATE TABLE d.t (id INT PRIMARY KEY)");
    assert!([ERROR_DURING_COMMIT, READ_ONLY].contains(&code), "{code}");
    assert_eq!(refusal(&mut conn, "SELECT * FROM d.t").0, 1146);
    faults.set(Control::SyncError, 0);
    let mut conn = restart(&mut server);
    run(&mut conn, "CREATE TABLE IF NOT EXISTS d.t (id INT PRIMARY KEY)");
    run(&mut conn, "INSERT INTO d.t VALUES (1)");
}

#[test]
fn a_disk_that_fills_up_in_the_middle_of_a_write() {
    let Some((mut server, faults)) = start("a_disk_that_fills_up_in_the_middle_of_a_write") else { return };
    let mut conn = create_pairs(&server);
    let mut acknowledged = 0;
    // From nothing at all to all but the last byte of a commit, and somewhere in a later one.
    for (round, room) in [0, 1, 13, 40, 700, 1500, 2200, 9000].into_iter().enumerate() {
        faults.set(Control::WriteBytesLeft, room);
        faults.set(Control::WriteError, ENOSPC);
        let refused = loop {
            match insert_pair(&mut conn, acknowledged + 1) {
                None => acknowledged += 1,
                Some(code) => break code,
            }
        };
        // A write of the server's own may have met the end of the disk first.
        assert!([ERROR_DURING_COMMIT, READ_ONLY].contains(&refused), "{room} bytes: {refused}");
        let expected: Vec<u64> = (1..=acknowledged).collect();
        assert_eq!(pairs(&mut conn), expected, "{room} bytes");
        let (code, text) = refusal(&mut conn, "INSERT INTO d.a VALUES (0, '')");
        assert_eq!(code, READ_ONLY, "{text}");
        assert!(text.contains("No space left on device"), "{text}");
        faults.set(Control::WriteError, 0);
        // Alternately closed and killed.
        if round % 2 == 0 {
            server.terminate();
            server.restart();
            conn = server.connect();
        } else {
            conn = restart(&mut server);
        }
        // The one that failed may be there now, as it may be in a log that was complete on the disk after all.
        let after = pairs(&mut conn);
        assert!(after.len() as u64 - acknowledged <= 1 && after.starts_with(&expected), "{room} bytes: {after:?}");
        acknowledged = after.len() as u64;
    }
}

/// A file that a table's changes go to in the background, and the log's next one.
#[test]
fn a_disk_that_fills_up_in_the_background() {
    let Some((mut server, faults)) = start("a_disk_that_fills_up_in_the_background") else { return };
    let mut conn = create_pairs(&server);
    faults.set(Control::WriteBytesLeft, 34 << 20);
    faults.set(Control::WriteError, ENOSPC);
    let payload = Random::of_run("a_disk_that_fills_up_in_the_background").bytes(500_000);
    let mut acknowledged = 0;
    let refused = loop {
        match error_code(conn.exec_drop("INSERT INTO d.a VALUES (?, ?)", (acknowledged + 1, &payload))) {
            None => acknowledged += 1,
            Some(code) => break code,
        }
        assert!(acknowledged < 200, "nothing fails");
    };
    assert!([ERROR_DURING_COMMIT, READ_ONLY].contains(&refused), "{refused}");
    wait_until("the failure is known", || !status(&mut conn, "Squall_write_failure").is_empty());
    let count = "SELECT COUNT(*) FROM d.a WHERE LENGTH(v) = 500000";
    assert_eq!(value(&mut conn, count), Some(acknowledged));
    faults.set(Control::WriteError, 0);
    let mut conn = restart(&mut server);
    let after: u64 = value(&mut conn, count).expect("a count");
    assert!(after == acknowledged || after == acknowledged + 1, "{after} of {acknowledged}");
    run(&mut conn, "INSERT INTO d.a VALUES (-1, '')");
}

/// With nothing to commit, the failure is found out all the same.
#[test]
fn a_lazy_sync_that_fails_is_told() {
    let Some((mut server, faults)) = start("a_lazy_sync_that_fails_is_told") else { return };
    let mut conn = create_pairs(&server);
    run(&mut conn, "SET GLOBAL durability = 'lazy'");
    faults.set(Control::SyncError, EIO);
    assert_eq!(insert_pair(&mut conn, 1), None, "a lazy commit waits for no sync");
    wait_until("the failure is known", || status(&mut conn, "Squall_write_failure").contains("Input/output error"));
    assert_eq!(insert_pair(&mut conn, 2), Some(READ_ONLY));
    faults.set(Control::SyncError, 0);
    let after = pairs(&mut restart(&mut server));
    assert!(after.is_empty() || after == [1], "{after:?}");
}

/// Commits that wait for no sync may be lost by a power cut: the last ones, each as a whole.
#[test]
fn a_power_cut_takes_the_last_lazy_commits_as_a_whole() {
    let Some((mut server, faults)) = start("a_power_cut_takes_the_last_lazy_commits_as_a_whole") else { return };
    let mut conn = create_pairs(&server);
    let mut next = 1;
    for durability in ["lazy", "os", "lazy"] {
        run(&mut conn, &format!("SET GLOBAL durability = '{durability}'"));
        assert_eq!((next..next + 60).find_map(|id| insert_pair(&mut conn, id)), None);
        server.kill();
        faults.cut_power();
        server.restart();
        conn = server.connect();
        let after = pairs(&mut conn);
        assert!(after.len() as u64 >= next - 1, "what the last start has read is durable");
        assert_eq!(after, (1..=after.len() as u64).collect::<Vec<_>>(), "{durability}");
        next = after.len() as u64 + 1;
    }
}

fn write_in_pieces(faults: &Faults, bytes: u64) {
    faults.set(Control::WriteBytesMax, bytes);
}

#[test]
fn writes_in_pieces_are_whole_in_the_end() {
    let Some((mut server, faults)) = start("writes_in_pieces_are_whole_in_the_end") else { return };
    let mut conn = create_pairs(&server);
    for bytes in [1, 7, 4000] {
        write_in_pieces(&faults, bytes);
        let there = pairs(&mut conn).len() as u64;
        assert_eq!((there + 1..=there + 20).find_map(|id| insert_pair(&mut conn, id)), None);
        if bytes == 7 {
            server.terminate();
            server.restart();
            conn = server.connect();
        } else {
            conn = restart(&mut server);
        }
        let expected: Vec<u64> = (1..=there + 20).collect();
        assert_eq!(pairs(&mut conn), expected);
    }
}

#[test]
fn a_queued_statement_whose_commit_fails_is_not_done() {
    let Some((server, faults)) = start("a_queued_statement_whose_commit_fails_is_not_done") else { return };
    let mut conn = create_pairs(&server);
    run(&mut conn, "CALL async.queue('INSERT INTO d.b SELECT 1, 1')");
    run(&mut conn, "CALL async.wait(@query_number)");
    run(&mut conn, "CALL async.queue('INSERT INTO d.b SELECT 2, SLEEP(1)')");
    let number: u64 = value(&mut conn, "SELECT @query_number").expect("its number");
    faults.set(Control::SyncError, EIO);
    // Its worker does not wait for its commit, but no client is told that it is done.
    let (code, message) = refusal(&mut conn, &format!("CALL async.wait({number})"));
    assert!([ERROR_DURING_COMMIT, READ_ONLY].contains(&code), "{code} {message}");
    assert_eq!(value(&mut conn, "SELECT GROUP_CONCAT(id) FROM d.b"), Some("1".to_string()));
    let state = format!("SELECT state FROM information_schema.jobs WHERE kind = 'async' AND number = {number}");
    assert_eq!(value(&mut conn, &state), Some("failed".to_string()));
}

#[test]
fn a_statement_that_a_call_does_itself_is_there_with_its_job_or_not_at_all() {
    let Some((mut server, faults)) = start("a_statement_that_a_call_does_itself_is_there_with_its_job_or_not_at_all")
    else {
        return;
    };
    let mut conn = create_pairs(&server);
    let mut last = 0;
    wait_until("a statement that the CALL does", || {
        last += 1;
        run(&mut conn, &format!("CALL async.queue('INSERT INTO d.b VALUES ({last}, 1)')"));
        run(&mut conn, "CALL async.wait_all()");
        status(&mut conn, "Async_queries_done_at_once") != "0"
    });
    faults.set(Control::SyncError, EIO);
    let (code, message) = refusal(&mut conn, &format!("CALL async.queue('INSERT INTO d.b VALUES ({}, 1)')", last + 1));
    assert!([ERROR_DURING_COMMIT, READ_ONLY].contains(&code), "{code} {message}");
    assert_eq!(value(&mut conn, "SELECT MAX(id) FROM d.b"), Some(last.to_string()));
    server.kill();
    faults.set(Control::SyncError, 0);
    faults.cut_power();
    server.restart();
    conn = server.connect();
    let jobs = "SELECT COUNT(*) FROM async.q WHERE completed AND errno IS NULL";
    assert_eq!(value::<u64>(&mut conn, "SELECT COUNT(*) FROM d.b"), value(&mut conn, jobs));
}
