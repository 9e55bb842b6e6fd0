//! Random transactions of several sessions over tables with foreign keys, while tables are redefined: at every visible time each row
//! has its parent, and no error is an internal one.

use crate::start;
use mysql::prelude::Queryable as _;
use squall_test_support::random::{Random, seed};
use squall_test_support::server::{TestServer, error_code};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const SESSIONS: u64 = 4;

/// Keys of rows are below this, so that sessions meet.
const KEYS: u64 = 8;

const TABLES: &str = "
    CREATE TABLE p (id INT PRIMARY KEY, v INT, k INT, UNIQUE KEY k (k));
    CREATE TABLE restricted (id INT PRIMARY KEY, r INT, FOREIGN KEY (r) REFERENCES p (id));
    CREATE TABLE cascaded (id INT PRIMARY KEY, r INT, FOREIGN KEY (r) REFERENCES p (id) ON DELETE CASCADE ON UPDATE CASCADE);
    CREATE TABLE cleared (id INT PRIMARY KEY, r INT, FOREIGN KEY (r) REFERENCES p (id) ON DELETE SET NULL ON UPDATE SET NULL);
    CREATE TABLE keyed (id INT PRIMARY KEY, r INT, FOREIGN KEY (r) REFERENCES p (k) ON DELETE CASCADE ON UPDATE CASCADE);
    CREATE TABLE below (id INT PRIMARY KEY, r INT, FOREIGN KEY (r) REFERENCES cascaded (id) ON DELETE CASCADE);
    CREATE TABLE own (id INT PRIMARY KEY, r INT, FOREIGN KEY (r) REFERENCES own (id) ON DELETE CASCADE);
    CREATE TABLE cp (id INT PRIMARY KEY, v INT) ENGINE=COLUMN;
    CREATE TABLE of_column (id INT PRIMARY KEY, r INT, FOREIGN KEY (r) REFERENCES cp (id) ON DELETE CASCADE)";

/// Children, the column that they refer to, and its table.
const REFERENCES: [(&str, &str, &str); 7] = [
    ("restricted", "p", "id"),
    ("cascaded", "p", "id"),
    ("cleared", "p", "id"),
    ("keyed", "p", "k"),
    ("below", "cascaded", "id"),
    ("own", "own", "id"),
    ("of_column", "cp", "id"),
];

/// What a session may meet: locks, deadlocks, changed rows, duplicates, missing parents, children, definitions, depth.
const EXPECTED: [u16; 12] = [1205, 1213, 1020, 1062, 1452, 1451, 1412, 3008, 1060, 1091, 1146, 1054];

fn statement(random: &mut Random) -> String {
    let (key, other) = (random.below(KEYS), random.below(KEYS));
    let (child, ..) = REFERENCES[random.below(REFERENCES.len() as u64) as usize];
    let parent = ["p", "cascaded", "own", "cp"][random.below(4) as usize];
    match random.below(16) {
        0 | 1 => format!("INSERT INTO {child} (id, r) VALUES ({key}, {other})"),
        2 => format!("INSERT IGNORE INTO {child} (id, r) VALUES ({key}, {other}), ({other}, {key})"),
        3 => format!("INSERT INTO {child} (id, r) VALUES ({key}, {other}) ON DUPLICATE KEY UPDATE r = {key}"),
        4 => format!("REPLACE INTO {child} (id, r) VALUES ({key}, {other})"),
        5 => format!("UPDATE {child} SET r = {other} WHERE id = {key}"),
        6 => format!("INSERT INTO {child} (id, r) SELECT id + {key}, {other} FROM p WHERE id < 3"),
        7 => format!("INSERT INTO p VALUES ({key}, {other}, {other})"),
        8 => format!("REPLACE INTO p VALUES ({key}, {other}, {key})"),
        9 => format!("UPDATE p SET id = {other}, k = {key} WHERE id = {key}"),
        10 => format!("INSERT IGNORE INTO cp VALUES ({key}, {other})"),
        11 => format!("DELETE FROM {parent} WHERE id = {key}"),
        12 => format!("DELETE IGNORE FROM {parent} WHERE id >= {key} LIMIT 3"),
        13 => format!("DELETE p, restricted FROM p JOIN restricted ON p.id = restricted.r WHERE p.id = {key}"),
        14 => format!("SELECT COUNT(*) FROM {child}"),
        _ => format!("DELETE FROM {child} WHERE id = {key}"),
    }
}

