//! `kill -9` at random times under writers: no acknowledged transaction is lost, and none is there in part.
//!
//! Each writer's transaction touches three tables: it appends a journal row with a checksum, sets its counter to the journal row's
//! number, and moves money between two accounts. After every restart the three must agree. Definitions are killed too: afterwards the
//! catalog and the data agree, each definition has happened or not, and all acknowledged ones have. `SQUALL_CRASH_ROUNDS=500` makes the
//! long run.

use mysql::prelude::Queryable;
use squall_test_support::random::Random;
use squall_test_support::server::{self, TestServer};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const WRITERS: u64 = 4;
const ACCOUNTS: u64 = 10;
const MONEY: i64 = 1000;

#[test]
fn killed_servers_lose_nothing() {
    let rounds = squall_test_support::crash_rounds(20);
    let mut server = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    create_tables(&server);
    let acknowledged: Vec<Arc<AtomicU64>> = (0..WRITERS).map(|_| Arc::new(AtomicU64::new(0))).collect();
    let mut random = Random::of_run("killed_servers_lose_nothing");
    let mut slowest = Duration::ZERO;
    for round in 1..=rounds {
        let port = server.port();
        let writers: Vec<_> = acknowledged
            .iter()
            .zip(1..)
            .map(|(acknowledged, writer)| {
                let (acknowledged, seed) = (acknowledged.clone(), random.number());
                std::thread::spawn(move || write_until_killed(port, writer, &acknowledged, Random::new(seed)))
            })
            .collect();
        let total = || acknowledged.iter().map(|count| count.load(Ordering::Relaxed)).sum::<u64>();
        let before = total();
        squall_test_support::let_work(Duration::from_millis(20 + random.number() % 200), || total() > before + 1);
        server.kill();
        for writer in writers {
            writer.join().expect("a writer's thread");
        }
        slowest = slowest.max(server.restart());
        check(&server, &acknowledged, round);
    }
    let transactions: u64 = acknowledged.iter().map(|count| count.load(Ordering::Relaxed)).sum();
    assert!(transactions > rounds, "too few transactions ({transactions}) for the run to mean anything");
    println!("{rounds} kills, {transactions} transactions, slowest restart {} ms", slowest.as_millis());
}

/// Rows of the tables that definitions are tried on.
const ROWS: u64 = 500;

/// Definitions that one connection makes over and over again, and a query that tells which of them was the last one.
struct Definitions {
    state: &'static str,
    /// Each with the answer to the query behind it.
    steps: &'static [(&'static str, &'static str)],
}

const ALTERED: &str = "SELECT CONCAT((SELECT GROUP_CONCAT(CONCAT_WS(' ', column_name, column_type, column_default) \
    ORDER BY ordinal_position SEPARATOR ', ') FROM information_schema.columns WHERE table_schema = 'crash' AND table_name = '$'), \
    '; ', (SELECT GROUP_CONCAT(index_name ORDER BY index_name) FROM information_schema.statistics \
    WHERE table_schema = 'crash' AND table_name = '$' AND seq_in_index = 1))";

