//! Runs statements inside another statement.

use super::Shared;
use crate::result::writer::{LocalFuture, ResultWriter, StatusInfo};
use crate::state::image::SessionImage;
use crate::state::timer::TimerGuard;
use squall_accounting::SessionMemory;
use squall_catalog::{AccessMap, AccountKey, Need};
use squall_statement_context::{StatementContext, UserVariables};
use squall_types::SqlResult;
use std::sync::Arc;

/// Runs statements here and now: in the transaction, with the privileges and the diagnostics of the session that the statement
/// around them belongs to.
pub(crate) trait StatementRunner {
    /// The state that all sessions share.
    fn shared(&self) -> &Arc<Shared>;
    /// The session's account.
    fn account(&self) -> &AccountKey;
    /// Its grants.
    fn access(&self) -> &AccessMap;
    /// Whether it may do all of that.
    fn check(&self, needs: &[Need]) -> SqlResult<()>;
    /// The session's `@variables`.
    fn user_variables(&self) -> &UserVariables;
    /// The account of memory for kept results.
    fn memory(&self) -> &Arc<SessionMemory>;
    /// The session as it is now, with other `@variables`.
    fn image(&self, user_variables: Arc<UserVariables>) -> SessionImage;
    /// Stops the statement around after `max_execution_time`; `None` where that is not set.
    fn start_timer(&self, context: &StatementContext) -> Option<TimerGuard>;
    /// Runs the statements of a text, up to the first that fails. An error means that the client is gone.
    fn run_within<'a>(
        &'a mut self,
        sql: &'a str,
        writer: &'a mut dyn ResultWriter,
    ) -> LocalFuture<'a, std::io::Result<()>>;
    /// The status of a result set that is not the last.
    fn more_results(&mut self) -> StatusInfo;
    /// Has the statement around end with what the last statement has left: its conditions and LAST_INSERT_ID.
    fn give_state_to(&self, context: &StatementContext);
}
