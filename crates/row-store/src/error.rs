//! Errors of the store, grouped by what the caller does next.

use crate::engine::Error;
use crate::row_key::RowKey;
use squall_types::{ErrorCode, SqlError};

/// The result of an operation of a transaction.
pub type StoreResult<T> = Result<T, StoreError>;

/// Why an operation of a transaction did not happen.
#[derive(Debug, Clone, PartialEq)]
pub enum StoreError {
    /// A lock is held by another transaction and the caller asked not to be blocked: undo the statement
    /// ([`Transaction::rollback_to`](crate::Transaction::rollback_to)) and run it again where blocking is allowed.
    WouldBlock,
    /// A unique key has this value already.
    Duplicate(Box<DuplicateKey>),
    /// Anything else, as the client will see it.
    Sql(SqlError),
}

/// Which unique key was violated, and by what.
#[derive(Debug, Clone, PartialEq)]
pub struct DuplicateKey {
    /// Table name.
    pub table: String,
    /// Index name.
    pub index: String,
    /// The index.
    pub index_id: squall_catalog::IndexId,
    /// The key's values as MySQL prints them: joined by `-`.
    pub entry: String,
    /// Storage key of the row that is in the way, for REPLACE and ON DUPLICATE KEY UPDATE.
    pub existing: RowKey,
}

impl StoreError {
    /// Whether the statement should be tried again where blocking is allowed.
    pub fn is_would_block(&self) -> bool {
        matches!(self, StoreError::WouldBlock)
    }
}

impl From<SqlError> for StoreError {
    fn from(error: SqlError) -> Self {
        StoreError::Sql(error)
    }
}

impl From<StoreError> for SqlError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::WouldBlock => SqlError::internal("a lock request would block"),
            StoreError::Duplicate(duplicate) => SqlError::new(
                ErrorCode::DuplicateEntry,
                &[&duplicate.entry, &format_args!("{}.{}", duplicate.table, duplicate.index)],
            ),
            StoreError::Sql(error) => error,
        }
    }
}

impl std::fmt::Display for StoreError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(&SqlError::from(self.clone()), f)
    }
}

impl std::error::Error for StoreError {}

/// An error of the engine below, as MySQL would name it.
pub(crate) fn engine_error(error: Error) -> SqlError {
    match error {
        Error::Io(error) => io_error(&error),
        Error::Stopped => {
            SqlError::internal("the storage engine has stopped after an input/output error; restart the server")
        }
        // Which table's it is, a file does not say.
        Error::Tree(error) => corrupted(&format!("one of the row store ({error})")),
        error => SqlError::internal(format_args!("storage engine: {error}")),
    }
}

/// An input/output error as MySQL would name it.
pub(crate) fn io_error(error: &std::io::Error) -> SqlError {
    if error.kind() == std::io::ErrorKind::StorageFull {
        let number = error.raw_os_error().unwrap_or(0);
        SqlError::new(ErrorCode::DiskFull, &[&"data directory", &number, &"No space left on device"])
    } else {
        SqlError::internal(format_args!("data directory: {}", squall_types::io_error_text(error)))
    }
}

/// Number and text of an input/output error as MySQL prints them: `5 - 'Input/output error'`.
pub(crate) fn io_error_text(error: &std::io::Error) -> String {
    let Some(number) = error.raw_os_error() else { return error.to_string() };
    format!("{number} - '{}'", squall_types::io_error_text(error))
}

/// A row or key that has changed since it was written.
pub(crate) fn corrupted(table: &str) -> SqlError {
    SqlError::new(ErrorCode::CorruptedRow, &[&table])
}