const DEFINITIONS: &[Definitions] = &[
    Definitions {
        state: "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'crash' AND table_name = 'copied'",
        steps: &[
            ("CREATE TABLE crash.copied (PRIMARY KEY (id), KEY (v)) AS SELECT * FROM crash.source", "1"),
            ("DROP TABLE crash.copied", "0"),
        ],
    },
    Definitions {
        state: "altered",
        steps: &[
            ("ALTER TABLE crash.altered ADD KEY by_v (v)", "id int, v varchar(50); by_v,PRIMARY"),
            (
                "ALTER TABLE crash.altered ADD COLUMN w INT NOT NULL DEFAULT 7",
                "id int, v varchar(50), w int 7; by_v,PRIMARY",
            ),
            (
                "ALTER TABLE crash.altered MODIFY v VARCHAR(40) DEFAULT 'x'",
                "id int, v varchar(40) x, w int 7; by_v,PRIMARY",
            ),
            ("ALTER TABLE crash.altered DROP COLUMN w", "id int, v varchar(40) x; by_v,PRIMARY"),
            ("ALTER TABLE crash.altered MODIFY v VARCHAR(50), DROP KEY by_v", "id int, v varchar(50); PRIMARY"),
        ],
    },
    Definitions {
        state: "columns",
        steps: &[
            ("ALTER TABLE crash.columns ADD KEY by_v (v)", "id int, v varchar(50); by_v,PRIMARY"),
            ("ALTER TABLE crash.columns MODIFY v VARCHAR(60) DEFAULT 'y'", "id int, v varchar(60) y; by_v,PRIMARY"),
            ("ALTER TABLE crash.columns ALTER v SET DEFAULT 'z'", "id int, v varchar(60) z; by_v,PRIMARY"),
            ("ALTER TABLE crash.columns MODIFY v VARCHAR(50), DROP KEY by_v", "id int, v varchar(50); PRIMARY"),
        ],
    },
    Definitions {
        state: "SELECT engine FROM information_schema.tables WHERE table_schema = 'crash' AND table_name = 'engine'",
        steps: &[
            ("ALTER TABLE crash.engine ENGINE = COLUMN", "COLUMN"),
            ("ALTER TABLE crash.engine ENGINE = InnoDB", "InnoDB"),
        ],
    },
    Definitions {
        state: "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'counted' AND table_type = 'SEQUENCE'",
        steps: &[("CREATE SEQUENCE counted.made START 5", "1"), ("DROP SEQUENCE counted.made", "0")],
    },
    Definitions {
        state: "SELECT table_name FROM information_schema.tables WHERE table_schema = 'crash' AND table_name LIKE '%_name'",
        steps: &[
            ("RENAME TABLE crash.old_name TO crash.new_name", "new_name"),
            ("RENAME TABLE crash.new_name TO crash.old_name", "old_name"),
        ],
    },
    Definitions {
        state: "SELECT COUNT(*) FROM crash.emptied",
        steps: &[
            ("INSERT INTO crash.emptied SELECT * FROM crash.source", "500"),
            ("TRUNCATE TABLE crash.emptied", "0"),
        ],
    },
    Definitions {
        state: "SELECT CONCAT((SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'passing'), ' ', \
            (SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = 'passing'))",
        steps: &[
            ("CREATE DATABASE passing", "1 0"),
            ("CREATE TABLE passing.t AS SELECT * FROM crash.source", "1 1"),
            ("DROP DATABASE passing", "0 0"),
        ],
    },
];

