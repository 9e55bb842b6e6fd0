//! Column tables of servers that are killed.

use super::{ALIVE, answer, difference, run};
use mysql::Conn;
use mysql::prelude::Queryable;
use squall_test_support::random::Random;
use squall_test_support::server::TestServer;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Rows that a statement of many rows brings.
const MANY: u64 = 30_000;
/// The row that counts transactions, which no other change takes.
const LAST_ID: u64 = 1_000_000;
const LAST: &str = "SELECT MAX(v) - 1000000 FROM d.r WHERE id = 1000000";

fn number(client: &mut Conn, sql: &str) -> u64 {
    client.query_first::<Option<u64>, _>(sql).expect(sql).flatten().unwrap_or(0)
}

/// What was acknowledged.
#[derive(Clone, Default)]
struct Acknowledged {
    loads: Arc<AtomicU64>,
    /// Changes of all rows of `d.swept`.
    sweeps: Arc<AtomicU64>,
    /// Changes of the engine of `d.changing`.
    engines: Arc<AtomicU64>,
    /// The number of the last transaction of `d.r` and `d.c`.
    last: Arc<AtomicU64>,
}

impl Acknowledged {
    fn counts(&self) -> [u64; 4] {
        [&self.loads, &self.sweeps, &self.engines, &self.last].map(|count| count.load(Ordering::Relaxed))
    }
}

fn numbers(table: &str, text: &str) -> String {
    format!(
        "INSERT INTO {table} WITH RECURSIVE n AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM n WHERE id < {MANY}) SELECT id, {text} FROM n"
    )
}

const SHORT_HASH: &str = "LEFT(MD5(id % 1000), 20)";

fn make_tables(client: &mut Conn) {
    for sql in [
        "CREATE DATABASE d",
        "CREATE TABLE d.r (id INT PRIMARY KEY, v INT, s VARCHAR(20), COLUMNAR KEY copy (v, s))",
        "CREATE TABLE d.c (id INT PRIMARY KEY, v INT, s VARCHAR(20), KEY (v)) ENGINE=COLUMN",
        "CREATE TABLE d.many (id INT, s VARCHAR(20)) ENGINE=COLUMN",
        "CREATE TABLE d.changing (id INT PRIMARY KEY, s VARCHAR(20))",
        "CREATE TABLE d.swept (id INT PRIMARY KEY, v INT) ENGINE=COLUMN",
        "SET SESSION cte_max_recursion_depth = 1000000",
        &numbers("d.changing", SHORT_HASH),
        &numbers("d.swept", "0"),
    ] {
        run(client, sql);
    }
}

/// Statements that clients repeat, one list each.
fn works() -> Vec<Vec<String>> {
    let load = ["SET SESSION cte_max_recursion_depth = 1000000".to_string(), numbers("d.many", SHORT_HASH)];
    let others: [&[&str]; 4] = [
        &["OPTIMIZE TABLE d.c, d.r"],
        &["ALTER TABLE d.r ADD COLUMNAR INDEX copy (s, v)", "OPTIMIZE TABLE d.r", "DROP INDEX copy ON d.r"],
        // Many rows at a time, by manifests.
        &[
            "UPDATE d.swept SET v = v + 1",
            "BEGIN",
            "UPDATE d.swept SET v = v + 1",
            "DELETE FROM d.swept WHERE id % 2 = 0",
            "ROLLBACK",
            "BEGIN",
            "DELETE FROM d.swept WHERE id % 3 = 0",
            "INSERT INTO d.swept SELECT id + 1, v FROM d.swept WHERE id % 3 = 2",
            "COMMIT",
        ],
        &["ALTER TABLE d.changing ENGINE=COLUMN", "OPTIMIZE TABLE d.changing", "ALTER TABLE d.changing ENGINE=InnoDB"],
    ];
    let mut works: Vec<Vec<String>> =
        others.iter().map(|work| work.iter().map(|sql| (*sql).to_string()).collect()).collect();
    works.push(load.into());
    works
}

