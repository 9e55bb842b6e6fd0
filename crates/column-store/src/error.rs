//! Errors of the column store, grouped by what the caller does next.

use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What an operation of this crate returns.
pub type Result<T> = std::result::Result<T, Error>;

/// Why an operation did not happen.
#[derive(Debug, Clone)]
pub enum Error {
    /// The operating system refused a read or a write: a full disk, a missing file.
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: Arc<std::io::Error>,
    },
    /// A segment's bytes have changed since they were written. Nothing of the block was returned.
    Corrupt(Box<Corruption>),
    /// The caller took the order back while it was carried out.
    Cancelled,
    /// The caller's arrays, types or ordinals do not fit together, or a limit of the format is exceeded.
    Invalid(String),
}

/// Which bytes of a segment are wrong, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corruption {
    /// The segment's file.
    pub path: PathBuf,
    /// The column's name, if the block belongs to one.
    pub column: Option<String>,
    /// The block: `footer`, `directory`, `row group 3`, `dictionary`, `bitmap index`.
    pub block: String,
    /// What is wrong with it.
    pub problem: String,
}

impl Error {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Error {
        Error::Io { path: path.to_path_buf(), source: Arc::new(source) }
    }

    pub(crate) fn corrupt(path: &Path, column: Option<&str>, block: &str, problem: impl Into<String>) -> Error {
        Error::Corrupt(Box::new(Corruption {
            path: path.to_path_buf(),
            column: column.map(str::to_string),
            block: block.to_string(),
            problem: problem.into(),
        }))
    }

    pub(crate) fn invalid(problem: impl Into<String>) -> Error {
        Error::Invalid(problem.into())
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Error::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Error::Corrupt(corruption) => {
                write!(f, "segment {}: ", corruption.path.display())?;
                if let Some(column) = &corruption.column {
                    write!(f, "column {column}: ")?;
                }
                write!(f, "{}: {}", corruption.block, corruption.problem)
            }
            Error::Cancelled => f.write_str("cancelled"),
            Error::Invalid(problem) => f.write_str(problem),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
