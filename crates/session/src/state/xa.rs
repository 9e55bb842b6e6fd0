//! The XA branch that a session works in.

use squall_row_store::RunningBranch;
use squall_types::ErrorCode;

/// A branch from XA START on, until it is prepared or ends.
#[derive(Debug)]
pub(crate) struct XaBranch {
    /// Its name, which no other session can take.
    pub branch: RunningBranch,
    /// Whether XA END has come.
    pub is_idle: bool,
    /// Why its transaction was rolled back, if it was: it can only be ended.
    pub failure: Option<ErrorCode>,
}

impl XaBranch {
    /// The name of its state in errors.
    pub fn state(&self) -> &'static str {
        match self {
            XaBranch { failure: Some(_), .. } => "ROLLBACK ONLY",
            XaBranch { is_idle: true, .. } => "IDLE",
            XaBranch { is_idle: false, .. } => "ACTIVE",
        }
    }
}