/// Repeats the statements until the server is gone.
fn repeat(port: u16, work: &[String], acknowledged: &Acknowledged) {
    while_alive(port, |client| {
        work.iter().enumerate().try_for_each(|(step, sql)| {
            client.query_drop(sql)?;
            let count = match sql {
                sql if sql.starts_with("INSERT INTO d.many") => &acknowledged.loads,
                // The others are rolled back.
                sql if sql.starts_with("UPDATE d.swept") && step == 0 => &acknowledged.sweeps,
                sql if sql.starts_with("ALTER TABLE d.changing") => &acknowledged.engines,
                _ => return Ok(()),
            };
            count.fetch_add(1, Ordering::Relaxed);
            Ok(())
        })
    });
}

/// Changes `d.r` and `d.c` alike, in one transaction at a time.
fn change_both(port: u16, mut random: Random, last: &AtomicU64) {
    while_alive(port, |client| {
        let next = last.load(Ordering::Relaxed) + 1;
        client.query_drop("BEGIN")?;
        for table in ["d.r", "d.c"] {
            client.query_drop(format!("REPLACE INTO {table} VALUES ({LAST_ID}, {LAST_ID} + {next}, 'last')"))?;
        }
        let (first, count, value) = (random.below(5000), 1 + random.below(300), random.below(1000));
        for table in ["d.r", "d.c"] {
            let rows: Vec<String> =
                (first..first + count).map(|id| format!("({id}, {value}, 'v{}')", id % 50)).collect();
            client.query_drop(format!("REPLACE INTO {table} VALUES {}", rows.join(",")))?;
            client.query_drop(format!("UPDATE {table} SET v = v + 1 WHERE v = {}", value / 2))?;
            client.query_drop(format!("DELETE FROM {table} WHERE id % 31 = {} AND v < {value}", value % 31))?;
        }
        client.query_drop("COMMIT")?;
        last.store(next, Ordering::Relaxed);
        Ok(())
    });
}

/// `d.c`, `d.r` and its copy of columns have the same rows.
fn check_that_they_are_alike(client: &mut Conn, server: &TestServer) {
    for query in [
        "SELECT * FROM d.$ ORDER BY id",
        "SELECT COUNT(*), SUM(v), SUM(id), MIN(s), MAX(v) FROM d.$",
        "SELECT s, COUNT(*) FROM d.$ WHERE v > 100 GROUP BY s ORDER BY s",
    ] {
        let expected = answer(client, server, &query.replace('$', "r"));
        for table in ["c", "r USE INDEX ()"] {
            let found = answer(client, server, &query.replace('$', table));
            assert!(found == expected, "{query} ({table})\n{}", difference(&expected, &found));
        }
    }
}

/// What was acknowledged is there, and nothing by half. The last statement of each client may have happened, too.
fn check_what_is_there(client: &mut Conn, [loads, sweeps, _, last]: [u64; 4], swept_before: u64) {
    let many = number(client, "SELECT COUNT(*) FROM d.many");
    assert!(many.is_multiple_of(MANY), "a load of {MANY} rows has left {many}");
    let transactions = number(client, LAST);
    let swept = number(client, "SELECT MAX(v) FROM d.swept") - swept_before;
    for (what, acknowledged, found) in
        [("loads", loads, many / MANY), ("transactions", last, transactions), ("changes of all rows", sweeps, swept)]
    {
        let is_there = found == acknowledged || found == acknowledged + 1;
        assert!(is_there, "{acknowledged} {what} were acknowledged, {found} are there");
    }
    let sum = MANY * (MANY + 1) / 2;
    let changing: (u64, u64) = client.query_first("SELECT COUNT(*), SUM(id) FROM d.changing").unwrap().unwrap();
    assert_eq!(changing, (MANY, sum));
    let swept: (u64, u64, u64) =
        client.query_first("SELECT COUNT(*), SUM(id), COUNT(DISTINCT v) FROM d.swept").unwrap().unwrap();
    assert_eq!(swept, (MANY, sum, 1));
    for table in ["d.c", "d.r", "d.many", "d.changing", "d.swept"] {
        let checked: Vec<(String, String, String, String)> = client.query(format!("CHECK TABLE {table}")).unwrap();
        assert!(checked.iter().all(|(.., text)| text == "OK"), "{checked:?}");
    }
}

