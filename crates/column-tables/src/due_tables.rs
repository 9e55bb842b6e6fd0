//! The tables that wait for the background job to seal them.

use parking_lot::{Condvar, Mutex};
use rustc_hash::FxHashSet;
use squall_catalog::TableId;
use std::time::{Duration, Instant};

/// Changes from which on a table is sealed at once: its readers read its delta rows one by one.
pub(crate) const SEAL_FROM: u64 = 1 << 14;

/// Changes from which on a table is sealed once no session changes it any more.
pub(crate) const SEAL_IDLE_FROM: u64 = 1 << 8;

/// How long to wait with a table that cannot be sealed now, or is being changed.
pub(crate) const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Tables that have many delta rows.
#[derive(Debug, Default)]
pub(crate) struct DueTables {
    state: Mutex<Due>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Due {
    tables: FxHashSet<TableId>,
    /// The tables that must wait, with the time of their turn.
    later: Option<(FxHashSet<TableId>, Instant)>,
    closing: bool,
}

impl DueTables {
    pub fn add(&self, table: TableId) {
        self.state.lock().tables.insert(table);
        self.changed.notify_all();
    }

    /// Adds a table in a while.
    pub fn add_later(&self, table: TableId) {
        let mut due = self.state.lock();
        due.later.get_or_insert_with(|| (FxHashSet::default(), Instant::now() + RETRY_AFTER)).0.insert(table);
        self.changed.notify_all();
    }

    pub fn close(&self) {
        self.state.lock().closing = true;
        self.changed.notify_all();
    }

    /// Waits for a table; `None` when it is time to end.
    pub fn next(&self) -> Option<TableId> {
        let mut due = self.state.lock();
        loop {
            if due.closing {
                return None;
            }
            if let Some((tables, _)) = due.later.take_if(|(_, time)| *time <= Instant::now()) {
                due.tables.extend(tables);
            }
            if let Some(table) = due.tables.iter().next().copied() {
                due.tables.remove(&table);
                return Some(table);
            }
            match due.later.as_ref().map(|(_, time)| *time) {
                Some(time) => _ = self.changed.wait_until(&mut due, time),
                None => self.changed.wait(&mut due),
            }
        }
    }
}
