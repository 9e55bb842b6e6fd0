//! The privileges that definitions of triggers and stored routines need.

use super::SecurityContext;
use super::definition::definer_needs;
use super::undeclared;
use squall_catalog::{Need, Object, Privileges, RoutineKind};
use squall_definitions::execute::QualifiedName;
use squall_parser::ast::{CreateRoutine, CreateTrigger, DropObject, ObjectName, Statement};
use squall_system_tables::SYSTEM_DATABASE;
use squall_types::{ErrorCode, SqlError, SqlResult};

/// What CREATE TRIGGER needs: TRIGGER on the table, and what another definer needs.
pub(crate) fn needs_of_create_trigger(security: &SecurityContext<'_>, create: &CreateTrigger) -> SqlResult<Vec<Need>> {
    let (database, table) = table_of_trigger(security, create)?;
    let mut needs = Vec::new();
    if database == SYSTEM_DATABASE {
        needs.push(Need::database(&database, Privileges::TRIGGER));
    } else if security.temporary_table_named(&create.table).is_none() {
        needs.push(Need::table(&database, &table, Privileges::TRIGGER, ""));
    }
    needs.extend(definer_needs(security, create.definer.as_ref())?);
    Ok(needs)
}

/// What DROP TRIGGER needs: TRIGGER on the tables of those that are there.
pub(crate) fn needs_of_drop_trigger(security: &SecurityContext<'_>, drop: &DropObject) -> SqlResult<Vec<Need>> {
    let tables = tables_of_triggers(security, drop)?;
    Ok(tables.iter().map(|(database, table)| Need::table(database, table, Privileges::TRIGGER, "")).collect())
}

/// The table of a trigger, which is looked for in the trigger's database.
pub(crate) fn table_of_trigger(security: &SecurityContext<'_>, create: &CreateTrigger) -> SqlResult<QualifiedName> {
    let (database, _) = security.qualify(&create.name)?;
    let of_table = create.table.schema.as_ref().map(|schema| schema.to_string());
    Ok((of_table.unwrap_or(database), create.table.name.to_string()))
}

/// The tables of triggers that are there.
pub(crate) fn tables_of_triggers(security: &SecurityContext<'_>, drop: &DropObject) -> SqlResult<Vec<QualifiedName>> {
    let catalog = security.shared.catalog.load();
    let mut tables = Vec::new();
    for name in &drop.names {
        let (database, name) = security.qualify(name)?;
        if let Some((table, _)) = catalog.trigger(&database, &name) {
            tables.push((database, table.name.clone()));
        }
    }
    Ok(tables)
}

/// What statements about routines need.
pub(crate) fn needs_of_routine_definition(
    security: &SecurityContext<'_>,
    statement: &Statement,
) -> SqlResult<Vec<Need>> {
    match statement {
        Statement::CreateProcedure(create) => needs_of_create_routine(security, create, RoutineKind::Procedure),
        Statement::CreateFunction(create) => needs_of_create_routine(security, create, RoutineKind::Function),
        Statement::AlterProcedure(alter) => alter_needs(security, [&alter.name], RoutineKind::Procedure),
        Statement::AlterFunction(alter) => alter_needs(security, [&alter.name], RoutineKind::Function),
        Statement::DropProcedure(drop) => alter_needs(security, &drop.names, RoutineKind::Procedure),
        Statement::DropFunction(drop) => alter_needs(security, &drop.names, RoutineKind::Function),
        _ => Err(undeclared()),
    }
}

fn needs_of_create_routine(
    security: &SecurityContext<'_>,
    create: &CreateRoutine,
    kind: RoutineKind,
) -> SqlResult<Vec<Need>> {
    if own_procedure_is_there(security, &create.name, kind)?.is_some() {
        return Ok(Vec::new());
    }
    let (database, _) = security.qualify(&create.name)?;
    let mut needs = vec![Need::database(&database, Privileges::CREATE_ROUTINE)];
    if create.or_replace {
        needs.extend(alter_needs(security, [&create.name], kind)?);
    }
    needs.extend(definer_needs(security, create.definer.as_ref())?);
    Ok(needs)
}

/// ALTER ROUTINE on each of them but the server's own procedures, which are denied to all: dumps have definitions of these too.
fn alter_needs<'n>(
    security: &SecurityContext<'_>,
    names: impl IntoIterator<Item = &'n ObjectName>,
    kind: RoutineKind,
) -> SqlResult<Vec<Need>> {
    let mut needs = Vec::new();
    for name in names {
        if !names_loadable_function(security, name, kind) && own_procedure_is_there(security, name, kind)?.is_none() {
            let (database, name) = security.qualify(name)?;
            let is_function = kind.is_function();
            let object = Object::Routine { database: database.into(), is_function, name: name.into() };
            needs.push(Need::new(object, Privileges::ALTER_ROUTINE, "alter routine"));
        }
    }
    Ok(needs)
}

/// Whether a name can be that of a loadable function alone: there is no database that a stored one would be in.
pub(crate) fn names_loadable_function(security: &SecurityContext<'_>, name: &ObjectName, kind: RoutineKind) -> bool {
    kind.is_function() && name.schema.is_none() && security.default_database.is_none()
}

/// 1304 if one of the server's own procedures has that name.
pub(crate) fn own_procedure_is_there(
    security: &SecurityContext<'_>,
    name: &ObjectName,
    kind: RoutineKind,
) -> SqlResult<Option<SqlError>> {
    let (database, name) = security.qualify(name)?;
    let own = security.shared.procedures.find(&database, &name).filter(|_| kind == RoutineKind::Procedure);
    Ok(own.map(|own| SqlError::new(ErrorCode::SpAlreadyExists, &[&kind.word(), &own.head().name])))
}
