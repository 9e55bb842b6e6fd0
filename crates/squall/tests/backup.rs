//! Backups of servers that work: what is restored is what was committed when the backup began.
//!
//! Writers move money between accounts and count their transactions, in row and column tables, partitions and copies of columns. Another session makes, changes, fills,
//! truncates and drops tables. Meanwhile backups are made. Each is restored, checked by `squall check`, and started. What was acknowledged
//! before the backup began is there, each transaction as a whole, and nothing that began after it ended. `SQUALL_CRASH_ROUNDS=200` makes
//! the long run.

use mysql::prelude::Queryable;
use squall_test_support::random::Random;
use squall_test_support::server::{self, TestServer};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const BINARY: &str = env!("CARGO_BIN_EXE_squall");
const WRITERS: u64 = 3;
const ACCOUNTS: u64 = 10;
const MONEY: i64 = 1000;
/// Rows that one statement loads.
const LOADED: u64 = 3000;

fn squall(arguments: &[&str]) -> Output {
    Command::new(BINARY).args(arguments).output().expect("the binary")
}

/// Runs a command, which must succeed; what it printed.
fn run(arguments: &[&str]) -> String {
    let output = squall(arguments);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{arguments:?}: {}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// A folder for a restored server, and the server, not started yet.
fn restored(backups: &Path, name: &str) -> TestServer {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let data = folder.path().join("data");
    run(&["restore", "--from", path(backups), "--backup", name, "--to", path(&data), "--quiet"]);
    let checked = run(&["check", path(&data)]);
    assert!(checked.contains("tables are whole"), "{checked}");
    let mut server = TestServer::stopped(Path::new(BINARY), folder);
    server.restart();
    server
}

#[test]
fn backups_of_a_busy_server_are_of_one_moment() {
    let rounds = squall_test_support::crash_rounds(6);
    let server = TestServer::start(Path::new(BINARY));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let backups = folder.path().join("backups");
    create_tables(&mut server.connect());
    let acknowledged: Vec<Arc<AtomicU64>> = (0..WRITERS).map(|_| Arc::new(AtomicU64::new(0))).collect();
    let is_over = Arc::new(AtomicBool::new(false));
    let mut random = Random::of_run("backups_of_a_busy_server_are_of_one_moment");
    let mut threads = Vec::new();
    for (acknowledged, writer) in acknowledged.iter().zip(0..) {
        let (conn, acknowledged, is_over) = (server.connect(), acknowledged.clone(), is_over.clone());
        let random = Random::new(random.number());
        threads.push(std::thread::spawn(move || write(conn, writer, &acknowledged, &is_over, random)));
    }
    for work in [define, load, seal] {
        let (conn, is_over) = (server.connect(), is_over.clone());
        threads.push(std::thread::spawn(move || {
            let mut conn = conn;
            for number in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                work(&mut conn, number);
            }
        }));
    }
    let count = || acknowledged.iter().map(|count| count.load(Ordering::SeqCst)).collect::<Vec<_>>();
    let mut conn = server.connect();
    for _ in 0..rounds {
        let before = count();
        squall_test_support::let_work(Duration::from_millis(30 + random.number() % 200), || {
            count().iter().zip(&before).all(|(now, before)| now > before)
        });
        let least = count();
        let made: mysql::Row = conn
            .query_first(format!("BACKUP SERVER TO '{}'", path(&backups)))
            .expect("a backup")
            .expect("a row about it");
        let most = count();
        let name: String = made.get(0).expect("its name");
        check(&restored(&backups, &name), &least, &most);
    }
    is_over.store(true, Ordering::Relaxed);
    threads.into_iter().for_each(|thread| thread.join().expect("a writer's thread"));
    let listed = run(&["backup", "--list", path(&backups)]);
    assert_eq!(listed.lines().count() as u64, rounds + 1, "{listed}");
}