impl Definitions {
    fn state(&self, conn: &mut mysql::Conn) -> String {
        let sql = match self.state.starts_with("SELECT") {
            true => self.state.to_owned(),
            false => ALTERED.replace('$', self.state),
        };
        let state: Option<String> = conn.query_first(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        state.unwrap_or_else(|| panic!("{sql}: nothing"))
    }
}

/// What a client of definitions has been told.
#[derive(Default)]
struct Told {
    /// As it was after the last definition that was acknowledged.
    state: String,
    /// And after the one that the server was asked for when it was killed.
    asked_for: Option<&'static str>,
    acknowledged: u64,
}

#[test]
fn killed_definitions_happen_as_a_whole() {
    let rounds = squall_test_support::crash_rounds(20);
    let mut server = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    let mut conn = server.connect();
    conn.query_drop("CREATE DATABASE crash").expect("a database");
    conn.query_drop("CREATE DATABASE counted").expect("a database");
    let values: Vec<String> = (1..=ROWS).map(|id| format!("({id}, 'value {}')", id * 7919 % ROWS)).collect();
    for table in ["source", "altered", "columns", "engine", "old_name", "emptied"] {
        let engine = if table == "columns" { "ENGINE = COLUMN" } else { "" };
        conn.query_drop(format!("CREATE TABLE crash.{table} (id INT PRIMARY KEY, v VARCHAR(50)) {engine}"))
            .expect("a table");
        if table != "emptied" {
            conn.query_drop(format!("INSERT INTO crash.{table} VALUES {}", values.join(", "))).expect("rows");
        }
    }
    let told: Vec<Arc<Mutex<Told>>> = DEFINITIONS
        .iter()
        .map(|definitions| {
            let state = definitions.state(&mut conn);
            Arc::new(Mutex::new(Told { state, ..Told::default() }))
        })
        .collect();
    drop(conn);
    let mut random = Random::of_run("killed_definitions_happen_as_a_whole");
    for round in 1..=rounds {
        let port = server.port();
        let writers: Vec<_> = DEFINITIONS
            .iter()
            .zip(&told)
            .map(|(definitions, told)| {
                let told = told.clone();
                std::thread::spawn(move || define_until_killed(port, definitions, &told))
            })
            .collect();
        let total = || told.iter().map(|told| told.lock().expect("no panic").acknowledged).sum::<u64>();
        let before = total();
        squall_test_support::let_work(Duration::from_millis(100 + random.number() % 800), || total() > before + 1);
        server.kill();
        for writer in writers {
            writer.join().expect("a writer's thread");
        }
        server.restart();
        check_definitions(&server, round);
        let mut conn = server.connect();
        for (definitions, told) in DEFINITIONS.iter().zip(&told) {
            let mut told = told.lock().expect("no panic");
            let found = definitions.state(&mut conn);
            assert!(
                found == told.state || told.asked_for == Some(&found),
                "round {round}: {} gives {found}; acknowledged was {}, asked for {:?}",
                definitions.state,
                told.state,
                told.asked_for
            );
            (told.state, told.asked_for) = (found, None);
        }
    }
    let done: Vec<u64> = told.iter().map(|told| told.lock().expect("no panic").acknowledged).collect();
    println!("{rounds} kills, {done:?} definitions");
    assert!(done.iter().sum::<u64>() > rounds, "too few definitions ({done:?}) for the run to mean anything");
    assert!(done.iter().all(|done| *done > 0), "definitions of a kind that were never done: {done:?}");
}

/// Runs statements in turn; those that the last run left half way through are refused as already done.
fn define_until_killed(port: u16, definitions: &Definitions, told: &Mutex<Told>) {
    let Ok(mut conn) = server::connect("127.0.0.1", port, Duration::from_secs(5)) else { return };
    // Table exists, is missing, is unknown to DROP; database exists, is missing, is unknown; column or key exists, is missing;
    // rows are there already; sequence is missing.
    const DONE_BEFORE: [u16; 11] = [1050, 1146, 1051, 1007, 1008, 1049, 1060, 1061, 1091, 1062, 4091];
    loop {
        for (sql, after) in definitions.steps {
            told.lock().expect("no panic").asked_for = Some(after);
            let done = conn.query_drop(sql);
            let mut told = told.lock().expect("no panic");
            match done {
                Ok(()) => {
                    told.state = (*after).to_owned();
                    told.acknowledged += 1;
                }
                Err(mysql::Error::MySqlError(error)) if DONE_BEFORE.contains(&error.code) => {}
                Err(mysql::Error::MySqlError(error)) => panic!("{sql}: {error}"),
                Err(_) => return,
            }
            told.asked_for = None;
        }
    }
}

/// A value of a sequence that a client has got never comes again, whether it was stored or not, and however many are reserved at a time.
#[test]
fn killed_servers_give_no_value_twice() {
    let rounds = squall_test_support::crash_rounds(12);
    let mut server = TestServer::start(Path::new(env!("CARGO_BIN_EXE_squall")));
    let mut conn = server.connect();
    for sql in ["CREATE DATABASE crash", "CREATE SEQUENCE crash.one NOCACHE", "CREATE SEQUENCE crash.many CACHE 7"] {
        conn.query_drop(sql).expect(sql);
    }
    drop(conn);
    let mut random = Random::of_run("killed_servers_give_no_value_twice");
    let got: Arc<Mutex<[Vec<u64>; 2]>> = Arc::default();
    let mut seen = [0, 0];
    for round in 1..=rounds {
        let port = server.port();
        let takers: Vec<_> = (0..WRITERS)
            .map(|_| {
                let got = got.clone();
                std::thread::spawn(move || take_until_killed(port, &got))
            })
            .collect();
        let total = || got.lock().expect("no panic").iter().map(|values| values.len() as u64).sum::<u64>();
        let before = total();
        squall_test_support::let_work(Duration::from_millis(20 + random.number() % 150), || total() > before + 1);
        server.kill();
        for taker in takers {
            taker.join().expect("a taker's thread");
        }
        server.restart();
        let got = got.lock().expect("no panic");
        for (values, seen) in got.iter().zip(&mut seen) {
            let mut sorted = values.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), values.len(), "round {round}: a value came twice");
            let first = values[*seen..].iter().min().copied().unwrap_or(u64::MAX);
            let last = values[..*seen].iter().max().copied().unwrap_or_default();
            assert!(first > last, "round {round}: {first} came after {last}");
            *seen = values.len();
        }
    }
    let got = got.lock().expect("no panic");
    println!("{rounds} kills, {} and {} values", got[0].len(), got[1].len());
    assert!(got.iter().all(|values| values.len() as u64 > rounds), "too few values for the run to mean anything");
}

