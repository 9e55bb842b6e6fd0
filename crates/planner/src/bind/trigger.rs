//! Binds triggers for changes of rows.

use squall_catalog::TriggerEvent;
use squall_statement_context::StatementContext;
use squall_types::{SqlResult, Value};
use std::fmt::Debug;

/// The triggers of a table, for one statement. Rows are as statements see them, all columns of the table; `old` is empty for INSERT, `new` for
/// DELETE.
pub trait RowTriggers: Debug + Send + Sync {
    /// Whether there is one that runs before such a change.
    fn runs_before(&self, event: TriggerEvent) -> bool;

    /// Whether there is one that runs behind such a change.
    fn runs_after(&self, event: TriggerEvent) -> bool;

    /// Whether one that runs before sets a column of the new row.
    fn sets(&self, event: TriggerEvent, column: usize) -> bool;

    /// Runs those before a change, which may set the new row's columns, also to NULL where the table allows none.
    ///
    /// # Errors
    /// Those of their statements: the change is not made.
    fn before(
        &self,
        event: TriggerEvent,
        old: &[Value],
        new: &mut [Value],
        context: &StatementContext,
    ) -> SqlResult<()>;

    /// Runs those behind a change.
    ///
    /// # Errors
    /// Those of their statements: the change is taken back.
    fn after(&self, event: TriggerEvent, old: &[Value], new: &[Value], context: &StatementContext) -> SqlResult<()>;
}
