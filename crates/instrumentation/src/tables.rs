//! Rows read and changed, by table and index.
//!
//! A session counts its own, in a short list under a lock that only readers share. The server keeps the counts of ended sessions, and
//! the counts that exceed a session's list.
//!
//! A scan of many rows is timed. A look-up or a change of single rows is not, since reading the clock twice would cost as much as the
//! look-up: the statement's remaining time is divided among the rows that it used.

use crate::timed::Timed;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use squall_catalog::{IndexId, TableId};
use squall_statement_context::{TableOperation, TableUse};

/// Tables and indexes that a session counts before it gives its counts to the server.
const SESSION_TABLES_MAX: usize = 64;
/// Tables and indexes that the server keeps; dropped tables are forgotten at the next read.
const TABLES_MAX: usize = 1 << 16;

/// A table, and the index by which rows were found.
pub type TableKey = (TableId, Option<IndexId>);

/// The uses of rows of a table along an index.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TableTotals {
    /// Rows read.
    pub fetched: Timed,
    /// Rows inserted.
    pub inserted: Timed,
    /// Rows changed.
    pub updated: Timed,
    /// Rows deleted.
    pub deleted: Timed,
}

impl TableTotals {
    fn operation(&mut self, operation: TableOperation) -> &mut Timed {
        match operation {
            TableOperation::Fetch => &mut self.fetched,
            TableOperation::Insert => &mut self.inserted,
            TableOperation::Update => &mut self.updated,
            TableOperation::Delete => &mut self.deleted,
        }
    }

    /// Adds others.
    pub fn merge(&mut self, other: &TableTotals) {
        self.fetched.merge(&other.fetched);
        self.inserted.merge(&other.inserted);
        self.updated.merge(&other.updated);
        self.deleted.merge(&other.deleted);
    }

    /// Rows that were changed.
    pub fn written(&self) -> Timed {
        let mut sum = self.inserted;
        sum.merge(&self.updated);
        sum.merge(&self.deleted);
        sum
    }

    /// Everything.
    pub fn all(&self) -> Timed {
        let mut sum = self.fetched;
        sum.merge(&self.written());
        sum
    }
}

/// By table and index.
pub type ByTable = FxHashMap<TableKey, TableTotals>;

/// The counts of one session.
#[derive(Debug, Default)]
pub struct CountedTables(Mutex<Vec<(TableKey, TableTotals)>>);

impl CountedTables {
    /// What the session knows.
    pub fn snapshot(&self) -> ByTable {
        self.0.lock().iter().copied().collect()
    }

    /// Counts rows that a look-up by key has read, in the time of its statement.
    pub fn looked_up(&self, retired: &Tables, key: TableKey, rows: u64, nanos: u64) {
        self.change(retired, key, |totals| totals.fetched.add_many(rows.max(1), nanos));
    }

    /// Counts a statement's rows, with its time.
    pub fn add(&self, retired: &Tables, uses: &[TableUse], statement_nanos: u64) {
        let nanos_of = |used: &TableUse| used.time.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
        let known: u64 = uses.iter().filter_map(nanos_of).fold(0, u64::saturating_add);
        let rows: u64 = uses.iter().filter(|used| used.time.is_none()).map(|used| used.rows).sum();
        let left = statement_nanos.saturating_sub(known);
        for used in uses {
            let share = || (u128::from(left) * u128::from(used.rows) / u128::from(rows.max(1))) as u64;
            let nanos = nanos_of(used).unwrap_or_else(share);
            self.change(retired, (used.table, used.index), |totals| {
                totals.operation(used.operation).add_many(used.rows, nanos);
            });
        }
    }

    fn change(&self, retired: &Tables, key: TableKey, change: impl FnOnce(&mut TableTotals)) {
        let mut counted = self.0.lock();
        if let Some((_, totals)) = counted.iter_mut().find(|(known, _)| *known == key) {
            return change(totals);
        }
        if counted.len() >= SESSION_TABLES_MAX {
            retired.take(&std::mem::take(&mut *counted));
        }
        let mut totals = TableTotals::default();
        change(&mut totals);
        counted.push((key, totals));
    }

    /// Hands what was counted over; the session is gone.
    pub fn retire(&self, retired: &Tables) {
        retired.take(&std::mem::take(&mut *self.0.lock()));
    }
}

/// The counts that the server keeps.
#[derive(Debug, Default)]
pub struct Tables(Mutex<ByTable>);

impl Tables {
    fn take(&self, counted: &[(TableKey, TableTotals)]) {
        if counted.is_empty() {
            return;
        }
        let mut all = self.0.lock();
        for (key, totals) in counted {
            if all.len() < TABLES_MAX || all.contains_key(key) {
                all.entry(*key).or_default().merge(totals);
            }
        }
    }

    /// The counts of all sessions for existing tables.
    pub fn snapshot<'s>(
        &self,
        sessions: impl Iterator<Item = &'s CountedTables>,
        is_there: impl Fn(TableId) -> bool,
    ) -> ByTable {
        let mut all = {
            let mut all = self.0.lock();
            all.retain(|(table, _), _| is_there(*table));
            all.clone()
        };
        for session in sessions {
            for (key, totals) in session.0.lock().iter().filter(|((table, _), _)| is_there(*table)) {
                all.entry(*key).or_default().merge(totals);
            }
        }
        all
    }

    /// Forgets everything.
    pub fn clear<'s>(&self, sessions: impl Iterator<Item = &'s CountedTables>) {
        sessions.for_each(|session| session.0.lock().clear());
        self.0.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn used(table: u32, operation: TableOperation, rows: u64, time: Option<Duration>) -> TableUse {
        TableUse { table: TableId(table), index: None, operation, rows, time }
    }

    #[test]
    fn what_is_not_timed_shares_the_rest() {
        let (server, session) = (Tables::default(), CountedTables::default());
        let uses = [
            used(1, TableOperation::Fetch, 10, Some(Duration::from_nanos(400))),
            used(1, TableOperation::Update, 3, None),
            used(2, TableOperation::Insert, 1, None),
        ];
        session.add(&server, &uses, 1000);
        session.looked_up(&server, (TableId(1), Some(IndexId(0))), 0, 50);
        let all = server.snapshot([&session].into_iter(), |_| true);
        let table = all[&(TableId(1), None)];
        assert_eq!((table.fetched.sum_nanos, table.updated.sum_nanos), (400, 450));
        assert_eq!((table.all().count, table.written().count), (13, 3));
        assert_eq!(all[&(TableId(2), None)].inserted.sum_nanos, 150);
        assert_eq!(all[&(TableId(1), Some(IndexId(0)))].fetched.count, 1);
        session.retire(&server);
        assert_eq!(server.snapshot([&session].into_iter(), |table| table == TableId(2)).len(), 1);
    }

    #[test]
    fn what_is_too_much_for_a_session_is_kept() {
        let (server, session) = (Tables::default(), CountedTables::default());
        for table in 0..1000 {
            session.looked_up(&server, (TableId(table), None), 1, 1);
        }
        assert!(session.0.lock().len() <= SESSION_TABLES_MAX);
        assert_eq!(server.snapshot([&session].into_iter(), |_| true).len(), 1000);
        server.clear([&session].into_iter());
        assert!(server.snapshot([&session].into_iter(), |_| true).is_empty());
    }
}
