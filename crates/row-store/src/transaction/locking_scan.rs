//! Scans that lock the rows they give.

use super::Transaction;
use crate::engine::{Slice, Snapshot};
use crate::error::{StoreError, StoreResult, corrupted};
use crate::index_key::row_key_of_entry;
use crate::locks::RowLock;
use crate::options::{LockRequest, LockWait};
use crate::read_view::Cursor;
use crate::table::Table;
use crate::table::row::Row;
use squall_types::ErrorCode;
use std::sync::Arc;

/// A row in its newest version, and its lock.
#[derive(Debug)]
pub struct LockedRow {
    /// The row.
    pub row: Row,
    /// To be [given back](Transaction::give_back) if the row is not wanted.
    pub lock: RowLock,
}

/// A scan that locks the rows it gives.
pub struct LockingScan {
    pub(super) cursor: Cursor,
    pub(super) request: LockRequest,
    /// A row that could not be locked at once.
    pub(super) pending: Option<(Arc<Table>, Slice)>,
    /// See [`Transaction::scan_newest`].
    pub(super) of_newest: bool,
    /// The snapshot that rows must not have changed since (1020): the statement begins again then, and finds what the same transactions have
    /// added behind.
    pub(super) since: Option<Snapshot>,
}

impl LockingScan {
    /// The next row, locked, in its newest version. After [`StoreError::WouldBlock`] the same row is tried again.
    pub fn next(&mut self, txn: &mut Transaction) -> StoreResult<Option<LockedRow>> {
        loop {
            let (table, key) = match self.pending.take() {
                Some(pending) => pending,
                None => {
                    let Some((key, value)) = self.cursor.next_pair()? else { return Ok(None) };
                    let table = self.cursor.last_table().clone();
                    if crate::index_key::is_row_key(&key) {
                        (table, key)
                    } else {
                        let row_key = row_key_of_entry(&key, &value).ok_or_else(|| corrupted(&table.def().name))?;
                        (table, row_key.into())
                    }
                }
            };
            let lock = match txn.lock_found(&table, &key, self.request) {
                Ok(lock) => lock,
                Err(StoreError::WouldBlock) => {
                    self.pending = Some((table, key));
                    return Err(StoreError::WouldBlock);
                }
                Err(error) if self.request.wait == LockWait::SkipLocked && is_held(&error) => continue,
                Err(error) => return Err(error),
            };
            let fails = if self.of_newest { txn.is_serializable() } else { txn.fails_on_change() };
            if let Some(row) = txn.newest_row(&table, &key, fails, self.since.as_ref())? {
                return Ok(Some(LockedRow { row, lock }));
            }
        }
    }

    /// How the next rows are locked; a blocking thread changes it from `WouldBlock`.
    pub fn set_wait(&mut self, wait: LockWait) {
        self.request.wait = wait;
    }
}

/// Whether a lock was not available because others hold it: SKIP LOCKED skips such rows, and no other error.
pub(super) fn is_held(error: &StoreError) -> bool {
    matches!(error, StoreError::Sql(error) if error.is(ErrorCode::LockNowait))
}
