//! Locking reads.

use crate::exec::env::StatementEnv;
use squall_parser::ast;
use squall_registry::off_pool;
use squall_row_store::{LockMode, LockRequest, LockWait, Row, StoreError, Table};
use squall_types::{SqlError, SqlResult};
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

    /// Locks rows and replaces them by their newest versions; rows that are gone or skipped are left out.
    pub fn lock_rows(self, env: &StatementEnv, table: &Table, rows: &mut Vec<Row>) -> SqlResult<()> {
        let Some(transaction) = &env.transaction else {
            return Err(SqlError::internal("a locking read outside of a transaction"));
        };
        let mut transaction = transaction.lock();
        let request = LockRequest { mode: self.mode, wait: self.wait };
        // Few rows are locked by others: only for those does the pool's thread have to be free to wait.
        let first = match self.wait {
            LockWait::Timeout(_) => LockRequest { mode: self.mode, wait: LockWait::WouldBlock },
            _ => request,
        };
        let mut locked = Vec::with_capacity(rows.len());
        for row in rows.drain(..) {
            let mut result = transaction.get_locked(table, row.key_bytes(), first);
            if let Err(StoreError::WouldBlock) = result {
                result = off_pool(|| transaction.get_locked(table, row.key_bytes(), request));
            }
            match result {
                Ok(Some(row)) => locked.push(row),
                Ok(None) => {}
                Err(error) => return Err(error.into()),
            }
        }
        *rows = locked;
        Ok(())
    }
}