fn definition(random: &mut Random) -> &'static str {
    const DEFINITIONS: [&str; 7] = [
        "ALTER TABLE p RENAME COLUMN k TO renamed",
        "ALTER TABLE p RENAME COLUMN renamed TO k",
        "ALTER TABLE p FORCE",
        "ALTER TABLE cascaded FORCE",
        "ALTER TABLE restricted ADD COLUMN x INT",
        "ALTER TABLE restricted DROP COLUMN x",
        "ALTER TABLE below FORCE",
    ];
    DEFINITIONS[random.below(DEFINITIONS.len() as u64) as usize]
}

fn run_session(server: &TestServer, seed: u64, end: Instant, defines: bool, failed: &AtomicBool, done: &AtomicU64) {
    let mut random = Random::new(seed);
    let mut conn = server.connect();
    conn.query_drop("USE fk").expect("the database");
    conn.query_drop("SET innodb_lock_wait_timeout = 1, lock_wait_timeout = 2").expect("settings");
    while Instant::now() < end && !failed.load(Ordering::Relaxed) {
        let mut run = |sql: &str| match error_code(conn.query_drop(sql)) {
            Some(code) if !EXPECTED.contains(&code) => {
                failed.store(true, Ordering::Relaxed);
                panic!("{sql}: error {code}");
            }
            error => error.is_none(),
        };
        if defines {
            run(definition(&mut random));
            std::thread::sleep(Duration::from_millis(20));
            continue;
        }
        let level = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"][random.below(3) as usize];
        run(&format!("SET TRANSACTION ISOLATION LEVEL {level}"));
        run("BEGIN");
        for _ in 0..1 + random.below(4) {
            done.fetch_add(u64::from(run(&statement(&mut random))), Ordering::Relaxed);
        }
        run(if random.below(5) == 0 { "ROLLBACK" } else { "COMMIT" });
    }
}

#[test]
fn no_row_lacks_its_parent() {
    let server = start();
    let mut conn = server.connect();
    conn.query_drop("CREATE DATABASE fk").expect("a database");
    conn.query_drop("USE fk").expect("a database");
    for table in TABLES.split(';') {
        conn.query_drop(table).expect(table);
    }
    let seed = seed("no_row_lacks_its_parent");
    let seconds = std::env::var("SQUALL_HISTORY_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(8);
    let end = Instant::now() + Duration::from_secs(seconds);
    let (failed, done) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for session in 0..=SESSIONS {
            let (failed, done, server) = (&failed, &done, &server);
            scope.spawn(move || run_session(server, seed + session, end, session == SESSIONS, failed, done));
        }
        let mut checks = 0;
        while Instant::now() < end && !failed.load(Ordering::Relaxed) {
            for (child, parent, column) in REFERENCES {
                let name = if column == "k" { ["k", "renamed"][checks % 2] } else { column };
                let sql = format!(
                    "SELECT COUNT(*) FROM {child} c LEFT JOIN {parent} q ON q.{name} = c.r WHERE c.r IS NOT NULL AND q.id IS NULL"
                );
                match conn.query_first::<u64, _>(&sql) {
                    Ok(orphans) => {
                        if orphans != Some(0) {
                            failed.store(true, Ordering::Relaxed);
                            panic!("{child} has {orphans:?} rows without a parent");
                        }
                    }
                    Err(error) => assert!(!error.to_string().contains("1105"), "{sql}: {error}"),
                }
            }
            checks += 1;
        }
        assert!(checks > 1, "{checks} checks");
    });
    assert!(!failed.load(Ordering::Relaxed), "see above");
    let done = done.load(Ordering::Relaxed);
    println!("{done} statements were carried out");
    assert!(done > 50, "only {done} statements were carried out");
}
