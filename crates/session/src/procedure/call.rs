//! Runs CALL, and makes the [`ProcedureCall`](crate::database::ProcedureCall) of a procedure.

use super::arguments::Destination;
use super::{Parameter, Procedure, ProcedureCall};
use crate::database::StatementRunner;
use crate::plans::routine_cache::ParsedRoutine;
use crate::result::pass_on::PassOn;
use crate::result::send_result_set;
use crate::result::writer::{ResultWriter, StatusInfo};
use crate::result::{Failure, Outcome, ResultSet, typed_column};
use crate::routine::parameters_of;
use crate::session::{Session, StatementRun};
use crate::stack::{CALLS_MAX, OnGrowingStack};
use crate::stored_functions::stored_routine;
use squall_catalog::RoutineKind;
use squall_definitions::routine::no_such_routine;
use squall_parser::ast::Call;
use squall_statement_context::{StatementContext, held_by_variable};
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// The procedure of a CALL.
enum Callee {
    /// A procedure of the server's own.
    Own(Arc<dyn Procedure>),
    Stored(Arc<ParsedRoutine>),
}

impl Callee {
    fn shown_name(&self) -> String {
        match self {
            Callee::Own(procedure) => format!("{}.{}", procedure.head().database, procedure.head().name),
            Callee::Stored(routine) => format!("{}.{}", routine.database, routine.def.name),
        }
    }

    fn parameters(&self) -> Vec<Parameter> {
        match self {
            Callee::Own(procedure) => procedure.head().parameters.clone(),
            Callee::Stored(routine) => parameters_of(&routine.def),
        }
    }
}

impl Session {
    /// CALL.
    pub(crate) async fn run_call(
        &mut self,
        call: &Call,
        run: &StatementRun<'_>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        let (database, name) = self.security().qualify(&call.procedure)?;
        let callee = self.callee(&database, &name)?;
        if self.nesting.inside.is_some() && matches!(callee, Callee::Own(_)) {
            return Err(SqlError::unsupported("CALL of the server's own procedures in stored functions").into());
        }
        // Most of the server's procedures change something: settings, queues, histories.
        if self.nesting.is_within_read_only && matches!(callee, Callee::Own(_)) {
            return Err(SqlError::new(ErrorCode::ReadOnlyTransaction, &[]).into());
        }
        if self.nesting.call_depth == CALLS_MAX {
            return Err(SqlError::new(ErrorCode::SpRecursionLimit, &[&CALLS_MAX, &name]).into());
        }
        let parameters = callee.parameters();
        let destinations = self.destinations(&callee.shown_name(), &parameters, &call.arguments)?;
        let arguments = self.argument_values(&parameters, &call.arguments, run).await?;
        // The transaction that evaluated the arguments is not that of the procedure's statements.
        self.end_statement(run.request.statement).await?;
        // Results of the procedure's own go out before the statement has ended: with its conditions, not with those of the statement before.
        self.diagnostics.clear();
        self.nesting.call_depth += 1;
        let result = match &callee {
            Callee::Own(procedure) => {
                let mut call = ProcedureCall::new(self, &run.context, writer, arguments);
                let result = OnGrowingStack(procedure.call(&mut call)).await;
                result.map(|ok| (ok, call.into_arguments()))
            }
            Callee::Stored(routine) => {
                let mut results = PassOn::new(writer);
                let program = self.run_stored_procedure(routine, arguments, &mut results);
                let ended = OnGrowingStack(Box::pin(program)).await;
                ended.inspect(|_| self.give_state_to(&run.context)).inspect_err(|failure| {
                    if let Failure::Sql(error) = failure {
                        self.give_failure_to(error, &run.context);
                    }
                })
            }
        };
        self.nesting.call_depth -= 1;
        let (ok, arguments) = result?;
        self.give_out(&parameters, &destinations, arguments, &run.context, writer).await?;
        Ok(Outcome::Ok(ok))
    }

    /// The procedure of a name (1305): the server's own procedures go first.
    fn callee(&self, database: &str, name: &str) -> SqlResult<Callee> {
        if let Some(procedure) = self.shared.procedures.find(database, name) {
            return Ok(Callee::Own(procedure.clone()));
        }
        let stored = stored_routine(&self.shared, &self.settings.bind, database, RoutineKind::Procedure, name)?;
        stored.map(Callee::Stored).ok_or_else(|| no_such_routine(database, RoutineKind::Procedure, name))
    }

    /// OUT and INOUT parameters get their values.
    async fn give_out(
        &mut self,
        parameters: &[Parameter],
        destinations: &[Destination],
        values: Vec<Value>,
        context: &StatementContext,
        writer: &mut dyn ResultWriter,
    ) -> Result<(), Failure> {
        let mut out = ResultSet::default();
        let mut row = Vec::new();
        for ((parameter, destination), value) in parameters.iter().zip(destinations).zip(values) {
            match destination {
                Destination::Nowhere => {}
                Destination::UserVariable(name) => {
                    let sql_type = variable_type(parameter, &value);
                    let (value, sql_type) = held_by_variable(value, sql_type);
                    self.user_variables.assign(name.clone(), value, sql_type)?;
                }
                Destination::Local(name) => {
                    self.set_local(name, (value, &parameter.sql_type), context)?;
                }
                Destination::NewColumn(name) => {
                    self.set_new_column(name, (value, &parameter.sql_type), context)?;
                }
                Destination::Placeholder => {
                    out.columns.push(typed_column(&parameter.name, parameter.sql_type.clone(), false));
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
