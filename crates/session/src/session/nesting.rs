//! The depth of a session in calls, texts and statements.

use super::inside::Inside;
use crate::plans::routine_cache::ParsedRoutine;
use crate::time_slice::TimeSlice;
use std::sync::Arc;

/// What runs around the current statement.
#[derive(Debug, Default)]
pub(crate) struct Nesting {
    /// CALLs under way, one inside the other.
    pub call_depth: u32,
    /// Stored procedures among them, the innermost last.
    pub calls: Vec<Arc<ParsedRoutine>>,
    /// Stored programs and blocks under way, one inside the other.
    pub programs: u32,
    /// That of the outermost program: programs inside of each other pause together, since each pause returns through all of them.
    pub slice: TimeSlice,
    /// Texts of EXECUTE under way, one inside the other.
    pub execute_depth: u32,
    /// EXECUTE and EXECUTE IMMEDIATE under way, one inside the other.
    pub prepared_depth: u32,
    /// Sessions that this one is inside of.
    pub session_depth: u32,
    /// The statements that the session is inside of, whose transaction it works in.
    pub inside: Option<Inside>,
    /// Whether it is within a statement of another session that may change nothing.
    pub is_within_read_only: bool,
    /// Whether it works for a statement of a child session.
    pub is_within_child: bool,
}