fn create_tables(conn: &mut mysql::Conn) {
    let statements = [
        "CREATE DATABASE b".to_owned(),
        "CREATE TABLE b.journal (writer INT, seq BIGINT, text VARCHAR(200), sum BIGINT, PRIMARY KEY (writer, seq), KEY (text), COLUMNAR KEY by_column (seq, sum))".into(),
        "CREATE TABLE b.seen (writer INT, seq BIGINT, PRIMARY KEY (writer, seq)) ENGINE = COLUMN PARTITION BY HASH (seq) PARTITIONS 3".into(),
        "CREATE TABLE b.counters (writer INT PRIMARY KEY, seq BIGINT)".into(),
        "CREATE TABLE b.accounts (id INT PRIMARY KEY, balance BIGINT)".into(),
        "CREATE TABLE b.loaded (id BIGINT PRIMARY KEY, v INT, KEY (v))".into(),
        "CREATE TABLE b.loaded_columns (id BIGINT PRIMARY KEY, v INT) ENGINE = COLUMN".into(),
        format!("INSERT INTO b.counters VALUES {}", rows(WRITERS, |writer| format!("({writer}, 0)"))),
        format!("INSERT INTO b.accounts VALUES {}", rows(ACCOUNTS, |id| format!("({id}, {MONEY})"))),
    ];
    statements.iter().for_each(|sql| conn.query_drop(sql).expect(sql));
}

fn rows(count: u64, row: impl Fn(u64) -> String) -> String {
    (0..count).map(row).collect::<Vec<_>>().join(", ")
}

