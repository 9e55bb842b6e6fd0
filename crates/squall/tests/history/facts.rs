//! Facts that are true for every order of events: the sum of money does not change, every counted step is there, a unique key has one
//! row, and AUTO_INCREMENT gives each number once.

use crate::record::{Level, Outcome};
use crate::workload::{Failure, Shared, attempt, execute, transact};
use mysql::prelude::Queryable;
use squall_test_support::random::Random;
use std::collections::{HashMap, HashSet};
use std::time::Duration;

const ACCOUNTS: u64 = 10;
const MONEY: u64 = 1000;
const COUNTERS: u64 = 3;

/// One step of a counter.
struct Step {
    counter: u64,
    sent: Duration,
    ended: Duration,
    outcome: Outcome,
    /// What the client read before, under a lock or at its snapshot.
    found: Option<u64>,
}

/// A row whose token only one can have.
struct Row {
    token: u64,
    owner: u64,
    /// The number that the server said it has.
    id: Option<u64>,
}

/// What a client was told.
#[derive(Default)]
pub struct Told {
    steps: Vec<Step>,
    rows: Vec<Row>,
}

/// All that clients were told in all rounds.
#[derive(Default)]
pub struct Facts {
    steps: HashMap<u64, Vec<Step>>,
    rows: Vec<Row>,
}

pub fn create_tables(conn: &mut mysql::Conn) {
    for sql in [
        "CREATE TABLE history.accounts (id INT PRIMARY KEY, balance BIGINT NOT NULL)",
        "CREATE TABLE history.counters (id INT PRIMARY KEY, x BIGINT NOT NULL)",
        "CREATE TABLE history.tokens (id BIGINT PRIMARY KEY AUTO_INCREMENT, token BIGINT UNIQUE, owner BIGINT)",
    ] {
        conn.query_drop(sql).expect(sql);
    }
    for id in 1..=ACCOUNTS {
        conn.query_drop(format!("INSERT INTO history.accounts VALUES ({id}, {MONEY})")).expect("an account");
    }
    for id in 1..=COUNTERS {
        conn.query_drop(format!("INSERT INTO history.counters VALUES ({id}, 0)")).expect("a counter");
    }
}

/// Moves money between two accounts, in either order.
pub fn transfer(conn: &mut mysql::Conn, random: &mut Random) -> bool {
    let (from, to, amount) = (1 + random.below(ACCOUNTS), 1 + random.below(ACCOUNTS), 1 + random.below(50));
    transact(conn, |conn| {
        execute(conn, &format!("UPDATE history.accounts SET balance = balance - {amount} WHERE id = {from}"))?;
        execute(conn, &format!("UPDATE history.accounts SET balance = balance + {amount} WHERE id = {to}"))?;
        Ok(random.below(20) > 0)
    })
    .is_ok()
}

/// Reads all accounts: in one statement at any level, one by one where there is one snapshot.
pub fn add_up(conn: &mut mysql::Conn, level: Level) -> bool {
    let sql = "SELECT CAST(SUM(balance) AS SIGNED), COUNT(*) FROM history.accounts";
    let (sum, count): (i64, u64) = match attempt(sql, conn.query_first(sql)) {
        Ok(row) => row.expect("a row"),
        Err(failure) => return matches!(failure, Failure::Refused),
    };
    assert_eq!((sum, count), ((MONEY * ACCOUNTS) as i64, ACCOUNTS), "{level:?}: money was made or lost");
    if level.reads_newest() {
        return true;
    }
    let mut sum = 0;
    let ended = transact(conn, |conn| {
        for id in 1..=ACCOUNTS {
            let sql = format!("SELECT balance FROM history.accounts WHERE id = {id}");
            sum += attempt(&sql, conn.query_first::<i64, _>(&sql))?.expect("an account");
        }
        Ok(true)
    });
    if let Ok(Outcome::Committed) = ended {
        assert_eq!(sum, (MONEY * ACCOUNTS) as i64, "{level:?}: accounts of different moments");
    }
    ended.is_ok()
}

/// Counts one step: in one statement, or by reading and writing.
pub fn count(conn: &mut mysql::Conn, random: &mut Random, shared: &Shared, level: Level, told: &mut Told) -> bool {
    let counter = 1 + random.below(COUNTERS);
    let sent = shared.now();
    let mut found = None;
    let ended = if random.below(2) == 0 {
        match execute(conn, &format!("UPDATE history.counters SET x = x + 1 WHERE id = {counter}")) {
            Ok(()) => Ok(Outcome::Committed),
            Err(Failure::Refused) => Ok(Outcome::Aborted),
            Err(Failure::Broken) => Err(Outcome::Unknown),
        }
    } else {
        // With one snapshot a plain read will do: who writes over another's step is told.
        let lock = if level.reads_newest() || random.below(2) == 0 { "FOR UPDATE" } else { "" };
        transact(conn, |conn| {
            let sql = format!("SELECT x FROM history.counters WHERE id = {counter} {lock}");
            let x: u64 = attempt(&sql, conn.query_first(&sql))?.expect("a counter");
            found = Some(x);
            execute(conn, &format!("UPDATE history.counters SET x = {} WHERE id = {counter}", x + 1))?;
            Ok(true)
        })
    };
    let (Ok(outcome) | Err(outcome)) = ended;
    told.steps.push(Step { counter, sent, ended: shared.now(), outcome, found });
    ended.is_ok()
}

