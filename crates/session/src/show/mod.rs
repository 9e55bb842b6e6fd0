//! SHOW and DESCRIBE.
//!
//! Each form makes its rows from the same sources as information_schema; LIKE filters the first column here. The
//! planner evaluates WHERE, with the rows as a table.

mod objects;
mod server;

use crate::event::event_status_rows;
use crate::event::show::show_create_event;
use crate::result::{Outcome, ResultSet};
use crate::routine::show::show_create_routine;
use crate::server_tables::routine_status;
use crate::session::Session;
use crate::show::objects::database_or;
use crate::show::objects::show_create_database;
use crate::show::objects::show_create_table;
use crate::show::objects::show_create_view;
use crate::show::objects::show_databases;
use crate::show::objects::show_indexes;
use crate::show::objects::show_table_status;
use crate::show::objects::show_tables;
use crate::show::server::show_binary_log_status;
use crate::show::server::show_binlog_events;
use crate::show::server::show_charsets;
use crate::show::server::show_collations;
use crate::show::server::show_engine_status;
use crate::show::server::show_engines;
use crate::show::server::show_events;
use crate::show::server::show_open_tables;
use crate::show::server::show_plugins;
use crate::show::server::show_privileges;
use crate::show::server::show_process_list;
use crate::show::server::show_profiles;
use crate::show::server::show_replica_status;
use crate::show::server::show_replicas;
use crate::show::server::show_routine_status;
use crate::show::server::show_status;
use crate::show::server::show_variables;
use crate::trigger::show::show_create_trigger;
use crate::trigger::show::show_triggers;
use squall_catalog::RoutineKind;
use squall_parser::ast::{DescribeTable, Expr, Limit, Literal, Show, ShowFilter};
use squall_registry::StatementContext;
use squall_types::collation::like_match;
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;

impl Session {
    /// SHOW in all its forms.
    #[expect(clippy::too_many_lines, reason = "one arm for each SHOW")]
    pub(crate) async fn run_show(&mut self, show: &Show, context: &Arc<StatementContext>) -> SqlResult<Outcome> {
        let result = match show {
            Show::Databases(filter) => {
                return self.filtered(show_databases(&self.security(), filter.as_ref()), filter, context).await;
            }
            Show::Tables { full, schema, filter, .. } => {
                let result =
                    show_tables(&self.security(), *full, schema.as_ref().map(|name| name.as_str()), filter.as_ref())?;
                return self.filtered(result, filter, context).await;
            }
            Show::TableStatus { schema, filter } => {
                let result = show_table_status(&self.security(), schema.as_ref().map(|name| name.as_str()), context)?;
                return self.filtered(result, filter, context).await;
            }
            Show::Columns { full, table, filter, .. } => {
                let result = self.show_columns(table, *full, context)?;
                return self.filtered(result, filter, context).await;
            }
            Show::Indexes { table, filter, .. } => {
                let result = show_indexes(&self.security(), table)?;
                return self.filtered(result, filter, context).await;
            }
            Show::Variables { scope, filter } => {
                let result = show_variables(&self.security(), *scope, context);
                return self.filtered(result, filter, context).await;
            }
            Show::Status { scope, filter } => {
                let result = show_status(&self.security(), *scope, context);
                return self.filtered(result, filter, context).await;
            }
            Show::CharacterSets(filter) => {
                return self.filtered(show_charsets(), filter, context).await;
            }
            Show::Collations(filter) => return self.filtered(show_collations(), filter, context).await,
            Show::OpenTables { filter, .. } => {
                return self.filtered(show_open_tables(), filter, context).await;
            }
            Show::Triggers { schema, filter } => {
                let database = database_or(&self.security(), schema.as_ref().map(|name| name.as_str()))?;
                let mut result = show_triggers(&self.security(), &database, context);
                // By the names of tables.
                if let Some(ShowFilter::Like(pattern)) = filter {
                    result.rows.retain(|row| like_column(row, 2, pattern));
                    return Ok(Outcome::Rows(result));
                }
                return self.filtered(result, filter, context).await;
            }
            Show::Events { schema, filter } => {
                let database = database_or(&self.security(), schema.as_ref().map(|name| name.as_str()))?;
                let mut result = show_events();
                result.rows = event_status_rows(&self.shared, &self.security().source(context), &database);
                if let Some(ShowFilter::Like(pattern)) = filter {
                    result.rows.retain(|row| like_column(row, 1, pattern));
                    return Ok(Outcome::Rows(result));
                }
                return self.filtered(result, filter, context).await;
            }
            Show::FunctionStatus(filter) => return self.show_routines(RoutineKind::Function, filter, context).await,
            Show::ProcedureStatus(filter) => return self.show_routines(RoutineKind::Procedure, filter, context).await,
            Show::Warnings(limit) => self.show_diagnostics(false, limit.as_ref())?,
            Show::Errors(limit) => self.show_diagnostics(true, limit.as_ref())?,
            Show::WarningCount => self.show_count("@@session.warning_count", self.diagnostics.total()),
            Show::ErrorCount => self.show_count("@@session.error_count", self.diagnostics.errors()),
            Show::ProcessList { full } => show_process_list(&self.security(), *full, context),
            Show::Engines => show_engines(&self.security()),
            Show::Plugins { soname: None, .. } => show_plugins(&self.security()),
            Show::Privileges => show_privileges(&self.security()),
            Show::Profiles => show_profiles(),
            Show::Grants { user, using } => return self.show_grants(user.as_ref(), using),
            Show::CreateUser(user) => return self.show_create_user(user.as_ref()),
            Show::CreateTable(name) => show_create_table(&self.security(), name)?,
            Show::CreateView(name) => show_create_view(&self.security(), name)?,
            Show::CreateDatabase { if_not_exists, name } => {
                show_create_database(&self.security(), name, *if_not_exists)?
            }
            Show::BinaryLogs => return Err(SqlError::new(ErrorCode::NoBinaryLogging, &[])),
            Show::BinaryLogStatus => show_binary_log_status(),
            Show::BinlogEvents { .. } => show_binlog_events(),
            Show::Replicas => show_replicas(),
            Show::ReplicaStatus { .. } => show_replica_status(),
            Show::Engine { name, .. } if !name.is("InnoDB") => {
                return Err(SqlError::new(ErrorCode::UnknownStorageEngine, &[&name.as_str()]));
            }
            Show::Engine { .. } => show_engine_status(&self.security()),
            Show::CreateEvent(name) => show_create_event(&self.security(), name)?,
            Show::CreateFunction(name) => show_create_routine(&self.security(), RoutineKind::Function, name, context)?,
            Show::CreateProcedure(name) => {
                show_create_routine(&self.security(), RoutineKind::Procedure, name, context)?
            }
            // MySQL has them in builds for debugging alone.
            Show::FunctionCode(_) | Show::ProcedureCode(_) => {
                return Err(SqlError::unsupported("SHOW PROCEDURE CODE and SHOW FUNCTION CODE"));
            }
            Show::CreateTrigger(name) => show_create_trigger(&self.security(), name, context)?,
            Show::HttpEndpoints(filter) | Show::ApiTokens(filter) => {
                let shown = self.show_of_module(show, context);
                let shown =
                    shown.ok_or_else(|| SqlError::unsupported("SHOW of objects of a module that is not there"))?;
                return self.filtered(shown?, filter, context).await;
            }
            Show::CreateHttpEndpoint(_) => {
                let shown = self.show_of_module(show, context);
                shown.ok_or_else(|| SqlError::unsupported("SHOW CREATE HTTP ENDPOINT without its module"))??
            }
            other => {
                let text = format!("{other:?}");
                let word = text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
                return Err(SqlError::unsupported(format_args!("SHOW {word}")));
            }
        };
        Ok(Outcome::Rows(result))
    }

