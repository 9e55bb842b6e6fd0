//! An account that sees one database asks for everything it can think of; a secret stands in every other table. Wherever
//! a secret shows (in a result, a message, a warning, a log table) there is a way around the privileges.
//!
//! `SQUALL_ATTACK_SECONDS=600 cargo test -p squall-session --test attacker -- --nocapture` goes on for longer than the tests
//! do; `SQUALL_ATTACK_SEED` begins as an earlier run did.

#[path = "attacker/statements.rs"]
mod statements;

use squall_session::api::{Backend, Connection, ConnectionInfo};
use squall_session::collector::Collector;
use squall_session::{Database, OpenOptions, Session};
use statements::Generator;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// In every row that the account may not see. As a number where columns are numbers.
const SECRET_TEXT: &str = "xyzzy";
const SECRET_NUMBER: &str = "770077";

const OBJECTS: &str = "
    CREATE DATABASE other;
    CREATE TABLE other.t (id INT PRIMARY KEY, n INT, s VARCHAR(40), KEY (n)); INSERT INTO other.t VALUES (1, 770077, 'xyzzy');
    CREATE TABLE other.c (id INT PRIMARY KEY, n INT, s VARCHAR(40)) ENGINE=COLUMN; INSERT INTO other.c VALUES (1, 770077, 'xyzzy');
    CREATE VIEW other.v AS SELECT * FROM other.t; CREATE TABLE other.part (id INT PRIMARY KEY, n INT, s VARCHAR(40));
    INSERT INTO other.part VALUES (1, 770077, 'xyzzy');
    CREATE USER attacker; GRANT ALL ON own.* TO attacker; GRANT SELECT (id), INSERT (id), UPDATE (id) ON other.part TO attacker";

/// What is the account's own, made anew now and then.
const OWN: &str = "
    DROP DATABASE IF EXISTS own; CREATE DATABASE own;
    CREATE TABLE own.t (id INT PRIMARY KEY AUTO_INCREMENT, n INT, s VARCHAR(40), KEY (n)); INSERT INTO own.t VALUES (1, 1, 'one');
    CREATE TABLE own.u (id INT PRIMARY KEY, n INT, s VARCHAR(40)); INSERT INTO own.u VALUES (2, 2, 'two');
    CREATE SQL SECURITY INVOKER VIEW own.asked AS SELECT id, n, s FROM other.t;
    CREATE ALGORITHM = TEMPTABLE VIEW own.shown AS SELECT id FROM other.t";

/// Statements between two such moments: the account drops much of what it has.
const STATEMENTS_PER_ROUND: u64 = 100;

/// What came back, as a text, and the error's code.
async fn answer(session: &mut dyn Connection, sql: &str) -> (String, Option<u16>) {
    let mut collector = Collector::default();
    session.query(sql.as_bytes(), &mut collector).await.expect("a collector is never gone");
    match collector.into_results() {
        Err(error) => (error.message, Some(error.code)),
        Ok(results) => {
            let text = results.iter().flat_map(|result| &result.rows).fold(String::new(), |mut text, row| {
                writeln!(text, "{row:?}").expect("a string");
                text
            });
            (text, None)
        }
    }
}

fn shows_a_secret(sql: &str, text: &str) -> bool {
    // A statement that has the word in it says it back.
    [SECRET_TEXT, SECRET_NUMBER].iter().any(|secret| text.contains(secret) && !sql.contains(secret))
}

fn connect(database: &Database) -> Box<dyn Connection> {
    let account = Backend::account(database, "attacker", None).expect("an account");
    let info = ConnectionInfo { user: "attacker".into(), multi_statements: true, ..Default::default() };
    Backend::connect(database, database.next_connection_id(), &account, info, Arc::new(|| {})).expect("a session")
}

async fn run_as_root(root: &mut Session, sql: &str) {
    let (message, code) = answer(root, sql).await;
    assert_eq!(code, None, "{sql}: {message}");
}

/// Where the rows of other tables stand, whatever is tried.
async fn rows_of_others(root: &mut Session) -> String {
    let tables = ["t", "c", "part"].map(|table| format!("SELECT n, s FROM other.{table} WHERE n = 770077"));
    answer(root, &tables.join("; ")).await.0
}

async fn attack(seed: u64, time: Duration) {
    let folder = tempfile::tempdir().expect("a folder");
    let database = Database::open(folder.path(), OpenOptions::default()).expect("a database");
    let mut root = database.connect().expect("a session");
    run_as_root(&mut root, OBJECTS).await;
    let before = rows_of_others(&mut root).await;
    let mut attacker = connect(&database);
    let mut generator = Generator::new(seed);
    let mut codes: BTreeMap<Option<u16>, u64> = BTreeMap::new();
    let (begun, mut statements) = (Instant::now(), 0u64);
    while begun.elapsed() < time {
        if statements.is_multiple_of(STATEMENTS_PER_ROUND) {
            run_as_root(&mut root, OWN).await;
            attacker = connect(&database);
        }
        statements += 1;
        let sql = generator.statement();
        let (text, code) = answer(&mut *attacker, &sql).await;
        assert!(!shows_a_secret(&sql, &text), "seed {seed}: {sql}\n{text}");
        // No secret, but a defect of its own.
        if code == Some(1105) {
            println!("an internal error: {sql}\n{text}");
        }
        *codes.entry(code).or_default() += 1;
        if code.is_none() {
            assert_eq!(rows_of_others(&mut root).await, before, "seed {seed}: rows of others were changed by {sql}");
        }
        let (warnings, _) = answer(&mut *attacker, "SHOW WARNINGS").await;
        assert!(!shows_a_secret(&sql, &warnings), "seed {seed}: {sql}\n{warnings}");
        let (variables, _) = answer(&mut *attacker, "SELECT @a, @b").await;
        assert!(!shows_a_secret(&sql, &variables), "seed {seed}: {sql}\n{variables}");
    }
    let succeeded = codes.get(&None).copied().unwrap_or_default();
    println!("seed {seed}: {statements} statements, {succeeded} succeeded; errors: {codes:?}");
    // It is no attack if nothing of it runs.
    assert!(succeeded * 20 > statements, "seed {seed}: only {succeeded} of {statements} statements ran");
}

#[test]
fn no_secret_shows() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as u64);
    let seed = number("SQUALL_ATTACK_SEED").unwrap_or(now);
    let seconds = number("SQUALL_ATTACK_SECONDS").unwrap_or(10);
    println!("SQUALL_ATTACK_SEED={seed}");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(attack(seed, Duration::from_secs(seconds)));
}
