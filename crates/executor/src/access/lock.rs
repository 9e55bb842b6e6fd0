//! Locking reads.

use crate::env::StatementEnv;
use parking_lot::MutexGuard;
use squall_parser::ast;
use squall_row_store::{
    Direction, KeyRange, LockMode, LockRequest, LockWait, PiecewiseSearch, ReadView, Row, StoreError, StoreResult,
    Table, Transaction,
};
use squall_statement_context::off_pool;
use squall_types::{SqlError, SqlResult};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

/// How a locking read locks the rows of one table reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableLock {
    /// FOR UPDATE or FOR SHARE.
    pub mode: LockMode,
    /// NOWAIT, SKIP LOCKED, or the default.
    pub wait: LockWait,
}

impl TableLock {
    /// The lock of a locking clause; `timeout` is the session's `innodb_lock_wait_timeout`.
    pub fn of(strength: ast::LockStrength, wait: ast::LockWait, timeout: Duration) -> TableLock {
        TableLock {
            mode: match strength {
                ast::LockStrength::Update => LockMode::Exclusive,
                ast::LockStrength::Share => LockMode::Shared,
            },
            wait: match wait {
                ast::LockWait::Default => LockWait::Timeout(timeout),
                ast::LockWait::NoWait => LockWait::Nowait,
                ast::LockWait::SkipLocked => LockWait::SkipLocked,
                ast::LockWait::Seconds(seconds) => LockWait::Timeout(Duration::from_secs(seconds)),
            },
        }
    }

    /// Locks the ranges of a search, if the transaction locks searched ranges. Then it gives the view to read in place of the
    /// statement's.
    pub fn lock_ranges(self, env: &StatementEnv, table: &Table, ranges: &[KeyRange]) -> SqlResult<Option<ReadView>> {
        let mut transaction = transaction_of(env)?;
        let is_locked = self.wait_for_lock(|request| transaction.lock_ranges(table, ranges, request))?;
        Ok(is_locked.then(|| transaction.change_view()))
    }

    /// Locks the row that a key of the table or of a unique index finds, or else the key's place.
    pub fn lock_point(self, env: &StatementEnv, table: &Arc<Table>, range: &KeyRange) -> SqlResult<Option<Row>> {
        let mut transaction = transaction_of(env)?;
        let mut view = env.view()?.clone();
        let mut place_is_locked = false;
        loop {
            let found = view.scan(table, range, Direction::Forward).next_row()?;
            let now = match &found {
                Some(found) => {
                    self.wait_for_lock(|request| transaction.get_locked(table, found.key_bytes(), request))?
                }
                None => None,
            };
            // What has changed since it was found may have another key now.
            let is_found = found.as_ref().zip(now.as_ref()).is_some_and(|(found, now)| found.is_same_version(now));
            let Bound::Included(key) = &range.start else { return Ok(now) };
            if is_found
                || place_is_locked
                || !self.wait_for_lock(|request| transaction.lock_absent(table, key, request))?
            {
                return Ok(now);
            }
            place_is_locked = true;
            view = transaction.change_view();
        }
    }

    /// Locks the next rows of a search that may end early; `None` at its end.
    pub fn lock_next_rows(
        self,
        env: &StatementEnv,
        table: &Arc<Table>,
        search: &mut PiecewiseSearch,
        count: usize,
    ) -> SqlResult<Option<Vec<Row>>> {
        let mut transaction = transaction_of(env)?;
        self.wait_for_lock(|request| transaction.lock_next_rows(table, search, count, request))
    }

    /// Takes a lock; where it has to be waited for, not on a thread of the pool.
    fn wait_for_lock<T>(self, mut take: impl FnMut(LockRequest) -> StoreResult<T>) -> SqlResult<T> {
        let request = LockRequest { mode: self.mode, wait: self.wait };
        // Few rows are locked by others: only for those does the pool's thread have to be free to wait.
        let first = match self.wait {
            LockWait::Timeout(_) => LockRequest { mode: self.mode, wait: LockWait::WouldBlock },
            _ => request,
        };
        match take(first) {
            Err(StoreError::WouldBlock) => Ok(off_pool(|| take(request))??),
            result => Ok(result?),
        }
    }

    /// Locks rows and replaces them by their newest versions; rows that are gone or skipped are left out.
    pub fn lock_rows(self, env: &StatementEnv, table: &Table, rows: &mut Vec<Row>) -> SqlResult<()> {
        let mut transaction = transaction_of(env)?;
        let mut locked = Vec::with_capacity(rows.len());
        for row in rows.drain(..) {
            locked.extend(self.wait_for_lock(|request| transaction.get_locked(table, row.key_bytes(), request))?);
        }
        *rows = locked;
        Ok(())
    }
}

fn transaction_of(env: &StatementEnv) -> SqlResult<MutexGuard<'_, Transaction>> {
    match &env.transaction {
        Some(transaction) => transaction.lock(),
        None => Err(SqlError::internal("a locking read outside of a transaction")),
    }
}
