//! Statements that a function runs while a statement of its session runs.

use crate::context::StatementContext;
use squall_types::{SqlResult, SqlType, Value};
use std::fmt::Debug;

/// The way from a function into SQL, which is [`StatementContext::nested`].
///
/// The statements run on a session of their own that begins as a copy of the caller's: its account with the active roles,
/// default database, session variables (`sql_mode`, `time_zone` …) and user variables. What they set stays with that
/// session, except that user variables are the caller's very own. They run in transactions of their own: what the caller
/// has not committed is not seen, row locks of the caller are waited for (1205), and what they commit stays when the
/// caller rolls back. KILL of the caller ends them.
///
/// They are waited for, so a kernel that uses this must say so with
/// [`ScalarKernel::waits`](crate::ScalarKernel::waits), and its function is [`Volatile`](crate::Volatility::Volatile).
pub trait NestedStatements: Debug + Send + Sync {
    /// Runs a text of one or more statements, with all that they answer.
    ///
    /// # Errors
    /// The first statement's that fails; those before it have been run. 1424 when functions run statements that run
    /// functions beyond a few levels.
    fn run(&self, sql: &str, context: &StatementContext) -> SqlResult<Vec<NestedResult>>;
}

/// What one statement answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NestedResult {
    /// Names and types of the columns; empty for a statement without rows.
    pub columns: Vec<(String, SqlType)>,
    /// Rows, a value for each column.
    pub rows: Vec<Vec<Value>>,
    /// Rows changed.
    pub affected_rows: u64,
    /// First AUTO_INCREMENT value made by the statement, or 0.
    pub last_insert_id: u64,
}
