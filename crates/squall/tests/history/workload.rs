//! What the clients do: transactions on lists, and beside them counters, transfers and unique keys.

use crate::facts::{self, Told};
use crate::record::{Level, List, Operation, Outcome, Transaction};
use mysql::prelude::Queryable;
use squall_test_support::random::Random;
use squall_test_support::server;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Lists of one round.
const LISTS: u64 = 8;

/// A statement that did not succeed.
pub enum Failure {
    /// By a deadlock, a row changed since the snapshot, or a lock not given in time: the transaction is rolled back.
    Refused,
    /// The connection broke.
    Broken,
}

/// What all clients of a run share.
pub struct Shared {
    started: Instant,
    next_element: AtomicU64,
}

impl Shared {
    pub fn new() -> Shared {
        Shared { started: Instant::now(), next_element: AtomicU64::new(1) }
    }

    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// A number that nobody else gets.
    pub fn unique(&self) -> u64 {
        self.next_element.fetch_add(1, Ordering::Relaxed)
    }
}

/// What one client has done in one round.
pub struct Log {
    pub transactions: Vec<Transaction>,
    pub facts: Told,
}

pub struct Client {
    number: u64,
    level: Level,
    lists: Range<u64>,
    shared: Arc<Shared>,
    random: Random,
    log: Log,
}

/// Runs a statement; any error that is not a conflict is a defect.
pub fn attempt<T>(sql: &str, result: mysql::Result<T>) -> Result<T, Failure> {
    match result {
        Ok(value) => Ok(value),
        Err(mysql::Error::MySqlError(error)) if [1213, 1020, 1205].contains(&error.code) => Err(Failure::Refused),
        Err(mysql::Error::MySqlError(error)) => panic!("{sql}: {error}"),
        Err(_) => Err(Failure::Broken),
    }
}

pub fn execute(conn: &mut mysql::Conn, sql: &str) -> Result<(), Failure> {
    attempt(sql, conn.query_drop(sql))
}

/// Runs a transaction's body, then commits it, or rolls it back if `body` says so.
pub fn transact(
    conn: &mut mysql::Conn,
    body: impl FnOnce(&mut mysql::Conn) -> Result<bool, Failure>,
) -> Result<Outcome, Outcome> {
    let rolled_back = |conn: &mut mysql::Conn| match conn.query_drop("ROLLBACK") {
        Ok(()) => Ok(Outcome::Aborted),
        Err(_) => Err(Outcome::Aborted),
    };
    match execute(conn, "BEGIN").and_then(|()| body(conn)) {
        Ok(true) => match execute(conn, "COMMIT") {
            Ok(()) => Ok(Outcome::Committed),
            Err(Failure::Refused) => Ok(Outcome::Aborted),
            Err(Failure::Broken) => Err(Outcome::Unknown),
        },
        Ok(false) | Err(Failure::Refused) => rolled_back(conn),
        Err(Failure::Broken) => Err(Outcome::Aborted),
    }
}

impl Client {
    pub fn new(number: u64, level: Level, lists: Range<u64>, shared: Arc<Shared>, random: Random) -> Client {
        let log = Log { transactions: Vec::new(), facts: Told::default() };
        Client { number, level, lists, shared, random, log }
    }

    /// Works until the connection breaks.
    pub fn run(mut self, port: u16) -> Log {
        let Ok(mut conn) = server::connect("127.0.0.1", port, Duration::from_secs(5)) else { return self.log };
        if execute(&mut conn, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", self.level.name())).is_err() {
            return self.log;
        }
        loop {
            let goes_on = match self.random.below(10) {
                0..=5 => self.change_lists(&mut conn),
                6 => facts::transfer(&mut conn, &mut self.random),
                7 => facts::add_up(&mut conn, self.level),
                8 => facts::count(&mut conn, &mut self.random, &self.shared, self.level, &mut self.log.facts),
                _ => facts::insert(&mut conn, &mut self.random, &self.shared, &mut self.log.facts),
            };
            if !goes_on {
                return self.log;
            }
        }
    }

    fn change_lists(&mut self, conn: &mut mysql::Conn) -> bool {
        let began = self.shared.now();
        let mut operations = Vec::new();
        let (lists, shared, random) = (self.lists.clone(), &self.shared, &mut self.random);
        let ended = transact(conn, |conn| {
            for _ in 0..1 + random.below(4) {
                let key = lists.start + random.below(LISTS);
                if random.below(2) == 0 {
                    let element = shared.unique();
                    // Noted first: it may have been done although the connection broke.
                    operations.push(Operation::Append { key, element });
                    execute(conn, &format!("UPDATE history.lists SET v = CONCAT(v, ' {element}') WHERE id = {key}"))?;
                    continue;
                }
                let sent = shared.now();
                let sql = match random.below(10) {
                    0..=5 => format!("SELECT id, v FROM history.lists WHERE id = {key}"),
                    6 | 7 => format!("SELECT id, v FROM history.lists WHERE id BETWEEN {key} AND {}", lists.end - 1),
                    8 => format!("SELECT id, v FROM history.lists WHERE id = {key} FOR UPDATE"),
                    _ => format!("SELECT id, v FROM history.lists WHERE id = {key} FOR SHARE"),
                };
                let rows: Vec<(u64, String)> = attempt(&sql, conn.query(&sql))?;
                operations.extend(rows.iter().map(|(key, v)| Operation::Read { key: *key, found: parse(v), sent }));
            }
            Ok(random.below(20) > 0)
        });
        let ended_at = self.shared.now();
        let (Ok(outcome) | Err(outcome)) = ended;
        self.log.transactions.push(Transaction { client: self.number, began, ended: ended_at, outcome, operations });
        ended.is_ok()
    }
}

fn parse(list: &str) -> List {
    list.split_whitespace().map(|element| element.parse().expect("a number")).collect()
}

pub fn create_tables(conn: &mut mysql::Conn) {
    conn.query_drop("CREATE DATABASE history").expect("a database");
    conn.query_drop("CREATE TABLE history.lists (id BIGINT PRIMARY KEY, v LONGTEXT NOT NULL)").expect("the lists");
    facts::create_tables(conn);
}

/// New lists for a round; their keys are returned.
pub fn create_lists(conn: &mut mysql::Conn, round: u64) -> Range<u64> {
    let keys = round * LISTS..(round + 1) * LISTS;
    for key in keys.clone() {
        conn.query_drop(format!("INSERT INTO history.lists VALUES ({key}, '')")).expect("a list");
    }
    keys
}

pub fn read_list(conn: &mut mysql::Conn, key: u64) -> List {
    let list: Option<String> =
        conn.query_first(format!("SELECT v FROM history.lists WHERE id = {key}")).expect("a list");
    parse(&list.expect("its row"))
}
