//! MariaDB's `SET STATEMENT variable = value, … FOR statement`: sets variables of the session for one statement.

use super::{Assignment, check_scope, find_variable_or_item};
use crate::result::writer::ResultWriter;
use crate::result::{Failure, Outcome};
use crate::session::{Request, Session, StatementRun};
use squall_parser::ast::{Set, SetItem, Statement, VariableScope};
use squall_system_variables::{VariableDef, VariableId};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;

/// Variables that hold for more than a statement, or that a statement changes itself (1971). Those of character sets are refused by
/// their names.
const NOT_FOR_STATEMENTS: &[&str] = &[
    "autocommit",
    "identity",
    "insert_id",
    "interactive_timeout",
    "last_insert_id",
    "profiling",
    "profiling_history_size",
    "pseudo_slave_mode",
    "pseudo_replica_mode",
    "rand_seed1",
    "rand_seed2",
    "sql_log_bin",
    "sql_log_off",
    "transaction_isolation",
    "transaction_read_only",
    "tx_isolation",
    "tx_read_only",
    "wait_timeout",
];

impl Session {
    /// Sets the variables, runs the statement, and restores the variables, also after an error.
    pub(crate) async fn run_set_for_statement(
        &mut self,
        items: &[SetItem],
        statement: &Statement,
        run: &StatementRun<'_>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        if matches!(statement, Statement::Set(Set::Statement { .. })) {
            return Err(SqlError::unsupported("SET STATEMENT inside of SET STATEMENT").into());
        }
        let mut assignments = Vec::with_capacity(items.len());
        for item in items {
            let SetItem::System { variable, value } = item else {
                return Err(SqlError::unsupported("SET STATEMENT of anything but variables of the session").into());
            };
            let (_, definition, _) = find_variable_or_item(&self.shared.registry.variables, variable)?;
            check_for_statement(&definition, variable.scope)?;
            self.check_item(variable, value, run, &mut assignments).await?;
        }
        // The session changes them while the statement runs: what they had is found first.
        let before: Vec<(VariableId, Value)> = assignments
            .iter()
            .filter_map(|assignment| match assignment {
                Assignment::Session { id, .. } => Some((*id, self.current_value(*id, false))),
                Assignment::User { .. } | Assignment::Global { .. } | Assignment::KeyCache { .. } => None,
            })
            .collect();
        self.apply(assignments, run.request.sql).await?;
        let result = self.run_with_settings(statement, run, writer).await;
        let restored = before.into_iter().map(|(id, value)| Assignment::Session { id, value }).collect();
        self.apply(restored, run.request.sql).await?;
        result
    }

    /// Runs a statement that another one holds, with the settings that the session has now.
    async fn run_with_settings(
        &mut self,
        statement: &Statement,
        run: &StatementRun<'_>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        // An expired password is asked for by the statement, not by the SET around it.
        self.check_state(statement)?;
        let inner = run.with_context(Arc::new(self.statement_context(statement)));
        let request = Request { statement, route: None, prepared: None, normalized: None, ..run.request };
        let _timer = self.start_timer(&inner.with_request(request));
        let result = self.dispatch_inner(request, &inner, writer).await;
        run.context.take_over(&inner.context);
        result
    }
}

fn check_for_statement(definition: &VariableDef, scope: Option<VariableScope>) -> SqlResult<()> {
    check_scope(definition, scope)?;
    let name = definition.name;
    let is_of_text = name.starts_with("character_set_") || name.starts_with("collation_");
    match scope {
        Some(scope) if scope != VariableScope::Session => {
            Err(SqlError::unsupported("SET STATEMENT of anything but variables of the session"))
        }
        _ if is_of_text || NOT_FOR_STATEMENTS.contains(&name) => {
            Err(SqlError::new(ErrorCode::VariableNotForStatement, &[&name]))
        }
        _ => Ok(()),
    }
}
