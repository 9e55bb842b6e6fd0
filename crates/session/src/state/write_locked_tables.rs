//! Tables that LOCK TABLES … WRITE has locked: other sessions do not even read them. Plain reads take no lock, so they look here whether they have to
//! wait for one.

use parking_lot::Mutex;
use squall_catalog::TableId;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The tables that any session has locked so.
#[derive(Debug, Default)]
pub(crate) struct WriteLockedTables {
    /// How many there are: nearly always none.
    count: AtomicUsize,
    tables: Mutex<HashMap<TableId, usize>>,
}

impl WriteLockedTables {
    /// Whether there is any.
    pub fn any(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0
    }

    /// Adds tables that a session has locked.
    pub fn add(self: &Arc<Self>, ids: BTreeSet<TableId>) -> WriteLocked {
        let mut tables = self.tables.lock();
        ids.iter().for_each(|id| *tables.entry(*id).or_default() += 1);
        self.count.fetch_add(ids.len(), Ordering::AcqRel);
        drop(tables);
        WriteLocked { of: self.clone(), ids }
    }

    /// Whether a table is among them.
    pub fn has(&self, id: TableId) -> bool {
        self.tables.lock().contains_key(&id)
    }
}

/// Tables that one session has locked, until this is dropped.
#[derive(Debug)]
pub(crate) struct WriteLocked {
    of: Arc<WriteLockedTables>,
    ids: BTreeSet<TableId>,
}

impl Drop for WriteLocked {
    fn drop(&mut self) {
        let mut tables = self.of.tables.lock();
        for id in &self.ids {
            if let Some(count) = tables.get_mut(id) {
                *count -= 1;
                if *count == 0 {
                    tables.remove(id);
                }
            }
        }
        self.of.count.fetch_sub(self.ids.len(), Ordering::AcqRel);
    }
}
