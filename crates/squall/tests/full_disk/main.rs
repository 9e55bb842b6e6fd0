//! A full disk, and a file that cannot be written: the statement gets an error and the server does not end, reads continue, and nothing
//! acknowledged is lost.

mod columns;

use mysql::prelude::Queryable;
use squall_test_support::random::Random;
use squall_test_support::server::{TestServer, error_code};
use squall_test_support::skip;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const DISK_FULL: u16 = 1021;
const TABLE_FULL: u16 = 1114;
const ERROR_DURING_COMMIT: u16 = 1180;
const READ_ONLY: u16 = 1836;

/// How long the engine may take to come to rest.
const WAIT_TIME_MAX: Duration = Duration::from_secs(60);

/// Bytes of the file system that the server is given.
const DISK_BYTES: u64 = 160 << 20;

/// A small file system in memory; unmounted when dropped.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// `None` where this process may not mount.
    fn mount(test: &str) -> Option<SmallDisk> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={DISK_BYTES}"), "tmpfs"])
            .arg(folder.path())
            .status();
        if !mounted.is_ok_and(|status| status.success()) {
            skip(test, "to mount a tmpfs, which root may");
            return None;
        }
        Some(SmallDisk(folder))
    }

    /// A server whose data directory lies on the disk.
    fn start(&self) -> TestServer {
        let folder = tempfile::tempdir_in(self.0.path()).expect("a folder on the small disk");
        TestServer::start_in(Path::new(env!("CARGO_BIN_EXE_squall")), folder)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: the server's own folder is in it and is removed shortly after.
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

/// Tries until there is no error; only those of a full disk may come before.
fn until_done(mut attempt: impl FnMut() -> Option<u16>) {
    let started = Instant::now();
    while let Some(code) = attempt() {
        assert!([TABLE_FULL, ERROR_DURING_COMMIT].contains(&code), "{code}");
        assert!(started.elapsed() < WAIT_TIME_MAX, "still {code}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn count(conn: &mut mysql::Conn, table: &str) -> u64 {
    conn.query_first(format!("SELECT COUNT(*) FROM {table}")).expect("a count").expect("a row")
}

#[test]
fn a_full_disk_is_an_error_of_the_statement() {
    let Some(disk) = SmallDisk::mount("a_full_disk_is_an_error_of_the_statement") else { return };
    let mut server = disk.start();
    let mut conn = server.connect();
    conn.query_drop("CREATE DATABASE d").expect("a database");
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, v LONGBLOB, KEY (id, v(10)))").expect("a table");
    conn.query_drop("INSERT INTO d.t VALUES (0, 'first')").expect("a row");
    let mut random = Random::of_run("a_full_disk_is_an_error_of_the_statement");

    // Until the disk is full.
    let mut stored = 1;
    let refused = loop {
        let insert = conn.exec_drop("INSERT INTO d.t VALUES (?, ?)", (stored, random.bytes(500_000)));
        match error_code(insert) {
            None => stored += 1,
            Some(code) => break code,
        }
        assert!(stored < DISK_BYTES / 500_000, "the disk does not fill up");
    };
    // At the statement; or at its commit, if the engine has asked for more space in between.
    assert!([TABLE_FULL, ERROR_DURING_COMMIT].contains(&refused), "{refused}");
    assert_eq!(count(&mut conn, "d.t"), stored);

    // A statement is refused as a whole, its transaction stays, and changes that free space are let through. While
    // the engine merges files it has the space that deletes need: then they are refused and can be tried again.
    let twice = "INSERT INTO d.t SELECT id + 100000, v FROM d.t";
    until_done(|| {
        conn.query_drop("START TRANSACTION").expect("a transaction");
        let deleted = error_code(conn.query_drop("DELETE FROM d.t WHERE id = 0"));
        assert_eq!(deleted, None, "a delete needs no room before its commit");
        assert_eq!(error_code(conn.query_drop(twice)), Some(TABLE_FULL));
        error_code(conn.query_drop("COMMIT"))
    });
    assert_eq!(count(&mut conn, "d.t"), stored - 1);
    let create = conn.query_drop("CREATE TABLE d.other AS SELECT * FROM d.t");
    assert!(error_code(create).is_some(), "a copy of everything has no room");
    assert_eq!(error_code(conn.query_drop("SELECT 1 FROM d.other")), Some(1146));

    // Space again: writes go on, in the same server.
    conn.query_drop("TRUNCATE TABLE d.t").expect("room again");
    until_done(|| error_code(conn.query_drop("INSERT INTO d.t VALUES (1, REPEAT('y', 1000000))")));
    server.kill();
    server.restart();
    assert_eq!(count(&mut server.connect(), "d.t"), 1);
}

#[test]
fn others_may_fill_the_disk() {
    let Some(disk) = SmallDisk::mount("others_may_fill_the_disk") else { return };
    let server = disk.start();
    let mut conn = server.connect();
    conn.query_drop("CREATE DATABASE d").expect("a database");
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(100))").expect("a table");
    conn.query_drop("INSERT INTO d.t VALUES (1, 'a')").expect("a row");
    let other = disk.0.path().join("other");
    // Writing fails where the disk ends: a part of a megabyte may be left.
    let _ = std::fs::write(&other, vec![1u8; DISK_BYTES as usize]);
    // Statements are refused after the server's next look.
    let mut rows = 1;
    let refused = loop {
        match error_code(conn.query_drop(format!("INSERT INTO d.t VALUES ({rows} + 1, 'b')"))) {
            None => rows += 1,
            Some(code) => break code,
        }
    };
    // The first is refused at its start or, if the look came in between, at its end.
    assert!(refused == TABLE_FULL || refused == ERROR_DURING_COMMIT, "{refused}");
    assert_eq!(error_code(conn.query_drop("UPDATE d.t SET v = 'c'")), Some(TABLE_FULL));
    assert_eq!(error_code(conn.query_drop("CREATE TABLE d.u (id INT)")), Some(DISK_FULL));
    assert_eq!(count(&mut conn, "d.t"), rows);
    std::fs::remove_file(other).expect("the other file");
    conn.query_drop("UPDATE d.t SET v = 'c'").expect("a change after the disk was full");
    conn.query_drop("INSERT INTO d.t VALUES (0, 'd')").expect("a row after the disk was full");
    assert_eq!(count(&mut conn, "d.t"), rows + 1);
}

#[test]
fn a_failed_write_stops_writes_and_says_why() {
    let mut server = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    let mut conn = server.connect();
    conn.query_drop("CREATE DATABASE d").expect("a database");
    conn.query_drop("CREATE TABLE d.t (id INT PRIMARY KEY, v LONGBLOB)").expect("a table");
    let process = server.process_id().to_string();
    let limited = Command::new("prlimit").args(["--pid", &process, "--fsize=500000"]).status();
    if !limited.is_ok_and(|status| status.success()) {
        skip("a_failed_write_stops_writes_and_says_why", "prlimit");
        return;
    }
    let mut random = Random::of_run("a_failed_write_stops_writes_and_says_why");
    let mut stored = 0;
    let first = loop {
        let insert = conn.exec_drop("INSERT INTO d.t VALUES (?, ?)", (stored, random.bytes(100_000)));
        match error_code(insert) {
            None => stored += 1,
            Some(code) => break code,
        }
        assert!(stored < 100, "files grow beyond their limit");
    };
    assert_eq!(first, ERROR_DURING_COMMIT);
    let Err(mysql::Error::MySqlError(error)) = conn.query_drop("DELETE FROM d.t") else {
        panic!("a write after a failed one");
    };
    assert_eq!(error.code, READ_ONLY);
    assert!(error.message.contains("File too large"), "{}", error.message);
    assert_eq!(count(&mut conn, "d.t"), stored, "what was acknowledged can be read, and nothing else");
    server.kill();
    server.restart();
    let mut conn = server.connect();
    let after = count(&mut conn, "d.t");
    assert!(after == stored || after == stored + 1, "{after} of {stored} acknowledged rows after a restart");
    conn.query_drop("INSERT INTO d.t VALUES (-1, 'after')").expect("a write after a restart");
}