/// Inserts a row with a token that others try to have too.
pub fn insert(conn: &mut mysql::Conn, random: &mut Random, shared: &Shared, told: &mut Told) -> bool {
    let owner = shared.unique();
    // Others are near the same number now.
    let token = owner / 64 * 8 + random.below(8);
    match conn.query_drop(format!("INSERT INTO history.tokens (token, owner) VALUES ({token}, {owner})")) {
        Ok(()) => told.rows.push(Row { token, owner, id: Some(conn.last_insert_id()) }),
        Err(mysql::Error::MySqlError(error)) if error.code == 1062 => {}
        Err(mysql::Error::MySqlError(error)) if [1213, 1020].contains(&error.code) => {}
        Err(mysql::Error::MySqlError(error)) => panic!("a token: {error}"),
        Err(_) => {
            told.rows.push(Row { token, owner, id: None });
            return false;
        }
    }
    true
}

impl Facts {
    pub fn add(&mut self, told: Told) {
        for step in told.steps {
            self.steps.entry(step.counter).or_default().push(step);
        }
        self.rows.extend(told.rows);
    }

    /// Compares with what is there after a restart.
    pub fn check(&self, conn: &mut mysql::Conn) -> Result<(), String> {
        let sum: Option<i64> =
            conn.query_first("SELECT CAST(SUM(balance) AS SIGNED) FROM history.accounts").expect("a sum");
        if sum != Some((MONEY * ACCOUNTS) as i64) {
            return Err(format!("money was made or lost: {sum:?}"));
        }
        for (counter, steps) in &self.steps {
            let x: Option<u64> =
                conn.query_first(format!("SELECT x FROM history.counters WHERE id = {counter}")).expect("a counter");
            check_steps(steps, x.expect("its row")).map_err(|wrong| format!("counter {counter}: {wrong}"))?;
        }
        let rows: Vec<(u64, u64, u64)> = conn.query("SELECT token, owner, id FROM history.tokens").expect("the tokens");
        self.check_rows(&rows)
    }

    fn check_rows(&self, rows: &[(u64, u64, u64)]) -> Result<(), String> {
        let there: HashMap<u64, (u64, u64)> = rows.iter().map(|(token, owner, id)| (*owner, (*token, *id))).collect();
        let mut ids = HashSet::new();
        for row in &self.rows {
            let found = there.get(&row.owner);
            let Some(id) = row.id else { continue };
            if !ids.insert(id) {
                return Err(format!("number {id} was given twice"));
            }
            if found != Some(&(row.token, id)) {
                return Err(format!("token {} of {} has number {id}, found {found:?}", row.token, row.owner));
            }
        }
        let owners: HashSet<u64> = self.rows.iter().map(|row| row.owner).collect();
        let tokens: HashSet<u64> = rows.iter().map(|(token, ..)| *token).collect();
        match there.keys().find(|owner| !owners.contains(owner)) {
            Some(owner) => Err(format!("{owner} has a row and was refused")),
            None if tokens.len() < rows.len() => Err("a token is there twice".into()),
            None => Ok(()),
        }
    }
}

/// Whether a counter's end, and what was read in between, fits its steps.
fn check_steps(steps: &[Step], x: u64) -> Result<(), String> {
    let number = |outcome| steps.iter().filter(|step| step.outcome == outcome).count() as u64;
    let (done, unknown) = (number(Outcome::Committed), number(Outcome::Unknown));
    if x < done || x > done + unknown {
        return Err(format!("{x} after {done} steps, and {unknown} that may have been done"));
    }
    let mut ends: Vec<Duration> =
        steps.iter().filter(|step| step.outcome == Outcome::Committed).map(|step| step.ended).collect();
    ends.sort_unstable();
    let mut read = HashSet::new();
    for step in steps.iter().filter(|step| step.outcome == Outcome::Committed) {
        let Some(found) = step.found else { continue };
        if !read.insert(found) {
            return Err(format!("two have stepped on from {found}: a lost update"));
        }
        let before = ends.partition_point(|ended| *ended < step.sent) as u64;
        if found < before {
            return Err(format!("{found} was read after {before} steps were done"));
        }
    }
    Ok(())
}

impl std::fmt::Display for Facts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let steps: usize = self.steps.values().map(Vec::len).sum();
        write!(f, "{steps} steps of counters, {} rows with tokens", self.rows.len())
    }
}
