//! Errors of backups.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a backup cannot be written, read or restored.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read or written.
    Io(PathBuf, io::Error),
    /// A file is not as it was written; what is wrong.
    Damaged(PathBuf, &'static str),
    /// A directory has other files, and no backups.
    NotBackups(PathBuf),
    /// Another process writes or removes backups there, or reads them.
    Busy(PathBuf),
    /// There is no backup of this name, or none at all.
    Missing(PathBuf, Option<String>),
    /// The directory to restore to is there and has files.
    NotEmpty(PathBuf),
    /// It was not to go on.
    Interrupted,
}

/// Results of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn io(path: &Path) -> impl Fn(io::Error) -> Error + '_ {
        move |error| Error::Io(path.to_path_buf(), error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Error::Damaged(path, what) => write!(f, "{}: {what}", path.display()),
            Error::NotBackups(path) => write!(f, "{} has files and is no directory of backups", path.display()),
            Error::Busy(path) => write!(f, "another process uses the backups in {}", path.display()),
            Error::Missing(path, None) => write!(f, "there is no backup in {}", path.display()),
            Error::Missing(path, Some(name)) => write!(f, "there is no backup {name} in {}", path.display()),
            Error::NotEmpty(path) => write!(f, "{} is there and not empty", path.display()),
            Error::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Error {}
