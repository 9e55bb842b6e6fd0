//! A model of the lock table: the owners and their locks after each statement of random transactions, compared with
//! `performance_schema.data_locks`.
//!
//! `SQUALL_LOCK_STEPS` is the number of statements, `SQUALL_SEED` repeats a run. Statements that would wait use NOWAIT if they can, and
//! are left out otherwise.

use super::{connect, run, start, value};
use squall_client::{Client, ClientError};
use squall_test_support::random::Random;
use std::collections::BTreeMap;

const SESSIONS: usize = 3;
/// Rows that statements are about have numbers below this.
const IDS: u64 = 9;
/// Other rows are there so that indexes are worth being used.
const OTHERS: std::ops::Range<i64> = 100..200;
const STEPS: u64 = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Shared,
    Exclusive,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    x: i64,
    k: i64,
    u: i64,
}

/// How a statement finds rows.
#[derive(Clone, Copy, Debug)]
enum Find {
    Id(i64),
    /// A range of the primary key, and a condition that no index knows.
    Range(i64, i64, Option<i64>),
    /// The first rows of such a range.
    First(usize, i64, i64, Option<i64>),
    /// A value of a plain index, likewise.
    K(i64, Option<i64>),
    /// All rows are looked at.
    X(i64),
}

#[derive(Clone, Copy, Debug)]
enum Set {
    X(i64),
    K(i64),
    U(i64),
}

#[derive(Clone, Copy, Debug)]
enum Statement {
    Lock(Strength, Find),
    Update(Find, Set),
    Delete(Find),
    Insert(i64, Row),
    Savepoint,
    RollbackTo,
    Commit,
    Rollback,
}

/// How a statement ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Ending {
    Done,
    /// Another owner has a lock that it wants.
    Refused,
    Duplicate,
}

impl Ending {
    fn code(self) -> Option<u16> {
        match self {
            Ending::Done => None,
            Ending::Refused => Some(3572),
            Ending::Duplicate => Some(1062),
        }
    }
}

/// What a transaction has written: rows, and entries of `by_k` by key and row, which are there or gone.
#[derive(Clone, Debug, Default)]
struct Changes {
    rows: BTreeMap<i64, Option<Row>>,
    entries: BTreeMap<(i64, i64), bool>,
}

impl Changes {
    fn put(&mut self, id: i64, old: Option<Row>, new: Option<Row>) {
        let (before, after) = (old.map(|row| row.k), new.map(|row| row.k));
        if before != after {
            self.entries.extend(before.map(|k| ((k, id), false)));
            self.entries.extend(after.map(|k| ((k, id), true)));
        }
        self.rows.insert(id, new);
    }
}

/// A range of an index that a session has searched.
#[derive(Clone, Debug, PartialEq)]
struct Range {
    session: usize,
    index: &'static str,
    /// From one key to before another; `None` is all of them.
    keys: Option<(i64, i64)>,
    /// It ends at its last key, and does not reach to the next.
    is_closed: bool,
}

impl Range {
    fn name(&self) -> String {
        match self.keys {
            Some((low, high)) if self.is_closed => format!("[{low}, {}]", high - 1),
            Some((low, high)) => format!("[{low}, {high})"),
            None => "(infimum pseudo-record, supremum pseudo-record)".to_owned(),
        }
    }

    fn contains(&self, index: &str, key: i64) -> bool {
        self.index == index && self.keys.is_none_or(|(low, high)| (low..high).contains(&key))
    }

    fn covers(&self, other: &Range) -> bool {
        let within = |(low, high): (i64, i64)| {
            let is_before = |last| last < high || last == high && (other.is_closed || !self.is_closed);
            other.keys.is_some_and(|(first, last)| low <= first && is_before(last))
        };
        (self.session, self.index) == (other.session, other.index) && self.keys.is_none_or(within)
    }
}

