//! [`LevelStore`]: the part of a store that storage engines use.

use super::{HeldTable, RowStore};
use crate::options::LockWait;
use crate::read_view::ReadView;
use crate::sealing::Sealing;
use crate::table::Table;
use crate::table_part::TablePart;
use squall_catalog::{TableDef, TableId};
use squall_types::SqlResult;
use std::sync::Arc;

/// What a [`TableEngine`](crate::TableEngine) asks of the store that its levels are below: it reads tables, keeps their definitions as
/// they are meanwhile, and takes rows over. It can neither change rows or definitions in another way nor close the store.
pub trait LevelStore: Send + Sync {
    /// The newest definition of the table that has a storage, which is the table itself or one of its partitions; `None` if the storage
    /// has been dropped.
    fn definition(&self, storage: TableId) -> Option<Arc<TableDef>>;

    /// Locks the table that has a storage as [`RowStore::hold_table`] does, and gives the storage; `None` if there is none any more.
    ///
    /// # Errors
    /// Those of waiting.
    fn hold_storage(&self, session: u64, storage: TableId, wait: LockWait) -> crate::StoreResult<Option<HeldTable>>;

    /// Whether a session waits for the lock of a table.
    fn is_lock_waited_for(&self, table: &Table) -> bool;

    /// See [`RowStore::read_view`].
    fn read_view(&self) -> ReadView;

    /// Whether no reader has a sequence number before this one any more; also false while it is not known yet.
    fn is_past(&self, seqno: u64) -> bool;

    /// Begins to take over rows that have changed since the level got them: into the level of a table's rows, or into a copy. `None` if
    /// another sealing of that part is under way.
    ///
    /// # Errors
    /// When the part has no level; those of syncing the log.
    fn begin_sealing(&self, table: &Arc<Table>, part: TablePart) -> SqlResult<Option<Sealing>>;

    /// As [`LevelStore::begin_sealing`], of all rows into a table's copy of columns.
    ///
    /// # Errors
    /// The same.
    fn begin_copying(&self, table: &Arc<Table>) -> SqlResult<Option<Sealing>>;
}

impl LevelStore for RowStore {
    fn definition(&self, storage: TableId) -> Option<Arc<TableDef>> {
        self.0.catalog.lock().table_of_storage(storage).cloned()
    }

    fn hold_storage(&self, session: u64, storage: TableId, wait: LockWait) -> crate::StoreResult<Option<HeldTable>> {
        let Some(def) = LevelStore::definition(self, storage) else { return Ok(None) };
        let Some(table) = self.hold_table(session, def.id, wait)? else { return Ok(None) };
        Ok(table.storages().into_iter().find(|held| held.storage_id() == storage))
    }

    fn is_lock_waited_for(&self, table: &Table) -> bool {
        self.0.locks.is_waited_for(table.id())
    }

    fn read_view(&self) -> ReadView {
        RowStore::read_view(self)
    }

    fn is_past(&self, seqno: u64) -> bool {
        self.0.db.snapshots.unneeded_before() >= seqno
    }

    fn begin_sealing(&self, table: &Arc<Table>, part: TablePart) -> SqlResult<Option<Sealing>> {
        Sealing::begin(&self.0.committer, table, part)
    }

    fn begin_copying(&self, table: &Arc<Table>) -> SqlResult<Option<Sealing>> {
        Sealing::begin_copy(&self.0.committer, table)
    }
}
