//! An account with access to one database tries random statements, while every other table has a secret. If a secret shows in a result,
//! a message, a warning or a log table, there is a way around the privileges.
//!
//! Two servers get all statements. They differ only in the secrets, and in the number of rows of a table that the account may not see.
//! If their answers or their times differ, the account learns something of the hidden rows, although no secret is shown.
//!
//! `SQUALL_ATTACK_SECONDS=600 cargo test -p squall-session --test attacker -- --nocapture` makes a longer run; `SQUALL_SEED` repeats
//! one.

#[path = "attacker/statements.rs"]
mod statements;

use bytes::Bytes;
use squall_session::api::{Backend, Connection, ConnectionInfo, FrontEndContext, Unanswered};
use squall_session::collector::Collector;
use squall_session::{Database, OpenOptions, Session};
use squall_test_support::random::seed;
use statements::Generator;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// In every row that the account may not see: a number, a text, and how often a table without anything to see is doubled.
#[derive(Clone, Copy)]
struct Secret {
    number: &'static str,
    text: &'static str,
    doublings: u32,
}

const SECRETS: [Secret; 2] = [
    Secret { number: "770077", text: "xyzzy", doublings: 0 },
    Secret { number: "880088", text: "plugh", doublings: 15 },
];

/// What is there, with `#` and `$` for the secrets. The logs have statements of others in them.
const OBJECTS: &str = "
    SET GLOBAL log_output = 'TABLE', general_log = ON, slow_query_log = ON, long_query_time = 0;
    CREATE DATABASE other;
    CREATE TABLE other.t (id INT PRIMARY KEY, n INT, s VARCHAR(40), KEY (n)); INSERT INTO other.t VALUES (1, #, '$');
    CREATE TABLE other.c (id INT PRIMARY KEY, n INT, s VARCHAR(40)) ENGINE=COLUMN; INSERT INTO other.c VALUES (1, #, '$');
    CREATE VIEW other.v AS SELECT * FROM other.t; CREATE TABLE other.part (id INT PRIMARY KEY, n INT, s VARCHAR(40) DEFAULT '$');
    INSERT INTO other.part VALUES (1, #, '$');
    CREATE USER attacker; GRANT ALL ON own.* TO attacker; GRANT SELECT (id), INSERT (id), UPDATE (id) ON other.part TO attacker";

/// What is the account's own, made again now and then.
const OWN: &str = "
    DROP DATABASE IF EXISTS own; CREATE DATABASE own;
    CREATE TABLE own.t (id INT PRIMARY KEY AUTO_INCREMENT, n INT, s VARCHAR(40), KEY (n)); INSERT INTO own.t VALUES (1, 1, 'one');
    CREATE TABLE own.u (id INT PRIMARY KEY, n INT, s VARCHAR(40)); INSERT INTO own.u VALUES (2, 2, 'two');
    CREATE SQL SECURITY INVOKER VIEW own.asked AS SELECT id, n, s FROM other.t;
    CREATE ALGORITHM = TEMPTABLE VIEW own.shown AS SELECT id FROM other.t";

/// Statements between two such moments: the account drops much of what it has.
const STATEMENTS_PER_ROUND: u64 = 100;

/// How long the account's events may take until they are done.
const EVENT_TIME_MAX: Duration = Duration::from_secs(20);

/// A statement that takes so much longer where there is more to find has looked at it.
const TIME_DIFFERENCE_MAX: Duration = Duration::from_millis(20);
/// How often it is run again before that is said of it, and how often if it looks so: machines have other things to do.
const TIMED_AGAIN: usize = 10;
const TIMED_AGAIN_MAX: usize = 200;

/// Errors of statements that are not allowed, or whose objects the account cannot see.
const REFUSALS: &[u16] = &[1044, 1142, 1143, 1146, 1227, 1356, 1370];

/// An error that no client should get.
const INTERNAL_ERROR: u16 = 1105;

/// What came back, as a text, and the error's code.
async fn answer(session: &mut dyn Connection, sql: &str) -> (String, Option<u16>) {
    let mut collector = Collector::default();
    session
        .query(&Bytes::copy_from_slice(sql.as_bytes()), Unanswered::default(), &mut collector)
        .await
        .expect("a collector is never gone");
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

/// All that a statement lets the account see.
#[derive(Debug, PartialEq)]
struct Seen {
    answer: String,
    code: Option<u16>,
    warnings: String,
    variables: String,
}

/// A server, its administrator, and the account.
struct World {
    secret: Secret,
    root: Session,
    attacker: Box<dyn Connection>,
    rows_of_others: String,
    database: Database,
    /// The last one: it goes with its server.
    folder: TempDir,
}

impl World {
    async fn new(secret: Secret) -> World {
        let folder = tempfile::tempdir().expect("a folder");
        let database = Database::open(folder.path(), OpenOptions::default()).expect("a database");
        let mut root = database.connect().expect("a session");
        run_as_root(&mut root, &OBJECTS.replace('#', secret.number).replace('$', secret.text)).await;
        for doubling in 0..secret.doublings {
            let double = format!("INSERT INTO other.c SELECT id + {}, n, s FROM other.c", 1u32 << doubling);
            run_as_root(&mut root, &double).await;
        }
        let attacker = connect(&database);
        let mut world = World { secret, root, attacker, rows_of_others: String::new(), database, folder };
        world.rows_of_others = world.rows_of_others().await;
        world
    }

    /// Makes what is the account's own again.
    async fn begin_round(&mut self) {
        run_as_root(&mut self.root, OWN).await;
        self.attacker = connect(&self.database);
    }

    /// Where the rows of other tables stand, whatever is tried.
    async fn rows_of_others(&mut self) -> String {
        let number = self.secret.number;
        // The ids of `part` may be changed: that has been granted.
        let tables = [("t", "MAX(id)"), ("c", "MAX(id)"), ("part", "1")]
            .map(|(table, id)| format!("SELECT {id}, COUNT(*), MAX(n), MIN(s) FROM other.{table} WHERE n = {number}"));
        answer(&mut self.root, &tables.join("; ")).await.0
    }

    /// Runs a statement as the account; what it sees, and how long that took.
    async fn attack(&mut self, sql: &str) -> (Seen, Duration) {
        let begun = Instant::now();
        let (text, code) = answer(&mut *self.attacker, sql).await;
        let taken = begun.elapsed();
        let (warnings, _) = answer(&mut *self.attacker, "SHOW WARNINGS").await;
        let (variables, _) = answer(&mut *self.attacker, "SELECT @a, @b").await;
        // Where a server lies is no secret of its tables.
        let answer = text.replace(&*self.folder.path().to_string_lossy(), "folder");
        (Seen { answer, code, warnings, variables }, taken)
    }

    fn shows_its_secret(&self, sql: &str, seen: &Seen) -> bool {
        // A statement that has the word in it says it back.
        let Seen { answer, warnings, variables, .. } = seen;
        let shown = |secret: &str| [answer, warnings, variables].into_iter().any(|text| text.contains(secret));
        [self.secret.number, self.secret.text].iter().any(|secret| !sql.contains(secret) && shown(secret))
    }

    /// Waits until what the account has told the server to do later is done.
    async fn await_events(&mut self) {
        let begun = Instant::now();
        let pending =
            "SELECT IF(COUNT(*) = 0, 'done', 'waiting') FROM information_schema.events WHERE event_schema = 'own'";
        while begun.elapsed() < EVENT_TIME_MAX && !answer(&mut self.root, pending).await.0.contains("done") {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

fn connect(database: &Database) -> Box<dyn Connection> {
    let account = FrontEndContext::account(database, "attacker", None).expect("an account");
    let info = ConnectionInfo { user: "attacker".into(), multi_statements: true, ..Default::default() };
    Backend::connect(database, database.next_connection_id(), &account, info, Arc::new(|| {})).expect("a session")
}

async fn run_as_root(root: &mut Session, sql: &str) {
    let (message, code) = answer(root, sql).await;
    assert_eq!(code, None, "{sql}: {message}");
}

/// Whether a statement shows what is of the server and of the moment: counters, times, identifiers.
fn is_of_the_moment(sql: &str) -> bool {
    ["SHOW STATUS", "SHOW VARIABLES", "SHOW EVENTS", "information_schema", "EXPLAIN ANALYZE"]
        .iter()
        .any(|text| sql.contains(text))
}

/// Whether only what a statement reads decides how long it takes: it reads, or it is refused. What is written waits for the disk.
fn is_timed(sql: &str, code: Option<u16>) -> bool {
    let reads = ["SELECT", "SHOW", "EXPLAIN", "DO", "SET"].iter().any(|verb| sql.starts_with(verb));
    reads || code.is_some_and(|code| REFUSALS.contains(&code))
}

/// Whether a statement takes longer wherever there is more to find, every time.
async fn takes_longer(few: &mut World, many: &mut World, sql: &str) -> bool {
    let (mut shortest_of_few, mut shortest_of_many) = (Duration::MAX, Duration::MAX);
    for time in 1..=TIMED_AGAIN_MAX {
        shortest_of_few = shortest_of_few.min(few.attack(sql).await.1);
        shortest_of_many = shortest_of_many.min(many.attack(sql).await.1);
        if time >= TIMED_AGAIN && shortest_of_many <= shortest_of_few + TIME_DIFFERENCE_MAX {
            return false;
        }
    }
    true
}

/// What a run has met.
#[derive(Default)]
struct Counts {
    statements: u64,
    compared: u64,
    timed_again: u64,
    codes: BTreeMap<Option<u16>, u64>,
    slowest_refusal: Duration,
}

async fn attack(seed: u64, time: Duration) {
    let [mut few, mut many] = [World::new(SECRETS[0]).await, World::new(SECRETS[1]).await];
    let mut generator = Generator::new(seed);
    let mut counts = Counts::default();
    let begun = Instant::now();
    while begun.elapsed() < time {
        if counts.statements.is_multiple_of(STATEMENTS_PER_ROUND) {
            few.begin_round().await;
            many.begin_round().await;
        }
        counts.statements += 1;
        let sql = generator.statement();
        let (seen, taken) = few.attack(&sql).await;
        let (seen_of_many, taken_of_many) = many.attack(&sql).await;
        for (world, seen) in [(&few, &seen), (&many, &seen_of_many)] {
            assert!(!world.shows_its_secret(&sql, seen), "seed {seed}: {sql}\n{seen:?}");
            assert!(seen.code != Some(INTERNAL_ERROR), "seed {seed}: an internal error: {sql}\n{seen:?}");
        }
        if seen.code.is_none() {
            let before = few.rows_of_others.clone();
            assert_eq!(few.rows_of_others().await, before, "seed {seed}: rows of others were changed by {sql}");
        }
        if sql.contains("CREATE EVENT") {
            few.await_events().await;
            many.await_events().await;
        }
        if !is_of_the_moment(&sql) {
            counts.compared += 1;
            assert_eq!(seen, seen_of_many, "seed {seed}: what may not be seen makes a difference to {sql}");
        }
        if taken_of_many > taken + TIME_DIFFERENCE_MAX && is_timed(&sql, seen.code) {
            counts.timed_again += 1;
            let longer = takes_longer(&mut few, &mut many, &sql).await;
            assert!(!longer, "seed {seed}: how long it takes tells of rows that may not be seen: {sql}");
        }
        if seen.code.is_some() {
            counts.slowest_refusal = counts.slowest_refusal.max(taken_of_many.min(taken));
        }
        *counts.codes.entry(seen.code).or_default() += 1;
    }
    let Counts { statements, compared, timed_again, codes, slowest_refusal } = counts;
    let succeeded = codes.get(&None).copied().unwrap_or_default();
    println!(
        "seed {seed}: {statements} statements, {succeeded} succeeded; {compared} compared, {timed_again} timed again; \
         the slowest error took {slowest_refusal:?}; errors: {codes:?}"
    );
    // It is no attack if nothing of it runs.
    assert!(succeeded * 20 > statements, "seed {seed}: only {succeeded} of {statements} statements ran");
    assert!(compared * 2 > statements, "seed {seed}: only {compared} of {statements} statements were compared");
}

#[test]
fn no_secret_shows() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seconds = number("SQUALL_ATTACK_SECONDS").unwrap_or(10);
    let seed = seed("no_secret_shows");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(attack(seed, Duration::from_secs(seconds)));
}
