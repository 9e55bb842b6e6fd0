//! A position in the log, and the error found there.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// A place between two fragments of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogPlace {
    /// The segment's number: its file is `redo/<number>.redo`.
    pub segment: u64,
    /// The first byte behind the place.
    pub byte: u64,
    /// The number of the fragment behind the place.
    pub fragment: u64,
}

/// Damage that no crash explains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogDamage {
    /// The file.
    pub file: PathBuf,
    /// Where in it.
    pub byte: u64,
    /// The first fragment that cannot be read.
    pub fragment: u64,
    /// The kind of damage.
    pub what: &'static str,
}

impl fmt::Display for LogDamage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LogDamage { file, byte, fragment, what } = self;
        write!(f, "{}, byte {byte}, fragment {fragment}: {what}", file.display())
    }
}

/// Why the log was not read.
#[derive(Debug)]
pub(crate) enum LogError {
    /// A file cannot be read.
    Io(io::Error),
    /// The content is not what was written.
    Damage(LogDamage),
}

impl From<io::Error> for LogError {
    fn from(error: io::Error) -> Self {
        LogError::Io(error)
    }
}

impl From<LogDamage> for LogError {
    fn from(damage: LogDamage) -> Self {
        LogError::Damage(damage)
    }
}

/// The result of reading the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogContents {
    /// The folder that it is in; empty if there is none.
    pub folder: PathBuf,
    /// Where it begins: what comes before is in the tables' files.
    pub begin: LogPlace,
    /// Where it ends, as far as it can be read.
    pub end: LogPlace,
    /// Whole batches in between.
    pub batches: u64,
    /// The damage at the end; `None` if that is the end of what was durable.
    pub damage: Option<LogDamage>,
    /// It was [ended](crate::RowStore::end_log) there on purpose.
    pub is_cut: bool,
}
