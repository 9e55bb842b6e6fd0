//! Runs statements in a session inside its own statement.

use crate::database::{Shared, StatementRunner};
use crate::plans::long_statement::Text;
use crate::plans::statements::Statements;
use crate::result::writer::{ConnectionInfo, LocalFuture, ResultWriter, StatusInfo};
use crate::session::{Request, Session, SessionState};
use crate::state::image::SessionImage;
use crate::state::timer::TimerGuard;
use squall_accounting::SessionMemory;
use squall_catalog::{AccessMap, AccountKey, Need};
use squall_statement_context::{StatementContext, UserVariables};
use squall_types::{SqlError, SqlResult};
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl StatementRunner for Session {
    fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    fn account(&self) -> &AccountKey {
        &self.identity.account
    }

    fn access(&self) -> &AccessMap {
        &self.identity.access
    }

    fn check(&self, needs: &[Need]) -> SqlResult<()> {
        self.security().check_needs(needs)
    }

    fn user_variables(&self) -> &UserVariables {
        &self.user_variables
    }

    fn memory(&self) -> &Arc<SessionMemory> {
        &self.process.memory
    }

    fn image(&self, user_variables: Arc<UserVariables>) -> SessionImage {
        SessionImage {
            account: self.identity.account.clone(),
            active_grants: self.identity.active_grants.clone(),
            info: ConnectionInfo { parent: None, ..self.identity.info.clone() },
            database: self.default_database().cloned(),
            variables: self.variables.session.clone(),
            user_variables,
        }
    }

    fn start_timer(&self, context: &StatementContext) -> Option<TimerGuard> {
        self.start_timer_of(self.settings.max_execution_millis, context)
    }

    fn run_within<'a>(
        &'a mut self,
        sql: &'a str,
        writer: &'a mut dyn ResultWriter,
    ) -> LocalFuture<'a, std::io::Result<()>> {
        Box::pin(self.run_within_command(sql, writer))
    }

    fn more_results(&mut self) -> StatusInfo {
        self.status_info(true)
    }

    fn give_state_to(&self, context: &StatementContext) {
        self.diagnostics.copy_to(&context.diagnostics);
        context.last_insert_id.store(self.previous.last_insert_id, Ordering::Relaxed);
    }
}

impl Session {
    /// Runs the statements of a text as a part of the current command, up to the first that fails.
    pub(crate) async fn run_within_command(&mut self, sql: &str, writer: &mut dyn ResultWriter) -> std::io::Result<()> {
        let whole = Text::new(sql.as_bytes());
        let mut statements = Statements::of(&whole);
        loop {
            let statement = match self.next_statement(&mut statements).await {
                Ok(Some(statement)) => statement,
                Ok(None) => return Ok(()),
                Err(unread) => {
                    self.finish_with_error(unread.error(), None);
                    writer.error(unread.error());
                    return Ok(());
                }
            };
            if !self.run(Request::of_text(&statement), true, writer).await? {
                return Ok(());
            }
        }
    }
}

impl SessionState {
    /// Has the statement around, which ends with an error of the last statement, end with that one's conditions below the error, too.
    pub(crate) fn give_failure_to(&self, error: &SqlError, context: &StatementContext) {
        let [below @ .., last] = self.diagnostics.rows() else { return };
        if last.error == *error {
            below.iter().for_each(|row| context.diagnostics.push(row.level, row.error.clone()));
        }
    }
}
