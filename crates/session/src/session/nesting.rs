//! How deep a session is in calls, texts and statements.

use super::inside::Inside;
use crate::plans::routine_cache::ParsedRoutine;
use std::sync::Arc;

/// What runs around the current statement.
#[derive(Debug, Default)]
pub(crate) struct Nesting {
    /// CALLs under way, one inside the other.
    pub call_depth: u32,
    /// Stored procedures among them, the innermost last.
    pub calls: Vec<Arc<ParsedRoutine>>,
    /// Texts of EXECUTE under way, one inside the other.
    pub execute_depth: u32,
    /// Sessions that this one is inside of.
    pub session_depth: u32,
    /// The statements that the session is inside of, whose transaction it works in.
    pub inside: Option<Inside>,
    /// Whether it is within a statement of another session that may change nothing.
    pub is_within_read_only: bool,
    /// Whether it works for a statement of a child session.
    pub is_within_child: bool,
}

impl Nesting {
    /// The nesting of a session inside of a statement at this place.
    pub fn within(&self, inside: Inside) -> Nesting {
        Nesting {
            call_depth: self.call_depth,
            calls: self.calls.clone(),
            execute_depth: self.execute_depth,
            session_depth: self.session_depth + 1,
            inside: Some(inside),
            is_within_read_only: self.is_within_read_only,
            is_within_child: self.is_within_child,
        }
    }
}