/// Takes values until the connection breaks.
fn take_until_killed(port: u16, got: &Mutex<[Vec<u64>; 2]>) {
    let Ok(mut conn) = server::connect("127.0.0.1", port, Duration::from_secs(5)) else { return };
    while let Ok(Some((one, many))) =
        conn.query_first::<(u64, u64), _>("SELECT NEXTVAL(crash.one), NEXTVAL(crash.many)")
    {
        let mut got = got.lock().expect("no panic");
        got[0].push(one);
        got[1].push(many);
    }
}

fn check_definitions(server: &TestServer, round: u64) {
    let mut conn = server.connect();
    let tables: Vec<(String, String)> = conn
        .query(
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema IN ('crash', 'passing')",
        )
        .expect("the tables");
    let has = |name: &str| tables.iter().any(|(schema, table)| schema == "crash" && table == name);
    for name in ["source", "altered", "columns", "engine", "emptied"] {
        assert!(has(name), "round {round}: table {name} is gone, there are {tables:?}\n{}", server.log());
    }
    assert!(has("old_name") != has("new_name"), "round {round}: {tables:?}");
    for (schema, table) in &tables {
        let mut rows = |hint: &str| -> (u64, u64, u64) {
            let sql = format!(
                "SELECT COUNT(*), COALESCE(SUM(id), 0), COUNT(DISTINCT v) FROM {schema}.{table} {hint} WHERE v LIKE 'value %'"
            );
            conn.query_first(&sql).unwrap_or_else(|error| panic!("round {round}: {sql}: {error}")).expect("a row")
        };
        let whole = (ROWS, ROWS * (ROWS + 1) / 2, ROWS);
        let found = rows("");
        assert!(
            found == whole || table == "emptied" && found == (0, 0, 0),
            "round {round}: {schema}.{table} has {found:?}"
        );
        let keys: Vec<String> = conn
            .query(format!(
                "SELECT DISTINCT index_name FROM information_schema.statistics WHERE table_schema = '{schema}' AND table_name = '{table}' AND index_name <> 'PRIMARY'"
            ))
            .expect("the keys");
        for key in keys {
            let sql = format!(
                "SELECT COUNT(*), COALESCE(SUM(id), 0), COUNT(DISTINCT v) FROM {schema}.{table} FORCE INDEX ({key}) WHERE v LIKE 'value %'"
            );
            let by_key: Option<(u64, u64, u64)> = conn.query_first(&sql).expect("rows by a key");
            assert_eq!(by_key, Some(found), "round {round}: {schema}.{table} by key {key}");
        }
    }
}

fn create_tables(server: &TestServer) {
    let mut conn = server.connect();
    for sql in [
        "CREATE DATABASE crash",
        "CREATE TABLE crash.journal (writer INT, seq BIGINT, payload VARCHAR(200), crc BIGINT, PRIMARY KEY (writer, seq), KEY (crc))",
        "CREATE TABLE crash.counters (writer INT PRIMARY KEY, seq BIGINT NOT NULL, doc JSON, FULLTEXT KEY by_doc (doc))",
        "CREATE TABLE crash.accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL)",
    ] {
        conn.query_drop(sql).expect(sql);
    }
    for writer in 1..=WRITERS {
        conn.query_drop(format!("INSERT INTO crash.counters VALUES ({writer}, 0, '{{\"seq\": [0]}}')"))
            .expect("a counter");
    }
    for account in 1..=ACCOUNTS {
        conn.query_drop(format!("INSERT INTO crash.accounts VALUES ({account}, {MONEY})")).expect("an account");
    }
}