fn write(mut conn: mysql::Conn, writer: u64, acknowledged: &AtomicU64, is_over: &AtomicBool, mut random: Random) {
    let mut seq = 1;
    while !is_over.load(Ordering::Relaxed) {
        let text: String = (0..1 + random.below(150)).map(|_| char::from(b'a' + random.below(26) as u8)).collect();
        let (from, to) = (random.below(ACCOUNTS), random.below(ACCOUNTS));
        let statements = [
            "BEGIN".to_owned(),
            format!("INSERT INTO b.journal VALUES ({writer}, {seq}, '{text}', CRC32('{text}'))"),
            format!("INSERT INTO b.seen VALUES ({writer}, {seq})"),
            format!("UPDATE b.counters SET seq = {seq} WHERE writer = {writer}"),
            format!("UPDATE b.accounts SET balance = balance - 1 WHERE id = {from}"),
            format!("UPDATE b.accounts SET balance = balance + 1 WHERE id = {to}"),
            "COMMIT".to_owned(),
        ];
        let done = statements.iter().try_for_each(|sql| conn.query_drop(sql));
        match done {
            Ok(()) => {
                acknowledged.store(seq, Ordering::SeqCst);
                seq += 1;
            }
            // A deadlock, or a row that has changed since the snapshot.
            Err(mysql::Error::MySqlError(error)) if [1213, 1020].contains(&error.code) => {
                conn.query_drop("ROLLBACK").expect("the end of a transaction that was given up");
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Tables come, change and go.
fn define(conn: &mut mysql::Conn, number: u64) {
    let statements = [
        format!(
            "CREATE TABLE b.t{number} (id INT PRIMARY KEY, v VARCHAR(200)) AS SELECT seq AS id, text AS v FROM b.journal WHERE writer = 0 LIMIT 50"
        ),
        format!("ALTER TABLE b.t{number} ADD KEY (v)"),
        format!("ALTER TABLE b.t{number} ENGINE = COLUMN"),
        format!("RENAME TABLE b.t{number} TO b.u{number}"),
        format!("TRUNCATE TABLE b.u{number}"),
        format!("DROP TABLE b.u{number}"),
    ];
    statements.iter().for_each(|sql| conn.query_drop(sql).expect(sql));
}

/// Files become parts of tables, beside the log.
fn load(conn: &mut mysql::Conn, number: u64) {
    if number == 0 {
        conn.query_drop("SET cte_max_recursion_depth = 100000").expect("a variable");
    }
    let first = number * LOADED;
    let numbers = format!(
        "WITH RECURSIVE n AS (SELECT {first} i UNION ALL SELECT i + 1 FROM n WHERE i < {first} + {LOADED} - 1)"
    );
    for table in ["loaded", "loaded_columns"] {
        let sql = format!("INSERT INTO b.{table} {numbers} SELECT i, i % 10 FROM n");
        conn.query_drop(&sql).expect(&sql);
    }
    if number % 7 == 6 {
        conn.query_drop("TRUNCATE TABLE b.loaded").expect("an empty table");
    }
}

/// Segments are made, merged, and replaced.
fn seal(conn: &mut mysql::Conn, number: u64) {
    std::thread::sleep(Duration::from_millis(20));
    let sql = match number % 4 {
        3 => "OPTIMIZE TABLE b.journal",
        0 => "OPTIMIZE TABLE b.seen",
        1 => "OPTIMIZE TABLE b.loaded_columns",
        _ => "DELETE FROM b.loaded_columns WHERE v = 3",
    };
    conn.query_drop(sql).expect(sql);
}

fn check(server: &TestServer, least: &[u64], most: &[u64]) {
    let mut conn = server.connect();
    let mut number = |sql: String| -> i64 { conn.query_first(&sql).expect(&sql).expect("a row") };
    assert_eq!(number("SELECT SUM(balance) FROM b.accounts".into()), ACCOUNTS as i64 * MONEY);
    assert_eq!(number("SELECT COUNT(*) FROM b.journal WHERE sum <> CRC32(text)".into()), 0);
    for (writer, (least, most)) in least.iter().zip(most).enumerate() {
        let seq = number(format!("SELECT seq FROM b.counters WHERE writer = {writer}"));
        // One more may have been committed without its answer.
        assert!((*least as i64..=*most as i64 + 1).contains(&seq), "writer {writer}: {least} <= {seq} <= {most} + 1");
        for table in ["journal", "seen"] {
            assert_eq!(number(format!("SELECT COUNT(*) FROM b.{table} WHERE writer = {writer}")), seq, "{table}");
        }
    }
    for table in ["loaded", "loaded_columns WHERE v = 4"] {
        let part = if table == "loaded" { LOADED } else { LOADED / 10 };
        assert_eq!(number(format!("SELECT COUNT(*) FROM b.{table}")) % part as i64, 0, "{table}");
    }
    // It is a server like others.
    conn.query_drop("UPDATE b.accounts SET balance = balance + 1").expect("a change");
    conn.query_drop("CREATE TABLE b.after_all (id INT PRIMARY KEY) ENGINE = COLUMN").expect("a definition");
}

/// A server with some megabytes in files.
fn filled() -> TestServer {
    let server = TestServer::start(Path::new(BINARY));
    let mut conn = server.connect();
    let statements = [
        "CREATE DATABASE b",
        "CREATE TABLE b.big (id INT PRIMARY KEY, v VARBINARY(1000))",
        "SET cte_max_recursion_depth = 1000000",
        "INSERT INTO b.big WITH RECURSIVE n AS (SELECT 1 i UNION ALL SELECT i + 1 FROM n WHERE i < 30000) SELECT i, RANDOM_BYTES(900) FROM n",
    ];
    statements.iter().for_each(|sql| conn.query_drop(sql).expect(sql));
    server
}

fn backups_in(server: &TestServer) -> PathBuf {
    server.data_directory().with_file_name("backups")
}

/// Whatever kills a server while it writes a backup, the earlier ones are whole, and the next one is.
#[test]
fn killed_backups_leave_the_others() {
    let rounds = squall_test_support::crash_rounds(8);
    let mut server = filled();
    let backups = backups_in(&server);
    let statement = format!("BACKUP SERVER TO '{}'", path(&backups));
    let mut random = Random::of_run("killed_backups_leave_the_others");
    let mut finished = 0;
    for round in 0..rounds {
        // So that there is something to copy.
        server.connect().query_drop("ALTER TABLE b.big FORCE").expect("other files");
        let (port, sql) = (server.port(), statement.clone());
        let backing = std::thread::spawn(move || {
            let conn = server::connect("127.0.0.1", port, Duration::from_secs(5));
            conn.is_ok_and(|mut conn| conn.query_drop(sql).is_ok())
        });
        std::thread::sleep(Duration::from_millis(random.below(60)));
        server.kill();
        finished += u64::from(backing.join().expect("the session's thread"));
        server.restart();
        if finished > 0 {
            run(&["backup", "--check", path(&backups), "--quiet"]);
        }
        if round % 4 == 3 {
            let port = server.port().to_string();
            let made = run(&["backup", "--to", path(&backups), "-P", &port, "--keep", "2", "--quiet"]);
            assert!(made.starts_with("backup "), "{made}");
            finished += 1;
            let listed = run(&["backup", "--list", path(&backups)]);
            assert!(listed.lines().count() <= 3, "{listed}");
            let name = listed.lines().last().and_then(|line| line.split(' ').next()).expect("a backup");
            let again = restored(&backups, name);
            let count: Option<u64> = again.connect().query_first("SELECT COUNT(*) FROM b.big").expect("a count");
            assert_eq!(count, Some(30_000));
        }
    }
    println!("{rounds} kills, {finished} backups were finished");
}

/// The commands on directories that are no backups, damaged ones, and a directory without a server.
#[test]
fn commands_tell_what_is_wrong() {
    let mut server = filled();
    let backups = backups_in(&server);
    let failed = |arguments: &[&str]| {
        let output = squall(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let port = server.port().to_string();
    let missing = failed(&["backup", "--list", path(&backups)]);
    assert!(missing.contains("there is no backup in"), "{missing}");
    let data = server.data_directory();
    let inside = failed(&["backup", "--to", path(&data.join("b")), "-P", &port]);
    assert!(inside.contains("Incorrect backup directory value"), "{inside}");
    let other = failed(&["backup", "--to", path(data.parent().expect("a folder")), "-P", &port]);
    assert!(other.contains("already exists"), "{other}");
    let open = failed(&["backup", "--to", path(&backups), "--datadir", path(&data)]);
    assert!(open.contains("another process"), "{open}");
    server.connect().query_drop("CREATE USER someone").expect("an account");
    let denied = failed(&["backup", "--to", path(&backups), "-P", &port, "-u", "someone"]);
    assert!(denied.contains("BACKUP_ADMIN"), "{denied}");
    assert!(!backups.exists());
    server.terminate();
    run(&["backup", "--to", path(&backups), "--datadir", path(&data), "--quiet"]);
    let again = failed(&["restore", "--from", path(&backups), "--to", path(&data)]);
    assert!(again.contains("not empty"), "{again}");
    let none = failed(&["restore", "--from", path(&backups), "--backup", "x", "--to", path(&data)]);
    assert!(none.contains("there is no backup x"), "{none}");
    // A byte that has changed is found before a directory is made of it.
    let shared = std::fs::read_dir(backups.join("files")).expect("files").next().expect("a folder").expect("a folder");
    let file = std::fs::read_dir(shared.path()).expect("files").next().expect("a file").expect("a file").path();
    let mut content = std::fs::read(&file).expect("its content");
    *content.last_mut().expect("a byte") ^= 1;
    std::fs::write(&file, content).expect("other content");
    let checked = failed(&["backup", "--check", path(&backups)]);
    assert!(checked.contains("1 of "), "{checked}");
    let target = data.with_file_name("restored");
    let damaged = failed(&["restore", "--from", path(&backups), "--to", path(&target)]);
    assert!(damaged.contains("not as it was written"), "{damaged}");
    assert!(!target.exists());
}
