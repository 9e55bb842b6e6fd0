//! SELECT … INTO variables and files.

use super::outfile::dump;
use crate::authorization::grants::require_server;
use crate::program_errors::no_data;
use crate::result::Outcome;
use crate::session::{Session, SessionState};
use squall_catalog::{Authorized, Catalog, NameKey, Privileges};
use squall_parser::ast::{SelectInto, VariableTarget};
use squall_planner::BoundQuery;
use squall_statement_context::{StatementContext, held_by_variable};
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

impl Session {
    pub(super) async fn select_into(
        &mut self,
        bound: Authorized<BoundQuery>,
        context: &Arc<StatementContext>,
        catalog: Arc<Catalog>,
    ) -> SqlResult<Outcome> {
        let Some(into) = bound.into.clone() else { return Ok(Outcome::done()) };
        if !matches!(into, SelectInto::Variables(_)) {
            require_server(&self.security(), Privileges::FILE, &[], "FILE")?;
        }
        match &into {
            SelectInto::Variables(targets) if targets.len() != bound.columns.len() => {
                return Err(SqlError::new(ErrorCode::WrongNumberOfColumnsInSelect, &[]));
            }
            SelectInto::OutFile(file) => {
                let rows = self.write_outfile(&bound, file, context, catalog).await?;
                return Ok(Outcome::affected(rows));
            }
            SelectInto::DumpFile(path) => {
                self.server_file(path)?;
            }
            SelectInto::Variables(_) => {}
        }
        let types: Vec<SqlType> = bound.columns.iter().map(|column| column.expr_type.sql_type.clone()).collect();
        /// The second one is an error, and the rest does not matter.
        const ROWS_MAX: usize = 2;
        let rows = self.collect_rows(&bound, context, catalog, ROWS_MAX).await?;
        let count = rows.len() as u64;
        if rows.len() > 1 {
            return Err(SqlError::new(ErrorCode::TooManyRows, &[]));
        }
        let row = rows.into_iter().next();
        match into {
            SelectInto::Variables(targets) => match row {
                Some(row) => self.assign_variables(&targets, row, types, context)?,
                None => context.diagnostics.warn(no_data()),
            },
            SelectInto::DumpFile(path) => {
                let (path, is_synced) = (self.server_file(&path)?, self.syncs_files());
                self.blocking(move |_| dump(&path, is_synced, &row.unwrap_or_default(), &types)).await?;
            }
            SelectInto::OutFile(_) => {}
        }
        Ok(Outcome::affected(count))
    }
}

impl SessionState {
    fn assign_variables(
        &mut self,
        targets: &[VariableTarget],
        row: Vec<Value>,
        types: Vec<SqlType>,
        context: &StatementContext,
    ) -> SqlResult<()> {
        for ((target, value), sql_type) in targets.iter().zip(row).zip(types) {
            match target {
                VariableTarget::User(name) => {
                    let (value, sql_type) = held_by_variable(value, sql_type);
                    self.user_variables.assign(NameKey::new(name), value, sql_type)?;
                }
                VariableTarget::Local(name) => self.set_target(name, (value, &sql_type), context)?,
            }
        }
        Ok(())
    }
}
