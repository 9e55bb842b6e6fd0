//! CALL, and what a procedure has to work with.

use super::arguments::Destination;
use super::{Parameter, ProcedureCall, ProcedureHead};
use crate::result::send_result_set;
use crate::result::writer::{ResultWriter, StatusInfo};
use crate::result::{Failure, Outcome, ResultSet, typed_column};
use crate::session::{Session, StatementRun};
use squall_instrumentation::process::count;
use squall_parser::ast::Call;
use squall_registry::held_by_variable;
use squall_types::{CollationId, ErrorCode, SqlError, SqlType, Value};

/// Procedures that call each other go this deep at most (1456).
const DEPTH_MAX: u32 = 16;

impl Session {
    /// CALL.
    pub(crate) async fn run_call(
        &mut self,
        call: &Call,
        run: &StatementRun<'_>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        count(&self.process.status.call_procedure);
        let (database, name) = self.qualify(&call.procedure)?;
        let found = self.shared.procedures.find(&database, &name).cloned();
        let (database, name) = match &found {
            Some(procedure) => (procedure.head().database, procedure.head().name),
            None => (database.as_str(), name.as_str()),
        };
        let shown = || format!("{database}.{name}");
        let Some(procedure) = found else {
            return Err(SqlError::new(ErrorCode::SpDoesNotExist, &[&"PROCEDURE", &shown()]).into());
        };
        if self.call_depth == DEPTH_MAX {
            return Err(SqlError::new(ErrorCode::SpRecursionLimit, &[&DEPTH_MAX, &name]).into());
        }
        let destinations = self.destinations(procedure.head(), &call.arguments)?;
        let arguments = self.argument_values(&procedure.head().parameters, &call.arguments, run).await?;
        // What the arguments were computed in is no transaction of the procedure's statements.
        self.end_statement(run.request.statement).await?;
        // Results of the procedure's own go out before the statement has ended: with its conditions, not with those of the statement before.
        self.diagnostics.clear();
        self.call_depth += 1;
        let mut call = ProcedureCall::new(self, &run.context, writer, arguments);
        let result = procedure.call(&mut call).await;
        let arguments = call.into_arguments();
        self.call_depth -= 1;
        let ok = result?;
        self.give_out(procedure.head(), &destinations, arguments, writer).await?;
        Ok(Outcome::Ok(ok))
    }

    /// OUT and INOUT parameters get their values.
    async fn give_out(
        &mut self,
        head: &ProcedureHead,
        destinations: &[Destination],
        values: Vec<Value>,
        writer: &mut dyn ResultWriter,
    ) -> Result<(), Failure> {
        let mut out = ResultSet::default();
        let mut row = Vec::new();
        for ((parameter, destination), value) in head.parameters.iter().zip(destinations).zip(values) {
            match destination {
                Destination::Nowhere => {}
                Destination::UserVariable(name) => {
                    let sql_type = variable_type(parameter, &value);
                    let (value, sql_type) = held_by_variable(value, sql_type);
                    self.user_variables.assign(name.clone(), value, sql_type)?;
                }
                Destination::Placeholder => {
                    out.columns.push(typed_column(parameter.name, parameter.sql_type.clone(), false));
                    row.push(value);
                }
            }
        }
        if !row.is_empty() {
            out.rows.push(row);
            let status = StatusInfo { out_parameters: true, ..self.status_info(true) };
            send_result_set(writer, &out, &status).await?;
        }
        Ok(())
    }
}

/// The type of a user variable that has got a parameter's value.
fn variable_type(parameter: &Parameter, value: &Value) -> SqlType {
    match value {
        Value::Null => SqlType::Null,
        _ => match &parameter.sql_type {
            SqlType::Int { unsigned: true, .. } => SqlType::BIGINT_UNSIGNED,
            SqlType::Int { .. } => SqlType::BIGINT,
            _ => squall_functions::build::literal_type(value, CollationId::UTF8MB4_0900_AI_CI).sql_type,
        },
    }
}