/// A session's lock of an index's entry.
type Locks = BTreeMap<(usize, &'static str, String), Strength>;

#[derive(Clone, Debug, Default)]
struct Txn {
    begun: bool,
    /// What it has searched stays as it is.
    is_repeatable: bool,
    changes: Changes,
    savepoint: Option<Changes>,
}

#[derive(Clone, Debug, Default)]
struct Model {
    committed: BTreeMap<i64, Row>,
    txns: [Txn; SESSIONS],
    locks: Locks,
    searched: Vec<Range>,
}

impl Find {
    fn condition(self) -> String {
        let and_x = |x: Option<i64>| x.map(|x| format!(" AND x = {x}")).unwrap_or_default();
        match self {
            Find::Id(id) => format!("id = {id}"),
            Find::Range(low, high, x) | Find::First(_, low, high, x) => {
                format!("id BETWEEN {low} AND {high}{}", and_x(x))
            }
            Find::K(k, x) => format!("k = {k}{}", and_x(x)),
            Find::X(x) => format!("x = {x}"),
        }
    }

    /// ORDER BY and LIMIT.
    fn order(self) -> String {
        match self {
            Find::First(count, ..) => format!(" ORDER BY id LIMIT {count}"),
            _ => String::new(),
        }
    }

    /// What is searched, but for a key that one row has.
    fn range(self, session: usize) -> Option<Range> {
        let (index, keys) = match self {
            Find::Id(_) => return None,
            Find::Range(low, high, _) | Find::First(_, low, high, _) => ("PRIMARY", Some((low, high + 1))),
            Find::K(k, _) => ("by_k", Some((k, k + 1))),
            Find::X(_) => ("PRIMARY", None),
        };
        Some(Range { session, index, keys, is_closed: false })
    }

    /// Whether a statement looks at a row.
    fn meets(self, id: i64, row: Row) -> bool {
        match self {
            Find::Id(wanted) => id == wanted,
            Find::Range(low, high, _) | Find::First(_, low, high, _) => (low..=high).contains(&id),
            Find::K(k, _) => row.k == k,
            Find::X(_) => true,
        }
    }

    fn chooses(self, id: i64, row: Row) -> bool {
        let x = match self {
            Find::X(x) | Find::Range(_, _, Some(x)) | Find::First(_, _, _, Some(x)) | Find::K(_, Some(x)) => Some(x),
            _ => None,
        };
        self.meets(id, row) && x.is_none_or(|x| row.x == x)
    }
}

impl Statement {
    fn random(random: &mut Random) -> Statement {
        let id = |random: &mut Random| random.below(IDS) as i64;
        let few = |random: &mut Random| random.below(4) as i64;
        let find = match random.below(8) {
            0..=2 => Find::Id(id(random)),
            3 | 4 => {
                let (low, more, x) = (id(random), 1 + few(random), (random.below(2) == 0).then(|| few(random)));
                match random.below(2) {
                    0 => Find::Range(low, low + more, x),
                    _ => Find::First(1 + random.below(2) as usize, low, low + more, x),
                }
            }
            5 | 6 => Find::K(few(random), (random.below(2) == 0).then(|| few(random))),
            _ => Find::X(few(random)),
        };
        match random.below(20) {
            0..=3 => Statement::Lock(Strength::Shared, find),
            4..=7 => Statement::Lock(Strength::Exclusive, find),
            8..=11 => {
                let set = match random.below(3) {
                    0 => Set::X(few(random)),
                    1 => Set::K(few(random)),
                    _ => Set::U(id(random)),
                };
                match set {
                    Set::U(_) => Statement::Update(Find::Id(id(random)), set),
                    _ => Statement::Update(find, set),
                }
            }
            12 | 13 => Statement::Delete(find),
            14 | 15 => Statement::Insert(id(random), Row { x: few(random), k: few(random), u: id(random) }),
            16 => Statement::Savepoint,
            17 => Statement::RollbackTo,
            18 => Statement::Commit,
            _ => Statement::Rollback,
        }
    }

    fn sql(self) -> String {
        match self {
            Statement::Lock(strength, find) => {
                let strength = if strength == Strength::Shared { "SHARE" } else { "UPDATE" };
                format!("SELECT * FROM t WHERE {}{} FOR {strength} NOWAIT", find.condition(), find.order())
            }
            Statement::Update(find, set) => {
                let set = match set {
                    Set::X(x) => format!("x = {x}"),
                    Set::K(k) => format!("k = {k}"),
                    Set::U(u) => format!("u = {u}"),
                };
                format!("UPDATE t SET {set} WHERE {}{}", find.condition(), find.order())
            }
            Statement::Delete(find) => format!("DELETE FROM t WHERE {}{}", find.condition(), find.order()),
            Statement::Insert(id, Row { x, k, u }) => format!("INSERT INTO t VALUES ({id}, {x}, {k}, {u})"),
            Statement::Savepoint => "SAVEPOINT s".to_owned(),
            Statement::RollbackTo => "ROLLBACK TO s".to_owned(),
            Statement::Commit => "COMMIT".to_owned(),
            Statement::Rollback => "ROLLBACK".to_owned(),
        }
    }
}

impl Model {
    /// What a session sees, with its own changes.
    fn seen(&self, session: usize) -> BTreeMap<i64, Row> {
        let mut seen = self.committed.clone();
        for (id, change) in &self.txns[session].changes.rows {
            match change {
                Some(row) => seen.insert(*id, *row),
                None => seen.remove(id),
            };
        }
        seen
    }

    /// Takes a lock; gives what the session had before.
    fn lock(
        &mut self,
        session: usize,
        index: &'static str,
        at: impl ToString,
        strength: Strength,
    ) -> Result<Option<Strength>, Ending> {
        let at = at.to_string();
        let against = |((other, on, key), held): (&(usize, &str, String), &Strength)| {
            *other != session && (*on, key) == (index, &at) && (*held).max(strength) == Strength::Exclusive
        };
        if self.locks.iter().any(against) {
            return Err(Ending::Refused);
        }
        let key = (session, index, at);
        let before = self.locks.get(&key).copied();
        self.locks.insert(key, before.map_or(strength, |before| before.max(strength)));
        Ok(before)
    }

    /// Locks what is to be searched.
    fn search(&mut self, session: usize, strength: Strength, find: Find) -> Result<(), Ending> {
        if !self.txns[session].is_repeatable {
            return Ok(());
        }
        if let (Find::Id(id), false) = (find, find_is_there(&self.seen(session), find)) {
            return self.lock(session, "PRIMARY", id, strength).map(|_| ());
        }
        match find.range(session) {
            Some(range) => self.search_range(session, range),
            None => Ok(()),
        }
    }

    /// Locks what has been come to of a range, up to a row.
    fn search_to(&mut self, session: usize, find: Find, id: i64) -> Result<(), Ending> {
        match find.range(session) {
            Some(Range { keys: Some((low, _)), .. }) if self.txns[session].is_repeatable => {
                let range = Range { session, index: "PRIMARY", keys: Some((low, id + 1)), is_closed: true };
                self.search_range(session, range)
            }
            _ => Ok(()),
        }
    }

    fn search_range(&mut self, session: usize, range: Range) -> Result<(), Ending> {
        if self.searched.iter().any(|other| other.covers(&range)) {
            return Ok(());
        }
        for other in (0..SESSIONS).filter(|other| *other != session) {
            let Changes { rows, entries } = &self.txns[other].changes;
            let is_new = |(id, row): (&i64, &Option<Row>)| row.is_some() && !self.committed.contains_key(id);
            let new_rows = rows.iter().filter(|row| is_new(*row)).map(|(id, _)| ("PRIMARY", *id));
            let put = entries.iter().filter(|(_, put)| **put).map(|((k, _), _)| ("by_k", *k));
            if new_rows.chain(put).any(|(index, key)| range.contains(index, key)) {
                // It has been its lock all along.
                self.locks.insert((other, range.index, range.name()), Strength::Exclusive);
            }
        }
        self.lock(session, range.index, range.name(), Strength::Shared)?;
        self.searched.push(range);
        Ok(())
    }

    /// Puts a row, once no other session has searched where it comes to.
    fn put(&mut self, session: usize, id: i64, old: Option<Row>, new: Option<Row>) -> Result<(), Ending> {
        let mut keys = Vec::new();
        if let Some(new) = new {
            keys.extend(old.is_none().then_some(("PRIMARY", id)));
            keys.extend(old.is_none_or(|old| old.k != new.k).then_some(("by_k", new.k)));
        }
        let is_met = |range: &&Range| keys.iter().any(|(index, key)| range.contains(index, *key));
        let others = self.searched.iter().filter(|range| range.session != session).filter(is_met);
        for range in others.cloned().collect::<Vec<_>>() {
            self.lock(session, range.index, range.name(), Strength::Exclusive)?;
        }
        self.txns[session].changes.put(id, old, new);
        Ok(())
    }

    /// What was locked is as it was.
    fn give_back(&mut self, session: usize, id: i64, before: Option<Strength>) {
        if self.txns[session].is_repeatable {
            return;
        }
        let key = (session, "PRIMARY", id.to_string());
        match before {
            Some(strength) => self.locks.insert(key, strength),
            None => self.locks.remove(&key),
        };
    }

    fn apply(&mut self, session: usize, statement: Statement) -> Ending {
        let before = self.txns[session].changes.clone();
        let ending = match statement {
            Statement::Lock(strength, find) => self.read(session, strength, find),
            Statement::Update(find, set) => self.change(session, find, Some(set)),
            Statement::Delete(find) => self.change(session, find, None),
            Statement::Insert(id, row) => self.insert(session, id, row),
            Statement::Savepoint => {
                self.txns[session].savepoint = Some(before.clone());
                Ok(())
            }
            Statement::RollbackTo => {
                if let Some(savepoint) = &self.txns[session].savepoint {
                    self.txns[session].changes = savepoint.clone();
                }
                Ok(())
            }
            Statement::Commit | Statement::Rollback => {
                if matches!(statement, Statement::Commit) {
                    self.committed = self.seen(session);
                }
                self.txns[session] = Txn::default();
                self.locks.retain(|(owner, _, _), _| *owner != session);
                self.searched.retain(|range| range.session != session);
                Ok(())
            }
        };
        match ending {
            Ok(()) => Ending::Done,
            Err(ending) => {
                self.txns[session].changes = before;
                ending
            }
        }
    }

    /// A locking read locks all that it looks at.
    fn read(&mut self, session: usize, strength: Strength, find: Find) -> Result<(), Ending> {
        let found: Vec<(i64, Row)> = self.seen(session).into_iter().filter(|(id, row)| find.meets(*id, *row)).collect();
        if let Find::First(count, ..) = find {
            return self.read_first(session, strength, find, (&found, count));
        }
        self.search(session, strength, find)?;
        for (id, _) in found {
            self.lock(session, "PRIMARY", id, strength)?;
        }
        Ok(())
    }

    /// The same with LIMIT: row by row.
    fn read_first(
        &mut self,
        session: usize,
        strength: Strength,
        find: Find,
        (found, count): (&[(i64, Row)], usize),
    ) -> Result<(), Ending> {
        let mut left = count;
        for (id, row) in found {
            self.search_to(session, find, *id)?;
            self.lock(session, "PRIMARY", *id, strength)?;
            left -= usize::from(find.chooses(*id, *row));
            if left == 0 {
                return Ok(());
            }
        }
        self.search(session, strength, find)
    }

    fn change(&mut self, session: usize, find: Find, set: Option<Set>) -> Result<(), Ending> {
        let seen = self.seen(session);
        if let Find::Id(id) = find
            && !seen.contains_key(&id)
        {
            // The place stays locked, at any level.
            return self.lock(session, "PRIMARY", id, Strength::Exclusive).map(|_| ());
        }
        let mut left = match find {
            Find::First(count, ..) => count,
            _ => usize::MAX,
        };
        if left == usize::MAX {
            self.search(session, Strength::Exclusive, find)?;
        }
        for (id, row) in seen.into_iter().filter(|(id, row)| find.meets(*id, *row)) {
            if left == 0 {
                return Ok(());
            }
            if left < usize::MAX {
                self.search_to(session, find, id)?;
            }
            let before = self.lock(session, "PRIMARY", id, Strength::Exclusive)?;
            if !find.chooses(id, row) {
                self.give_back(session, id, before);
                continue;
            }
            let new = match set {
                None => None,
                Some(Set::X(x)) => Some(Row { x, ..row }),
                Some(Set::K(k)) => Some(Row { k, ..row }),
                Some(Set::U(u)) => Some(Row { u, ..row }),
            };
            if new.is_none_or(|new| new.u != row.u) {
                self.lock(session, "by_u", row.u, Strength::Exclusive)?;
            }
            if let Some(new) = new.filter(|new| new.u != row.u) {
                self.take_u(session, new.u)?;
            }
            if new != Some(row) {
                self.put(session, id, Some(row), new)?;
            }
            if left < usize::MAX {
                left -= 1;
            }
        }
        // It has looked for more.
        if (1..usize::MAX).contains(&left) { self.search(session, Strength::Exclusive, find) } else { Ok(()) }
    }

    fn take_u(&mut self, session: usize, u: i64) -> Result<(), Ending> {
        self.lock(session, "by_u", u, Strength::Exclusive)?;
        match self.seen(session).values().any(|row| row.u == u) {
            true => Err(Ending::Duplicate),
            false => Ok(()),
        }
    }

    fn insert(&mut self, session: usize, id: i64, row: Row) -> Result<(), Ending> {
        self.lock(session, "PRIMARY", id, Strength::Exclusive)?;
        if self.seen(session).contains_key(&id) {
            return Err(Ending::Duplicate);
        }
        self.take_u(session, row.u)?;
        self.put(session, id, None, Some(row))
    }
}

fn find_is_there(seen: &BTreeMap<i64, Row>, find: Find) -> bool {
    seen.iter().any(|(id, row)| find.meets(*id, *row))
}

/// What the server says is held.
fn locks(observer: &mut Client, sessions: &[String]) -> Locks {
    let sql = "SELECT thread_id, index_name, lock_mode, lock_data FROM performance_schema.data_locks \
               WHERE object_name = 't' AND lock_status = 'GRANTED'";
    let results = observer.run(sql).expect("the locks");
    let rows = results.first().map(|(_, rows)| rows.as_slice()).unwrap_or_default();
    let text = |value: &Option<Vec<u8>>| String::from_utf8_lossy(value.as_deref().unwrap_or_default()).into_owned();
    rows.iter()
        .map(|row| {
            let row: Vec<String> = row.iter().map(text).collect();
            let session = sessions.iter().position(|id| *id == row[0]).expect("one of the sessions");
            let index = ["PRIMARY", "by_k", "by_u"].into_iter().find(|index| *index == row[1]).expect("an index");
            let strength = if row[2].starts_with('S') { Strength::Shared } else { Strength::Exclusive };
            ((session, index, row[3].clone()), strength)
        })
        .collect()
}

fn make_rows(client: &mut Client) -> BTreeMap<i64, Row> {
    run(client, "CREATE DATABASE d; USE d");
    run(client, "CREATE TABLE t (id INT PRIMARY KEY, x INT, k INT, u INT, KEY by_k (k), UNIQUE KEY by_u (u))");
    let own = (0..IDS as i64 - 2).map(|id| (id, Row { x: id % 4, k: id % 4, u: id }));
    let others = OTHERS.map(|id| (id, Row { x: id, k: id, u: id }));
    let rows: BTreeMap<i64, Row> = own.chain(others).collect();
    let values: Vec<String> = rows.iter().map(|(id, Row { x, k, u })| format!("({id}, {x}, {k}, {u})")).collect();
    run(client, &format!("INSERT INTO t VALUES {}; ANALYZE TABLE t", values.join(", ")));
    rows
}

#[test]
fn locks_are_those_of_the_model() {
    let steps = std::env::var("SQUALL_LOCK_STEPS").ok().and_then(|text| text.parse().ok()).unwrap_or(STEPS);
    let mut random = Random::of_run("locks_are_those_of_the_model");
    let server = start();
    let mut observer = connect(&server);
    let mut model = Model { committed: make_rows(&mut observer), ..Model::default() };
    let mut clients: Vec<Client> = (0..SESSIONS).map(|_| connect(&server)).collect();
    let sessions: Vec<String> = clients.iter_mut().map(|client| value(client, "SELECT CONNECTION_ID()")).collect();
    clients.iter_mut().for_each(|client| run(client, "USE d"));
    let (mut done, mut refused, mut duplicates, mut left_out) = (0, 0, 0, 0);
    let mut told = Vec::new();
    for _ in 0..steps {
        let session = random.below(SESSIONS as u64) as usize;
        if !model.txns[session].begun {
            let is_repeatable = random.below(2) == 0;
            let level = if is_repeatable { "REPEATABLE READ" } else { "READ COMMITTED" };
            run(&mut clients[session], &format!("SET TRANSACTION ISOLATION LEVEL {level}; BEGIN"));
            told.push(format!("{session}: BEGIN at {level}"));
            model.txns[session] = Txn { begun: true, is_repeatable, ..Txn::default() };
        }
        let statement = Statement::random(&mut random);
        if matches!(statement, Statement::RollbackTo) && model.txns[session].savepoint.is_none() {
            continue;
        }
        let mut next = model.clone();
        let ending = next.apply(session, statement);
        match ending {
            Ending::Refused if !matches!(statement, Statement::Lock(..)) => {
                left_out += 1;
                continue;
            }
            Ending::Refused => refused += 1,
            Ending::Duplicate => duplicates += 1,
            Ending::Done => done += 1,
        }
        model = next;
        told.push(format!("{session}: {} -- {ending:?}", statement.sql()));
        let code = match clients[session].run(&statement.sql()) {
            Ok(_) => None,
            Err(ClientError::Server(error)) => Some(error.code),
            Err(error) => panic!("{error}\n{}", told.join("\n")),
        };
        let (held, last) = (locks(&mut observer, &sessions), told.len().saturating_sub(60));
        assert_eq!(code, ending.code(), "{}", told[last..].join("\n"));
        let missing: Vec<_> = model.locks.iter().filter(|(key, held_as)| held.get(key) != Some(held_as)).collect();
        let extra: Vec<_> = held.iter().filter(|(key, held_as)| model.locks.get(key) != Some(held_as)).collect();
        let wrong = !missing.is_empty() || !extra.is_empty();
        assert!(!wrong, "missing: {missing:?}, extra: {extra:?} after\n{}", told[last..].join("\n"));
    }
    println!("{done} statements done, {refused} refused, {duplicates} duplicates, {left_out} would have waited");
    assert!(done * 4 > steps && refused * 100 > steps, "too little for the run to mean anything");
}
