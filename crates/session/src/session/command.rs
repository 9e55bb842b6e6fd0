//! The state of a session's current command and of its last statement.

use crate::result::writer::SessionChange;
use crate::state::commit_target::CommitTarget;

/// The current command of a client, which may have several statements.
#[derive(Debug, Default)]
pub(crate) struct CommandState {
    /// When it came, microseconds since 1970 UTC.
    pub start_micros: i64,
    /// Whether its next statement counts for the limits of its account. Those that the statement runs in turn, such as a procedure's, do not.
    pub is_counted: bool,
    /// Whether the connection ends after it (COMMIT RELEASE).
    pub ends_connection: bool,
    /// The changes for session tracking.
    pub changes: Vec<SessionChange>,
    /// Who commits, where a worker runs it.
    pub target: Option<Box<CommitTarget>>,
    /// Whether a statement of a worker may have left something in the session.
    pub leaves_state: bool,
}

impl CommandState {
    /// A command that came at this time, microseconds since 1970 UTC.
    pub fn at(start_micros: i64) -> CommandState {
        CommandState { start_micros, ..CommandState::default() }
    }
}

/// What functions tell of the statement before.
#[derive(Debug)]
pub(crate) struct PreviousStatement {
    /// `FOUND_ROWS()`.
    pub found_rows: u64,
    /// `ROW_COUNT()`.
    pub row_count: i64,
    /// `LAST_INSERT_ID()`.
    pub last_insert_id: u64,
}

impl PreviousStatement {
    /// It was a query with this many rows.
    pub fn of_query(&mut self, rows: u64) {
        self.row_count = -1;
        self.found_rows = rows;
    }
}

impl Default for PreviousStatement {
    fn default() -> PreviousStatement {
        PreviousStatement { found_rows: 0, row_count: -1, last_insert_id: 0 }
    }
}
