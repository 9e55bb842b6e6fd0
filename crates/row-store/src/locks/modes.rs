//! Lock modes and their compatibility.

use crate::options::{LockMode, TableLock};

/// A lock's strength. A key is locked by `Shared` and `Exclusive` only, a table by the others and `Exclusive`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// A row FOR SHARE, or a table that is read.
    Shared,
    /// A table whose rows are written.
    Write,
    /// A table that no session may write.
    ReadOnly,
    /// A table whose next definition is prepared.
    Definition,
    /// No other session.
    Exclusive,
}

impl From<LockMode> for Mode {
    fn from(mode: LockMode) -> Self {
        match mode {
            LockMode::Shared => Mode::Shared,
            LockMode::Exclusive => Mode::Exclusive,
        }
    }
}

impl From<TableLock> for Mode {
    fn from(mode: TableLock) -> Self {
        match mode {
            TableLock::Read => Mode::Shared,
            TableLock::Write => Mode::Write,
            TableLock::ReadOnly => Mode::ReadOnly,
            TableLock::Definition => Mode::Definition,
            TableLock::Exclusive => Mode::Exclusive,
        }
    }
}

impl Mode {
    /// Whether two owners may hold these at once.
    pub fn is_compatible(self, other: Mode) -> bool {
        use Mode::{Definition, Exclusive, ReadOnly, Shared, Write};
        match (self, other) {
            (Exclusive, _) | (_, Exclusive) | (Write, ReadOnly) | (ReadOnly, Write) | (Definition, Definition) => false,
            (Shared | Write | ReadOnly | Definition, Shared | Write | ReadOnly | Definition) => true,
        }
    }

    /// Whether this is as strong as `other`.
    pub fn covers(self, other: Mode) -> bool {
        self.join(other) == self
    }

    /// The weakest mode that is as strong as both.
    pub fn join(self, other: Mode) -> Mode {
        match (self, other) {
            (mode, same) if mode == same => mode,
            (Mode::Shared, stronger) | (stronger, Mode::Shared) => stronger,
            _ => Mode::Exclusive,
        }
    }
}