    /// SHOW PROCEDURE STATUS and SHOW FUNCTION STATUS.
    async fn show_routines(
        &mut self,
        kind: RoutineKind,
        filter: &Option<ShowFilter>,
        context: &Arc<StatementContext>,
    ) -> SqlResult<Outcome> {
        let mut result = show_routine_status();
        result.rows = routine_status(&self.shared, &self.security().source(context), kind);
        if let Some(ShowFilter::Like(pattern)) = filter {
            result.rows.retain(|row| like_column(row, 1, pattern));
            return Ok(Outcome::Rows(result));
        }
        self.filtered(result, filter, context).await
    }

    /// DESCRIBE table [column].
    pub(crate) fn describe_table(&mut self, describe: &DescribeTable) -> SqlResult<Outcome> {
        let context = Arc::new(self.query_context());
        let mut result = self.show_columns(&describe.table, false, &context)?;
        if let Some(pattern) = &describe.column {
            result.rows.retain(|row| like_column(row, 0, pattern));
        }
        Ok(Outcome::Rows(result))
    }

    /// Rows that LIKE or WHERE lets through.
    async fn filtered(
        &mut self,
        mut result: ResultSet,
        filter: &Option<ShowFilter>,
        context: &Arc<StatementContext>,
    ) -> SqlResult<Outcome> {
        match filter {
            None => {}
            Some(ShowFilter::Like(pattern)) => result.rows.retain(|row| like_column(row, 0, pattern)),
            Some(ShowFilter::Where(condition)) => {
                result = self.filter_rows(result, condition, context).await?;
            }
        }
        Ok(Outcome::Rows(result))
    }

    fn show_diagnostics(&self, errors_only: bool, limit: Option<&Limit>) -> SqlResult<ResultSet> {
        let (offset, count) = match limit {
            None => (0, usize::MAX),
            Some(limit) => (
                limit.offset.as_ref().map_or(Ok(0), plain_number)?,
                limit.count.as_ref().map_or(Ok(usize::MAX), plain_number)?,
            ),
        };
        Ok(self.diagnostics.show(errors_only, offset, count))
    }

    fn show_count(&self, name: &str, count: u64) -> ResultSet {
        let column = crate::result::typed_column(name, squall_types::SqlType::BIGINT_UNSIGNED, true);
        ResultSet { columns: vec![column], rows: vec![vec![Value::UInt(count)]] }
    }
}

/// A number that is in LIMIT.
fn plain_number(expr: &Expr) -> SqlResult<usize> {
    match expr {
        Expr::Literal(Literal::Integer(digits)) => Ok(digits.parse().unwrap_or(usize::MAX)),
        _ => Err(SqlError::unsupported("this LIMIT of SHOW")),
    }
}

/// Whether a column matches a pattern, as names compare: without case.
fn like_column(row: &[Value], column: usize, pattern: &str) -> bool {
    match row.get(column) {
        Some(Value::String(text)) => like_match(CollationId::UTF8MB3_GENERAL_CI, text, pattern, Some('\\')),
        _ => false,
    }
}