/// Commits transaction after transaction; returns when the connection breaks.
fn write_until_killed(port: u16, writer: u64, acknowledged: &AtomicU64, mut random: Random) {
    let Ok(mut conn) = server::connect("127.0.0.1", port, Duration::from_secs(5)) else { return };
    // What the server has, not what was acknowledged: the last commit may have been done without its answer.
    let Ok(Some(start)) = conn.query_first::<u64, _>(format!("SELECT seq FROM crash.counters WHERE writer = {writer}"))
    else {
        return;
    };
    acknowledged.store(start, Ordering::Relaxed);
    let mut seq = start;
    loop {
        seq += 1;
        let length = 1 + random.number() % 150;
        let payload: String = (0..length).map(|_| char::from(b'a' + (random.number() % 26) as u8)).collect();
        let (from, to) = (1 + random.number() % ACCOUNTS, 1 + random.number() % ACCOUNTS);
        let statements = [
            "BEGIN".to_string(),
            format!("INSERT INTO crash.journal VALUES ({writer}, {seq}, '{payload}', CRC32('{payload}'))"),
            format!(
                "UPDATE crash.counters SET seq = {seq}, doc = JSON_OBJECT('seq', JSON_ARRAY({seq}), 'w', {writer}) WHERE writer = {writer}"
            ),
            format!("UPDATE crash.accounts SET balance = balance - 1 WHERE id = {from}"),
            format!("UPDATE crash.accounts SET balance = balance + 1 WHERE id = {to}"),
            "COMMIT".to_string(),
        ];
        let mut retry = false;
        for sql in &statements {
            match conn.query_drop(sql) {
                Ok(()) => {}
                // A deadlock or a row changed since the snapshot: the transaction is tried again.
                Err(mysql::Error::MySqlError(error)) if error.code == 1213 || error.code == 1020 => {
                    retry = true;
                    if conn.query_drop("ROLLBACK").is_err() {
                        return;
                    }
                    break;
                }
                Err(mysql::Error::MySqlError(error)) => panic!("{sql}: {error}"),
                Err(_) => return,
            }
        }
        if retry {
            seq -= 1;
        } else {
            acknowledged.store(seq, Ordering::Relaxed);
        }
    }
}

fn check(server: &TestServer, acknowledged: &[Arc<AtomicU64>], round: u64) {
    let mut conn = server.connect();
    let money: i64 =
        conn.query_first("SELECT CAST(SUM(balance) AS SIGNED) FROM crash.accounts").expect("sum").expect("a row");
    assert_eq!(money, MONEY * ACCOUNTS as i64, "round {round}: money was made or lost");
    let torn: u64 = conn
        .query_first("SELECT COUNT(*) FROM crash.journal WHERE crc <> CRC32(payload)")
        .expect("count")
        .expect("a row");
    assert_eq!(torn, 0, "round {round}: rows whose checksum is wrong");
    for (writer, acknowledged) in (1..).zip(acknowledged) {
        let acknowledged = acknowledged.load(Ordering::Relaxed);
        let counter: u64 = conn
            .query_first(format!("SELECT seq FROM crash.counters WHERE writer = {writer}"))
            .expect("counter")
            .expect("a row");
        let indexed: Vec<u64> = conn
            .query(format!(
                "SELECT writer FROM crash.counters FORCE INDEX (by_doc) WHERE {counter} MEMBER OF (doc->'$.seq') AND writer = {writer}"
            ))
            .expect("the index of documents");
        assert_eq!(indexed, [writer], "round {round}: writer {writer}'s document is not in the index");
        let (rows, last): (u64, u64) = conn
            .query_first(format!("SELECT COUNT(*), COALESCE(MAX(seq), 0) FROM crash.journal WHERE writer = {writer}"))
            .expect("journal")
            .expect("a row");
        assert!(counter >= acknowledged, "round {round}: writer {writer} was told {acknowledged}, has {counter}");
        assert!(counter <= acknowledged + 1, "round {round}: writer {writer} has more ({counter}) than it wrote");
        assert_eq!((rows, last), (counter, counter), "round {round}: writer {writer}: journal and counter differ");
    }
}
