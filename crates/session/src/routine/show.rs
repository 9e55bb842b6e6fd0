//! SHOW CREATE PROCEDURE and SHOW CREATE FUNCTION, and the parameters of calls.

use crate::authorization::SecurityContext;
use crate::database::{Parameter, ParameterMode};
use crate::result::ResultSet;
use squall_catalog::{RoutineDef, RoutineKind, RoutineParameterMode};
use squall_parser::ast::ObjectName;
use squall_statement_context::StatementContext;
use squall_system_tables::routine_view::{RoutineView, routine_views};
use squall_system_tables::s;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};

/// The parameters of a stored routine, as calls have them.
pub(crate) fn parameters_of(def: &RoutineDef) -> Vec<Parameter> {
    let parameter = |parameter: &squall_catalog::RoutineParameter| Parameter {
        name: parameter.name.clone().into(),
        mode: match parameter.mode {
            RoutineParameterMode::In => ParameterMode::In,
            RoutineParameterMode::Out => ParameterMode::Out,
            RoutineParameterMode::InOut => ParameterMode::InOut,
        },
        sql_type: parameter.sql_type.clone(),
    };
    def.parameters.iter().map(parameter).collect()
}

/// SHOW CREATE PROCEDURE and SHOW CREATE FUNCTION (1305). Who may run a routine and not see it is shown NULL.
pub(crate) fn show_create_routine(
    security: &SecurityContext<'_>,
    kind: RoutineKind,
    name: &ObjectName,
    context: &std::sync::Arc<StatementContext>,
) -> SqlResult<ResultSet> {
    let (database, name) = security.qualify(name)?;
    let views = routine_views(&security.source(context));
    let is_it = |view: &RoutineView| {
        view.database == database && view.kind == kind && view.name.to_lowercase() == name.to_lowercase()
    };
    let Some(view) = views.into_iter().find(is_it) else {
        return Err(SqlError::new(ErrorCode::SpDoesNotExist, &[&kind.word(), &name]));
    };
    let (title, create) = match kind {
        RoutineKind::Procedure => ("Procedure", "Create Procedure"),
        RoutineKind::Function => ("Function", "Create Function"),
    };
    let mut result = ResultSet::of_texts(&[
        title,
        "sql_mode",
        create,
        "character_set_client",
        "collation_connection",
        "Database Collation",
    ]);
    let text = if view.is_shown_whole { s(view.create_text()) } else { Value::Null };
    let mut row = vec![s(&*view.name), s(&*view.sql_mode), text];
    row.extend([s(&*view.client_charset), s(&*view.connection_collation), s(&*view.database_collation)]);
    result.rows.push(row);
    Ok(result)
}
