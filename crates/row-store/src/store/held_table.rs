//! [`HeldTable`]: a table that no definition changes meanwhile.

use super::{RowStore, SessionLocks};
use crate::options::{LockWait, TableLock};
use crate::table::Table;
use squall_catalog::{TableDef, TableId};
use std::sync::Arc;

/// A table whose definition stays as it is for as long as this is held, while others read and write its rows: what works on a
/// table's files in the background, or waits for a lock first, takes this.
#[derive(Debug)]
pub struct HeldTable {
    table: Arc<Table>,
    // Dropping the last one gives them back.
    locks: Arc<SessionLocks>,
}

impl HeldTable {
    /// Where its rows are: its partitions, or the table itself if it has none.
    pub fn storages(&self) -> Vec<HeldTable> {
        let storages = self.table.storages().into_iter();
        storages.map(|table| HeldTable { table, locks: self.locks.clone() }).collect()
    }
}

impl std::ops::Deref for HeldTable {
    type Target = Arc<Table>;

    fn deref(&self) -> &Arc<Table> {
        &self.table
    }
}

impl RowStore {
    /// Locks a table against definitions and gives it as it is from then on; `None` if the catalog has no such table any more.
    ///
    /// # Errors
    /// Those of waiting.
    pub fn hold_table(&self, session: u64, id: TableId, wait: LockWait) -> crate::StoreResult<Option<HeldTable>> {
        let mut locks = self.session_locks(session);
        locks.lock(id, TableLock::Read, wait)?;
        let def = self.0.catalog.lock().table_by_id(id).map(|(_, def)| def.clone());
        let Some(def) = def else { return Ok(None) };
        Ok(Some(HeldTable { table: self.table(&def)?, locks: Arc::new(locks) }))
    }

    /// The same of a TEMPORARY table of the session, which no other one can change.
    pub fn hold_temporary(&self, session: u64, def: &Arc<TableDef>) -> crate::StoreResult<HeldTable> {
        Ok(HeldTable { table: self.table(def)?, locks: Arc::new(self.session_locks(session)) })
    }
}
