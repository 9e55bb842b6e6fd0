//! Bulk loads of tables with partitions: one for each partition that gets rows.

use super::{BulkLoad, BulkOutcome, OnDuplicate};
use crate::error::StoreResult;
use crate::options::LockWait;
use crate::store::RowStore;
use crate::table::Table;
use squall_types::{SqlError, SqlResult, Value};
use std::sync::Arc;

/// The loads of a table's partitions.
pub(super) struct PartitionLoads {
    store: RowStore,
    table: Arc<Table>,
    /// In the order in which they got their first rows, with the storage's number for life.
    loads: Vec<(squall_catalog::TableId, BulkLoad)>,
}

impl PartitionLoads {
    pub fn new(store: &RowStore, table: &Arc<Table>) -> PartitionLoads {
        PartitionLoads { store: store.clone(), table: table.clone(), loads: Vec::new() }
    }

    pub fn push(&mut self, values: Vec<Value>) -> SqlResult<()> {
        if self.loads.is_empty() && self.table.has_hidden_row_id() {
            self.table.find_last_row_id()?;
        }
        let id = self.table.storage_for(&values)?.storage_id();
        let at = match self.loads.iter().position(|(of, _)| *of == id) {
            Some(at) => at,
            None => {
                let partitions = self.table.partitions().unwrap_or_default();
                let partition = partitions.iter().find(|partition| partition.storage_id() == id);
                let partition = partition.ok_or_else(|| SqlError::internal("a partition that is not meant"))?;
                self.loads.push((id, self.store.bulk_load(partition)));
                self.loads.len() - 1
            }
        };
        self.loads[at].1.push(values)
    }

    /// One partition after the other: only of a table that nobody else has is a load all or nothing.
    pub fn finish(self, session: u64, wait: LockWait, on_duplicate: OnDuplicate) -> StoreResult<BulkOutcome> {
        let mut all = BulkOutcome::default();
        for (_, load) in self.loads {
            let outcome = load.finish(session, wait, on_duplicate)?;
            all.loaded += outcome.loaded;
            all.skipped.extend(outcome.skipped);
        }
        Ok(all)
    }
}