/// Segments that no list names go, once the background has done what it is at.
fn check_that_files_are_listed(client: &mut Conn, server: &TestServer) {
    let listed = "SELECT COALESCE(SUM(segments), 0) FROM information_schema.column_tables";
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let listed: u64 = client.query_first(listed).unwrap().unwrap();
        let files = segment_files(&server.data_directory().join("columns"));
        if files == listed {
            break;
        }
        assert!(Instant::now() < deadline, "{files} files, {listed} in lists");
    }
}

/// Changes of a row table and of a column table in one transaction, while the second one is sealed, merged, loaded and made
/// another engine's, until the server is killed: afterwards both have the same rows, and loads have happened or have not.
/// `SQUALL_CRASH_ROUNDS=500` makes the long run.
#[test]
fn killed_servers_keep_column_tables() {
    let rounds = squall_test_support::crash_rounds(10);
    let mut server = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    make_tables(&mut server.connect());
    let mut random = Random::of_run("killed_servers_keep_column_tables");
    let mut done = [0; 4];
    for round in 1..=rounds {
        let acknowledged = Acknowledged::default();
        let swept_before = number(&mut server.connect(), "SELECT MAX(v) FROM d.swept");
        let last_before = number(&mut server.connect(), LAST);
        acknowledged.last.store(last_before, Ordering::Relaxed);
        let port = server.port();
        let mut threads = Vec::new();
        for work in works() {
            let acknowledged = acknowledged.clone();
            threads.push(std::thread::spawn(move || repeat(port, &work, &acknowledged)));
        }
        let (changes, last) = (Random::new(random.number()), acknowledged.last.clone());
        threads.push(std::thread::spawn(move || change_both(port, changes, &last)));
        // One kind in each round, so that slow machines do some of all.
        let awaited = (round % 4) as usize;
        let before = if awaited == 3 { last_before } else { 0 };
        let is_done = || acknowledged.counts()[awaited] > before;
        squall_test_support::let_work(Duration::from_millis(100 + random.below(900)), is_done);
        server.kill();
        threads.into_iter().for_each(|thread| thread.join().expect("a client's thread"));
        server.restart();
        println!("round {round}");
        let mut client = server.connect();
        check_that_they_are_alike(&mut client, &server);
        let [loads, sweeps, engines, last] = acknowledged.counts();
        check_what_is_there(&mut client, acknowledged.counts(), swept_before);
        run(&mut client, "TRUNCATE TABLE d.many");
        check_that_files_are_listed(&mut client, &server);
        for (done, told) in done.iter_mut().zip([loads, sweeps, engines, last - last_before]) {
            *done += told;
        }
    }
    let [loads, sweeps, engines, transactions] = done;
    println!(
        "{rounds} kills, {loads} loads, {sweeps} changes of all rows, {engines} of the engine, {transactions} transactions"
    );
    assert!(done.iter().all(|done| *done > 0), "too little was done for the run to mean anything: {done:?}");
}

fn while_alive(port: u16, mut work: impl FnMut(&mut Conn) -> mysql::Result<()>) {
    let Ok(mut client) = squall_test_support::server::connect("127.0.0.1", port, Duration::from_secs(5)) else {
        return;
    };
    loop {
        match work(&mut client) {
            Ok(()) => {}
            // Another client's definition or lock was in the way, or the last try got half of the way.
            Err(mysql::Error::MySqlError(error)) if ALIVE.contains(&error.code) => {
                let _ = client.query_drop("ROLLBACK");
            }
            Err(mysql::Error::MySqlError(error)) => panic!("{error}"),
            Err(_) => return,
        }
    }
}

fn segment_files(folder: &Path) -> u64 {
    let folders = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let files = folders.flat_map(|folder| std::fs::read_dir(folder.path()).into_iter().flatten().flatten());
    files.filter(|file| file.path().extension().is_some_and(|extension| extension == "parquet")).count() as u64
}
