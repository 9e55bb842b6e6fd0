//! The actions of clients, and the answers that they got.

use std::time::Duration;

/// A list's elements, oldest first.
pub type List = Vec<u64>;

/// An isolation level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Served as READ COMMITTED.
    ReadUncommitted,
    ReadCommitted,
    /// Snapshot isolation.
    RepeatableRead,
    Serializable,
}

impl Level {
    pub const ALL: [Level; 4] =
        [Level::ReadUncommitted, Level::ReadCommitted, Level::RepeatableRead, Level::Serializable];

    /// Whether each statement has a snapshot of its own.
    pub fn reads_newest(self) -> bool {
        matches!(self, Level::ReadUncommitted | Level::ReadCommitted)
    }

    pub fn name(self) -> &'static str {
        match self {
            Level::ReadUncommitted => "READ UNCOMMITTED",
            Level::ReadCommitted => "READ COMMITTED",
            Level::RepeatableRead => "REPEATABLE READ",
            Level::Serializable => "SERIALIZABLE",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Committed,
    /// Rolled back, by the client or by the server, or never asked to be committed.
    Aborted,
    /// The connection broke while it was committed.
    Unknown,
}

#[derive(Clone, Debug)]
pub enum Operation {
    /// An element, which no other operation appends, is put at the end of a list.
    Append { key: u64, element: u64 },
    /// A list was found like this by a statement that was sent at a moment.
    Read { key: u64, found: List, sent: Duration },
}

/// A transaction on lists. Moments are counted from the run's start.
#[derive(Clone, Debug)]
pub struct Transaction {
    pub client: u64,
    /// Before its first statement was sent.
    pub began: Duration,
    /// After its end was answered, or the connection broke.
    pub ended: Duration,
    pub outcome: Outcome,
    pub operations: Vec<Operation>,
}

impl Transaction {
    /// Its elements in a list, oldest first.
    pub fn appended(&self, list: u64) -> impl Iterator<Item = u64> {
        self.operations.iter().filter_map(move |operation| match operation {
            Operation::Append { key, element } if *key == list => Some(*element),
            _ => None,
        })
    }
}

impl std::fmt::Display for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let micros = |moment: Duration| moment.as_micros();
        write!(f, "client {} {}–{} µs {:?}:", self.client, micros(self.began), micros(self.ended), self.outcome)?;
        for operation in &self.operations {
            match operation {
                Operation::Append { key, element } => write!(f, " append {element} to {key};")?,
                Operation::Read { key, found, .. } => {
                    let end = &found[found.len().saturating_sub(3)..];
                    write!(f, " read {key}: {} elements, at the end {end:?};", found.len())?;
                }
            }
        }
        Ok(())
    }
}
