//! Bulk loads of tables with partitions: rows go through transactions of a bounded number of rows.
//!
//! One load for each partition would be faster for a few partitions. But eight thousand partitions would need as many threads, sort
//! buffers and open files.

use super::{BulkOutcome, OnDuplicate};
use crate::error::{StoreError, StoreResult};
use crate::options::{Durability, IsolationLevel, LockWait, TransactionOptions};
use crate::store::RowStore;
use crate::table::Table;
use crate::transaction::Transaction;
use squall_types::{SqlResult, Value};
use std::sync::Arc;

/// Rows of a transaction.
const ROWS_MAX: u64 = 4096;

/// Memory that a transaction's rows take before it is committed, bytes.
const BYTES_MAX: usize = 8 << 20;

/// A load of a table that no other session has: what is committed before an error goes with the table.
pub(super) struct PartitionedLoad {
    store: RowStore,
    table: Arc<Table>,
    transaction: Transaction,
    rows: u64,
    pushed: u64,
    outcome: BulkOutcome,
    /// The conflict of the first row that was left out.
    duplicate: Option<StoreError>,
}

impl PartitionedLoad {
    pub fn new(store: &RowStore, table: &Arc<Table>) -> PartitionedLoad {
        PartitionedLoad {
            transaction: begin(store),
            store: store.clone(),
            table: table.clone(),
            rows: 0,
            pushed: 0,
            outcome: BulkOutcome::default(),
            duplicate: None,
        }
    }

    pub fn push(&mut self, values: &[Value]) -> SqlResult<()> {
        match self.transaction.insert(&self.table, values) {
            Ok(_) => self.outcome.loaded += 1,
            Err(error @ StoreError::Duplicate(_)) => {
                self.outcome.skipped.push(self.pushed);
                self.duplicate.get_or_insert(error);
            }
            Err(error) => return Err(error.into()),
        }
        self.pushed += 1;
        self.rows += 1;
        if self.rows >= ROWS_MAX || self.transaction.written_bytes() >= BYTES_MAX {
            self.rows = 0;
            std::mem::replace(&mut self.transaction, begin(&self.store)).commit()?;
        }
        Ok(())
    }

    pub fn finish(self, on_duplicate: OnDuplicate) -> StoreResult<BulkOutcome> {
        let skipped_max = match on_duplicate {
            OnDuplicate::Fail => 0,
            OnDuplicate::Skip => u64::MAX,
            OnDuplicate::SkipAtMost(rows) => rows,
        };
        match self.duplicate {
            Some(error) if self.outcome.skipped.len() as u64 > skipped_max => Err(error),
            _ => {
                self.transaction.commit()?;
                // The definition that comes next syncs the log with all of them.
                Ok(self.outcome)
            }
        }
    }
}

fn begin(store: &RowStore) -> Transaction {
    let options =
        TransactionOptions { durability: Durability::Os, ..TransactionOptions::new(IsolationLevel::ReadCommitted) };
    let mut transaction = store.begin_with(options, None);
    transaction.begin_statement(LockWait::default());
    transaction
}
