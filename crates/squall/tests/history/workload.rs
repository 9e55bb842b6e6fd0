//! The work of the clients: transactions on lists, counters, transfers and unique keys.

use crate::facts::{self, Told};
use crate::families;
use crate::record::{Level, Outcome, Transaction};
use crate::statements::{self, Kinds, ListWork};
use mysql::prelude::Queryable;
use squall_test_support::random::Random;
use squall_test_support::server;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A statement that did not succeed.
pub enum Failure {
    /// By a deadlock, a row changed since the snapshot, a row that another has made, or a table that is defined again: the transaction
    /// is rolled back. That a lock is not given in time is a defect: no transaction works for as long, so that it is a deadlock not seen.
    Refused,
    /// The connection broke.
    Broken,
}

/// What all clients of a run share.
pub struct Shared {
    started: Instant,
    next_element: AtomicU64,
    /// Transactions on lists that were committed.
    committed: AtomicU64,
}

impl Shared {
    pub fn new() -> Shared {
        Shared { started: Instant::now(), next_element: AtomicU64::new(1), committed: AtomicU64::new(0) }
    }

    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// Waits until so many more transactions on lists are committed, or for a minute on a machine that is too busy for that.
    pub fn await_commits(&self, more: u64) {
        let (enough, began) = (self.committed.load(Ordering::Relaxed) + more, Instant::now());
        while self.committed.load(Ordering::Relaxed) < enough && began.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// A number that no other writer gets.
    pub fn unique(&self) -> u64 {
        self.next_element.fetch_add(1, Ordering::Relaxed)
    }
}

/// What one client has done in one round.
pub struct Log {
    pub transactions: Vec<Transaction>,
    pub facts: Told,
    pub families: families::Done,
    pub kinds: Kinds,
}

pub struct Client {
    number: u64,
    level: Level,
    lists: Range<u64>,
    shared: Arc<Shared>,
    random: Random,
    /// The last element that it has seen of lists.
    last_seen: HashMap<u64, u64>,
    log: Log,
}

const REFUSALS: [u16; 4] = [1213, 1020, 1062, 1412];

/// Runs a statement; any error that is not a conflict is a defect.
pub fn attempt<T>(sql: &str, result: mysql::Result<T>) -> Result<T, Failure> {
    match result {
        Ok(value) => Ok(value),
        Err(mysql::Error::MySqlError(error)) if REFUSALS.contains(&error.code) => Err(Failure::Refused),
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
        let log = Log {
            transactions: Vec::new(),
            facts: Told::default(),
            families: families::Done::default(),
            kinds: Kinds::new(),
        };
        Client { number, level, lists, shared, random, last_seen: HashMap::new(), log }
    }

    /// Works until the connection breaks.
    pub fn run(mut self, port: u16) -> Log {
        let Ok(mut conn) = server::connect("127.0.0.1", port, Duration::from_secs(5)) else { return self.log };
        if execute(&mut conn, &format!("SET SESSION TRANSACTION ISOLATION LEVEL {}", self.level.name())).is_err() {
            return self.log;
        }
        loop {
            let goes_on = match self.random.below(11) {
                0..=5 => self.change_lists(&mut conn),
                6 => facts::transfer(&mut conn, &mut self.random),
                7 => facts::add_up(&mut conn, self.level),
                8 => facts::count(&mut conn, &mut self.random, &self.shared, self.level, &mut self.log.facts),
                9 => families::work(&mut conn, &mut self.random, self.shared.unique(), &mut self.log.families),
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
        let Client { level, lists, shared, random, log, last_seen, .. } = self;
        let ended = transact(conn, |conn| {
            let (shared, kinds, operations) = (&**shared, &mut log.kinds, &mut operations);
            let mut work = ListWork { conn, random, shared, level: *level, operations, kinds, last_seen };
            for _ in 0..1 + work.random.below(4) {
                work.step(lists)?;
            }
            Ok(random.below(20) > 0)
        });
        let ended_at = self.shared.now();
        let (Ok(outcome) | Err(outcome)) = ended;
        self.shared.committed.fetch_add(u64::from(outcome == Outcome::Committed), Ordering::Relaxed);
        self.log.transactions.push(Transaction { client: self.number, began, ended: ended_at, outcome, operations });
        ended.is_ok()
    }
}

pub fn create_tables(conn: &mut mysql::Conn) {
    conn.query_drop("CREATE DATABASE history").expect("a database");
    statements::create_tables(conn);
    facts::create_tables(conn);
    families::create_tables(conn);
}
