//! SHOW and DESCRIBE.
//!
//! Each form makes its rows from the same sources as information_schema; LIKE filters the first column here. The
//! planner evaluates WHERE, with the rows as a table.

mod objects;
mod server;

use crate::event::show::show_create_event;
use crate::result::{Outcome, ResultSet};
use crate::routine::show::show_create_routine;
use crate::session::{Session, SessionState};
use crate::show::objects::database_or;
use crate::show::objects::show_create_database;
use crate::show::objects::show_create_sequence;
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
use squall_parser::ast::{DescribeTable, Expr, Ident, Limit, Literal, Show, ShowFilter};
use squall_statement_context::StatementContext;
use squall_system_tables::events::event_status_rows;
use squall_system_tables::routines::routine_status;
use squall_types::collation::like_match;
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;

impl Session {
    /// SHOW in all its forms.
    pub(crate) async fn run_show(&mut self, show: &Show, context: &Arc<StatementContext>) -> SqlResult<Outcome> {
        if let Some((mut list, column, filter)) = self.show_list(show, context)? {
            match filter {
                None => {}
                Some(ShowFilter::Like(pattern)) => list.rows.retain(|row| like_column(row, column, pattern)),
                Some(ShowFilter::Where(condition)) => list = self.filter_rows(list, condition, context).await?,
            }
            return Ok(Outcome::Rows(list));
        }
        let result = match show {
            Show::Warnings(limit) => self.show_diagnostics(false, limit.as_ref())?,
            Show::Errors(limit) => self.show_diagnostics(true, limit.as_ref())?,
            Show::WarningCount => shown_count("@@session.warning_count", self.diagnostics.total()),
            Show::ErrorCount => shown_count("@@session.error_count", self.diagnostics.errors()),
            Show::ProcessList { full } => show_process_list(&self.security(), *full, context),
            Show::Engines => show_engines(&self.security()),
            Show::Plugins { soname: None, .. } => show_plugins(&self.security()),
            Show::Privileges => show_privileges(&self.security()),
            Show::Profiles => show_profiles(),
            Show::Grants { user, using } => return self.show_grants(user.as_ref(), using),
            Show::CreateUser(user) => return self.show_create_user(user.as_ref()),
            Show::CreateTable(name) => show_create_table(&self.security(), name)?,
            Show::CreateSequence(name) => show_create_sequence(&self.security(), name)?,
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
                let feature = "SHOW PROCEDURE|FUNCTION CODE";
                return Err(SqlError::new(ErrorCode::FeatureDisabled, &[&feature, &"--with-debug"]));
            }
            Show::CreateTrigger(name) => show_create_trigger(&self.security(), name, context)?,
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

    /// The rows of a SHOW that takes LIKE and WHERE, the column that LIKE compares, and the filter; `None` for other forms.
    fn show_list<'s>(
        &mut self,
        show: &'s Show,
        context: &Arc<StatementContext>,
    ) -> SqlResult<Option<(ResultSet, usize, &'s Option<ShowFilter>)>> {
        if let Show::Columns { full, table, filter, .. } = show {
            return Ok(Some((self.show_columns(table, *full, context)?, 0, filter)));
        }
        let security = self.security();
        let name = |schema: &'s Option<Ident>| schema.as_ref().map(Ident::as_str);
        Ok(Some(match show {
            Show::Databases(filter) => (show_databases(&security, filter.as_ref()), 0, filter),
            Show::Tables { full, schema, filter, .. } => {
                (show_tables(&security, *full, name(schema), filter.as_ref())?, 0, filter)
            }
            Show::TableStatus { schema, filter } => (show_table_status(&security, name(schema), context)?, 0, filter),
            Show::Indexes { table, filter, .. } => (show_indexes(&security, table)?, 0, filter),
            Show::Variables { scope, filter } => (show_variables(&security, *scope, context), 0, filter),
            Show::Status { scope, filter } => (show_status(&security, *scope, context), 0, filter),
            Show::CharacterSets(filter) => (show_charsets(), 0, filter),
            Show::Collations(filter) => (show_collations(), 0, filter),
            Show::OpenTables { filter, .. } => (show_open_tables(), 0, filter),
            // By the names of tables.
            Show::Triggers { schema, filter } => {
                (show_triggers(&security, &database_or(&security, name(schema))?, context), 2, filter)
            }
            Show::Events { schema, filter } => {
                let database = database_or(&security, name(schema))?;
                let rows = event_status_rows(&security.source(context), &database);
                (ResultSet { rows, ..show_events() }, 1, filter)
            }
            Show::FunctionStatus(filter) => (self.show_routines(RoutineKind::Function, context), 1, filter),
            Show::ProcedureStatus(filter) => (self.show_routines(RoutineKind::Procedure, context), 1, filter),
            Show::HttpEndpoints(filter) | Show::ApiTokens(filter) => {
                let shown = self.show_of_module(show, context);
                (
                    shown.ok_or_else(|| SqlError::unsupported("SHOW of objects of a module that is not there"))??,
                    0,
                    filter,
                )
            }
            _ => return Ok(None),
        }))
    }

    /// SHOW PROCEDURE STATUS and SHOW FUNCTION STATUS.
    fn show_routines(&self, kind: RoutineKind, context: &Arc<StatementContext>) -> ResultSet {
        let rows = routine_status(&self.security().source(context), kind);
        ResultSet { rows, ..show_routine_status() }
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
}

impl SessionState {
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
}

fn shown_count(name: &str, count: u64) -> ResultSet {
    let column = crate::result::typed_column(name, squall_types::SqlType::BIGINT_UNSIGNED, true);
    ResultSet { columns: vec![column], rows: vec![vec![Value::UInt(count)]] }
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
