//! The statements that read and append to lists: by every kind of key, in every kind of table, as text and prepared.

use crate::record::{Level, List, Operation};
use crate::workload::{Failure, Shared, attempt};
use mysql::Value;
use mysql::prelude::Queryable;
use squall_test_support::random::Random;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Lists of one round.
pub const LISTS: u64 = 24;
/// Lists that a condition other than by their numbers finds together: this many groups in a round.
const GROUPS: u64 = 2;

/// Tables of lists. A list's number says which it is in.
const TABLES: [&str; 4] = ["lists", "documents", "columns", "lists"];

/// How often what was done, by a word for it.
pub type Kinds = BTreeMap<&'static str, u64>;

/// What a run has to have done, whatever else.
pub const EXPECTED: [&str; 20] = [
    "append by UPDATE",
    "append by INSERT",
    "append by ON DUPLICATE KEY",
    "append by DELETE and INSERT",
    "append by REPLACE",
    "append by UPDATE of a join",
    "append by secondary index",
    "read of one",
    "read of a range",
    "read by secondary index",
    "read by changed index",
    "read by unique key",
    "read by scan",
    "read by join",
    "read FOR UPDATE",
    "read FOR SHARE",
    "absent list",
    "prepared",
    "document",
    "column table",
];

pub fn create_tables(conn: &mut mysql::Conn) {
    let columns = "id BIGINT PRIMARY KEY, grp BIGINT NOT NULL, n INT NOT NULL, last BIGINT, UNIQUE KEY by_last (last), \
                   KEY by_grp (grp), KEY by_n (n)";
    for sql in [
        format!("CREATE TABLE history.lists (v LONGTEXT NOT NULL, {columns})"),
        format!("CREATE TABLE history.documents (v JSON NOT NULL, {columns})"),
        format!("CREATE TABLE history.columns (v LONGTEXT NOT NULL, {columns}) ENGINE=COLUMN"),
    ] {
        conn.query_drop(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// New lists for a round; their keys are returned. Half of them are there, with nothing in them; the others come with their
/// first element.
pub fn create_lists(conn: &mut mysql::Conn, round: u64) -> Range<u64> {
    let keys = round * LISTS..(round + 1) * LISTS;
    for list in keys.clone().map(ListKey).filter(|list| list.0 % 8 < 4) {
        let (empty, id, group) = (list.empty(), list.0, list.group());
        let sql = format!("INSERT INTO {} (v, id, grp, n) VALUES ('{empty}', {id}, {group}, 0)", list.table());
        conn.query_drop(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    keys
}

/// A list as it is, by its key.
pub fn read_manifest(conn: &mut mysql::Conn, key: u64) -> List {
    let sql = format!("SELECT v FROM {} WHERE id = {key}", ListKey(key).table());
    let list: Option<String> = conn.query_first(sql).expect("a list");
    list.map(|list| parse(&list)).unwrap_or_default()
}

/// Elements of a text with spaces between, or of a document.
fn parse(list: &str) -> List {
    let elements = list.split(|other: char| !other.is_ascii_digit()).filter(|element| !element.is_empty());
    elements.map(|element| element.parse().expect("a number")).collect()
}

#[derive(Clone, Copy)]
struct ListKey(u64);

impl ListKey {
    fn table(self) -> String {
        format!("history.{}", TABLES[(self.0 % 4) as usize])
    }

    fn group(self) -> u64 {
        self.0 / LISTS * GROUPS + self.0 / 4 % GROUPS
    }

    /// Those of its group in its table.
    fn siblings(self) -> impl Iterator<Item = u64> {
        let first = self.0 / LISTS * LISTS;
        (first..first + LISTS)
            .map(ListKey)
            .filter(move |other| other.table() == self.table() && other.group() == self.group())
            .map(|list| list.0)
    }

    fn is_document(self) -> bool {
        TABLES[(self.0 % 4) as usize] == "documents"
    }

    fn empty(self) -> &'static str {
        if self.is_document() { "[]" } else { "" }
    }

    /// An expression for the list with one more element.
    fn appended(self, v: &str, element: &str) -> String {
        match self.is_document() {
            true => format!("JSON_ARRAY_APPEND({v}, '$', {element})"),
            false => format!("CONCAT({v}, ' ', {element})"),
        }
    }

    /// A list as a literal.
    fn literal(self, list: &[u64]) -> String {
        let elements: Vec<String> = list.iter().map(u64::to_string).collect();
        if self.is_document() { format!("[{}]", elements.join(", ")) } else { elements.join(" ") }
    }
}

/// A transaction's statements on lists, and what it is told.
pub struct ListWork<'a> {
    pub conn: &'a mut mysql::Conn,
    pub random: &'a mut Random,
    pub shared: &'a Shared,
    pub level: Level,
    pub operations: &'a mut Vec<Operation>,
    pub kinds: &'a mut Kinds,
    /// The last element that the client has seen of lists.
    pub last_seen: &'a mut HashMap<u64, u64>,
}

impl ListWork<'_> {
    /// One operation on one of the lists.
    pub fn step(&mut self, lists: &Range<u64>) -> Result<(), Failure> {
        let list = ListKey(lists.start + self.random.below(LISTS));
        if self.random.below(2) == 0 { self.append(list) } else { self.read(list) }
    }

    fn did(&mut self, kind: &'static str) {
        *self.kinds.entry(kind).or_default() += 1;
    }

    /// Runs a statement, whose numbers stand for its question marks, as a text or prepared.
    fn rows(&mut self, sql: &str, numbers: &[u64]) -> Result<Vec<(u64, String)>, Failure> {
        if self.random.below(3) == 0 {
            self.did("prepared");
            let values: Vec<Value> = numbers.iter().map(|number| Value::from(*number)).collect();
            return attempt(sql, self.conn.exec(sql, values));
        }
        let sql = with_numbers(sql, numbers);
        attempt(&sql, self.conn.query(&sql))
    }

    fn execute(&mut self, sql: &str, numbers: &[u64]) -> Result<u64, Failure> {
        if self.random.below(3) == 0 {
            self.did("prepared");
            let values: Vec<Value> = numbers.iter().map(|number| Value::from(*number)).collect();
            attempt(sql, self.conn.exec_drop(sql, values))?;
        } else {
            let sql = with_numbers(sql, numbers);
            attempt(&sql, self.conn.query_drop(&sql))?;
        }
        Ok(self.conn.affected_rows())
    }

    fn append(&mut self, list: ListKey) -> Result<(), Failure> {
        let element = self.shared.unique();
        if self.random.below(4) == 0 {
            return self.rewrite(list, element);
        }
        // Noted first: it may have been done although the connection broke.
        self.operations.push(Operation::Append { key: list.0, element });
        let (table, key) = (list.table(), list.0);
        let more = list.appended("v", "?");
        match self.random.below(6) {
            0 | 1 => {
                self.did("append by UPDATE");
                let sql = format!("UPDATE {table} SET v = {more}, n = n + 1, last = ? WHERE id = ?");
                self.append_or_insert(list, element, &sql, &[element, element, key])
            }
            2 => {
                self.did("append by secondary index");
                let sql = format!("UPDATE {table} SET v = {more}, n = n + 1, last = ? WHERE grp = ? AND id + 0 = ?");
                self.append_or_insert(list, element, &sql, &[element, element, list.group(), key])
            }
            3 => {
                self.did("append by UPDATE of a join");
                let more = list.appended("t.v", "?");
                let sql = format!(
                    "UPDATE {table} t JOIN (SELECT ? AS id) d ON d.id = t.id SET t.v = {more}, t.n = t.n + 1, t.last = ?"
                );
                self.append_or_insert(list, element, &sql, &[key, element, element])
            }
            _ => {
                self.did("append by ON DUPLICATE KEY");
                let sql = format!(
                    "INSERT INTO {table} (v, id, grp, n, last) VALUES ('{}', ?, ?, 1, ?) \
                     ON DUPLICATE KEY UPDATE v = {more}, n = n + 1, last = ?",
                    list.literal(&[element])
                );
                self.execute(&sql, &[key, list.group(), element, element, element]).map(|_| ())
            }
        }
    }

    fn append_or_insert(&mut self, list: ListKey, element: u64, sql: &str, numbers: &[u64]) -> Result<(), Failure> {
        match self.execute(sql, numbers)? {
            0 => {
                self.did("append by INSERT");
                self.insert(list, "INSERT", &[element])
            }
            _ => Ok(()),
        }
    }

    fn insert(&mut self, list: ListKey, verb: &str, elements: &[u64]) -> Result<(), Failure> {
        let (table, content) = (list.table(), list.literal(elements));
        let sql = format!("{verb} INTO {table} (v, id, grp, n, last) VALUES ('{content}', ?, ?, ?, ?)");
        let last = elements.last().copied().unwrap_or_default();
        self.execute(&sql, &[list.0, list.group(), elements.len() as u64, last]).map(|_| ())
    }

    /// Reads a list under a lock and puts a new row with one more element in the place of the old one.
    fn rewrite(&mut self, list: ListKey, element: u64) -> Result<(), Failure> {
        let sql = format!("SELECT id, v FROM {} WHERE id = ? FOR UPDATE", list.table());
        let found = self.read_rows(&sql, &[list.0], &[list.0])?;
        let is_there = found.contains_key(&list.0);
        let mut elements = found.get(&list.0).cloned().unwrap_or_default();
        elements.push(element);
        self.operations.push(Operation::Append { key: list.0, element });
        if !is_there && self.level.reads_newest() {
            // Nothing keeps another from making it first.
            self.did("append by INSERT");
            return self.insert(list, "INSERT", &elements);
        }
        if self.random.below(2) == 0 {
            self.did("append by REPLACE");
            return self.insert(list, "REPLACE", &elements);
        }
        self.did("append by DELETE and INSERT");
        self.execute(&format!("DELETE FROM {} WHERE id = ?", list.table()), &[list.0])?;
        self.insert(list, "INSERT", &elements)
    }

    /// Records the lists that a statement finds; missing lists have no elements.
    fn read_rows(&mut self, sql: &str, numbers: &[u64], lists: &[u64]) -> Result<HashMap<u64, List>, Failure> {
        let sent = self.shared.now();
        let rows = self.rows(sql, numbers)?;
        let found: HashMap<u64, List> = rows.iter().map(|(key, v)| (*key, parse(v))).collect();
        assert!(found.keys().all(|key| lists.contains(key)), "{sql} found {:?} of {lists:?}", found.keys());
        assert_eq!(found.len(), rows.len(), "{sql} found a list twice");
        for key in lists {
            let elements = found.get(key).cloned();
            if elements.is_none() {
                self.did("absent list");
            }
            let elements = elements.unwrap_or_default();
            if let Some(last) = elements.last() {
                self.last_seen.insert(*key, *last);
            }
            self.operations.push(Operation::Read { key: *key, found: elements, sent });
        }
        Ok(found)
    }

    fn read(&mut self, list: ListKey) -> Result<(), Failure> {
        if list.is_document() {
            self.did("document");
        }
        if TABLES[(list.0 % 4) as usize] == "columns" {
            self.did("column table");
        }
        let lock = match self.random.below(6) {
            0 => {
                self.did("read FOR UPDATE");
                " FOR UPDATE"
            }
            1 => {
                self.did("read FOR SHARE");
                " FOR SHARE"
            }
            _ => "",
        };
        let (table, group, key) = (list.table(), list.group(), list.0);
        let siblings: Vec<u64> = list.siblings().collect();
        match self.random.below(10) {
            0..=2 => {
                self.did("read of one");
                self.read_rows(&format!("SELECT id, v FROM {table} WHERE id = ?{lock}"), &[key], &[key])?;
            }
            3 => {
                self.did("read of a range");
                let last = siblings.last().copied().unwrap_or(key);
                let sql = format!("SELECT id, v FROM {table} WHERE id BETWEEN ? AND ? AND grp = ?{lock}");
                let lists: Vec<u64> = siblings.into_iter().filter(|sibling| (key..=last).contains(sibling)).collect();
                self.read_rows(&sql, &[key, last, group], &lists)?;
            }
            4 | 5 => {
                self.did("read by secondary index");
                self.read_rows(&format!("SELECT id, v FROM {table} WHERE grp = ?{lock}"), &[group], &siblings)?;
            }
            6 => {
                self.did("read by changed index");
                let sql = format!(
                    "SELECT id, v FROM {table} FORCE INDEX (by_n) WHERE n BETWEEN ? AND ? AND grp + 0 = ?{lock}"
                );
                self.read_rows(&sql, &[0, 1_000_000, group], &siblings)?;
            }
            7 => {
                self.did("read by scan");
                self.read_rows(&format!("SELECT id, v FROM {table} WHERE grp + 0 = ?{lock}"), &[group], &siblings)?;
            }
            8 => {
                self.did("read by join");
                let sql =
                    format!("SELECT a.id, b.v FROM {table} a JOIN {table} b ON b.id = a.id WHERE a.grp = ?{lock}");
                self.read_rows(&sql, &[group], &siblings)?;
            }
            _ => {
                let seen = self.random.below(self.last_seen.len().max(1) as u64) as usize;
                let Some((key, last)) = self.last_seen.iter().nth(seen).map(|(key, last)| (*key, *last)) else {
                    return Ok(());
                };
                let table = ListKey(key).table();
                self.did("read by unique key");
                let sent = self.shared.now();
                // What is not there says nothing: the list may have another last element by now.
                for (found, v) in self.rows(&format!("SELECT id, v FROM {table} WHERE last = ?{lock}"), &[last])? {
                    assert_eq!(found, key, "{last} is the last element of another list");
                    self.operations.push(Operation::Read { key, found: parse(&v), sent });
                }
            }
        }
        Ok(())
    }
}

/// A statement with numbers in the places of its question marks.
fn with_numbers(sql: &str, numbers: &[u64]) -> String {
    let mut text = String::with_capacity(sql.len() + 16);
    let mut numbers = numbers.iter();
    for part in sql.split_inclusive('?') {
        match (part.strip_suffix('?'), numbers.next()) {
            (Some(part), Some(number)) => text.push_str(&format!("{part}{number}")),
            _ => text.push_str(part),
        }
    }
    text
}

/// Defines the tables again in some way that changes no list, again and again until the connection breaks.
pub fn define(port: u16, random: &mut Random) -> u64 {
    let Ok(mut conn) = squall_test_support::server::connect("127.0.0.1", port, std::time::Duration::from_secs(5))
    else {
        return 0;
    };
    let mut done = 0;
    if conn.query_drop("SET SESSION lock_wait_timeout = 1").is_err() {
        return done;
    }
    loop {
        let table = ["lists", "documents", "columns"][random.below(3) as usize];
        let what = ["ADD COLUMN extra INT", "DROP COLUMN extra", "ADD KEY more (grp, n)", "DROP KEY more"];
        let sql = format!("ALTER TABLE history.{table} {}", what[random.below(4) as usize]);
        match conn.query_drop(&sql) {
            Ok(()) => done += 1,
            // It is there, or not, or others have the table for too long.
            Err(mysql::Error::MySqlError(error)) if [1060, 1061, 1091, 1205, 1213].contains(&error.code) => {}
            Err(mysql::Error::MySqlError(error)) => panic!("{sql}: {error}"),
            Err(_) => return done,
        }
        std::thread::sleep(std::time::Duration::from_millis(100 + random.below(200)));
    }
}
