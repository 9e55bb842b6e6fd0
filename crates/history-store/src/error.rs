//! Errors of files.

use squall_types::SqlError;
use std::path::Path;

/// A failure of the store.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read or written; which one, and why.
    Io(String, std::io::Error),
    /// A file does not hold what was written to it.
    Damaged(String),
}

/// Results of the store.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn io(path: &Path) -> impl Fn(std::io::Error) -> Error + '_ {
        move |error| Error::Io(path.display().to_string(), error)
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Io(path, error) => write!(f, "history: {path}: {error}"),
            Error::Damaged(what) => write!(f, "history: {what} is damaged"),
        }
    }
}

impl std::error::Error for Error {}

impl From<Error> for SqlError {
    fn from(error: Error) -> SqlError {
        SqlError::internal(error)
    }
}
