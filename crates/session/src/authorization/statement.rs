//! The privileges that statements need on the objects that they name. The binder records the needs for rows.

use super::SecurityContext;
use crate::authorization::definition::definer_needs;
use squall_catalog::{Need, Object, Privileges};
use squall_parser::ast::{
    CachedTable, Call, CreateEvent, Delete, DeleteTarget, Flush, FlushLock, FlushTarget, Handler, Insert, LockTables,
    MaintenanceKind, ObjectName, TableMaintenance, TableReference, Update,
};
use squall_types::SqlResult;

/// FLUSH and its privileges, any of which will do.
const FLUSH_TABLES: (&[&str], &str) = (&["FLUSH_TABLES"], "RELOAD or FLUSH_TABLES");

/// A need of a table or any of its columns: who has none learns nothing of it, not even whether it is there.
pub(crate) fn name_need(
    security: &SecurityContext<'_>,
    name: &ObjectName,
    privileges: Privileges,
) -> SqlResult<Option<Need>> {
    if security.temporary_table_named(name).is_some() {
        return Ok(None);
    }
    let (database, table) = security.qualify(name)?;
    Ok(Some(Need::new(Object::AnyColumn(database.into(), table.into()), privileges, "")))
}

/// What INSERT and REPLACE need of the table that they name.
pub(crate) fn needs_of_insert(security: &SecurityContext<'_>, insert: &Insert) -> SqlResult<Vec<Need>> {
    let mut needed = Privileges::INSERT;
    if insert.replace {
        needed = needed.union(Privileges::DELETE);
    }
    if !insert.on_duplicate.is_empty() {
        needed = needed.union(Privileges::UPDATE);
    }
    Ok(name_need(security, &insert.table, needed)?.into_iter().collect())
}

pub(crate) fn needs_of_update(security: &SecurityContext<'_>, update: &Update) -> SqlResult<Vec<Need>> {
    let mut names = Vec::new();
    update.tables.iter().for_each(|table| table_names(table, &mut names));
    if let [(_, name)] = names.as_slice() {
        return Ok(name_need(security, name, Privileges::UPDATE)?.into_iter().collect());
    }
    // Of several tables some are only read.
    let either = Privileges::UPDATE.union(Privileges::SELECT);
    let mut needs = Vec::with_capacity(names.len());
    for (_, name) in names {
        if let Some(need) = name_need(security, name, Privileges::UPDATE)? {
            needs.push(Need { needed: squall_catalog::Needed::Any(either), command: "SELECT", ..need });
        }
    }
    Ok(needs)
}

pub(crate) fn needs_of_delete(security: &SecurityContext<'_>, delete: &Delete) -> SqlResult<Vec<Need>> {
    let (tables, from) = match &delete.target {
        DeleteTarget::Single { table, .. } => {
            return Ok(name_need(security, table, Privileges::DELETE)?.into_iter().collect());
        }
        DeleteTarget::Multiple { tables, from } => (tables, from),
    };
    let mut names = Vec::new();
    from.iter().for_each(|table| table_names(table, &mut names));
    let mut needs = Vec::with_capacity(tables.len());
    for table in tables {
        let named = names.iter().find(|(alias, _)| table.schema.is_none() && *alias == table.name.as_str());
        needs.extend(name_need(security, named.map_or(table, |(_, name)| name), Privileges::DELETE)?);
    }
    Ok(needs)
}

pub(crate) fn needs_of_call(security: &SecurityContext<'_>, call: &Call) -> SqlResult<Vec<Need>> {
    let (database, name) = security.qualify(&call.procedure)?;
    // As it is declared, whatever the case of the call.
    let found = security.shared.procedures.find(&database, &name);
    let (database, name) = match found {
        Some(procedure) => (procedure.head().database.into(), procedure.head().name.into()),
        None => (database.into(), name.into()),
    };
    let object = Object::Routine { database, is_function: false, name };
    Ok(vec![Need::new(object, Privileges::EXECUTE, "execute")])
}

/// What HANDLER needs to open a table; READ asks by itself.
pub(crate) fn needs_of_handler(security: &SecurityContext<'_>, handler: &Handler) -> SqlResult<Vec<Need>> {
    let Handler::Open { table, .. } = handler else { return Ok(Vec::new()) };
    if security.temporary_table_named(table).is_some() {
        return Ok(Vec::new());
    }
    let (database, table) = security.qualify(table)?;
    Ok(vec![Need::table(&database, &table, Privileges::SELECT, "")])
}

/// EVENT on the database of an event.
pub(crate) fn event_need(security: &SecurityContext<'_>, name: &ObjectName) -> SqlResult<Need> {
    let (database, _) = security.qualify(name)?;
    Ok(Need::database(&database, Privileges::EVENT))
}

/// EVENT on the databases of an event's names, and what its definer needs.
pub(crate) fn needs_of_event(security: &SecurityContext<'_>, event: &CreateEvent) -> SqlResult<Vec<Need>> {
    let mut needs = vec![event_need(security, &event.name)?];
    if let Some(to) = &event.rename {
        needs.push(event_need(security, to)?);
    }
    needs.extend(definer_needs(security, event.definer.as_ref())?);
    Ok(needs)
}

/// What CACHE INDEX and LOAD INDEX need of their tables.
pub(crate) fn needs_of_key_cache(security: &SecurityContext<'_>, tables: &[CachedTable]) -> SqlResult<Vec<Need>> {
    let tables = tables.iter().filter(|table| security.temporary_table_named(&table.name).is_none());
    tables
        .map(|table| {
            let (database, table) = security.qualify(&table.name)?;
            Ok(Need::table(&database, &table, Privileges::INDEX, ""))
        })
        .collect()
}

/// What LOCK TABLES needs of the tables that it names.
pub(crate) fn needs_of_lock(security: &SecurityContext<'_>, statement: &LockTables) -> SqlResult<Vec<Need>> {
    let mut needs = Vec::with_capacity(statement.locks.len());
    for lock in statement.locks.iter().filter(|lock| security.temporary_table_named(&lock.table).is_none()) {
        let (database, table) = security.qualify(&lock.table)?;
        needs.extend(lock_needs(&database, &table));
    }
    Ok(needs)
}

pub(crate) fn needs_of_flush(security: &SecurityContext<'_>, flush: &Flush) -> SqlResult<Vec<Need>> {
    let mut needs = Vec::new();
    for target in &flush.targets {
        let (dynamic, names): (&'static [&'static str], _) = match target {
            FlushTarget::Tables { .. } => FLUSH_TABLES,
            FlushTarget::Status => (&["FLUSH_STATUS"], "RELOAD or FLUSH_STATUS"),
            FlushTarget::Privileges => (&["FLUSH_PRIVILEGES"], "RELOAD or FLUSH_PRIVILEGES"),
            FlushTarget::UserResources => (&["FLUSH_USER_RESOURCES"], "RELOAD or FLUSH_USER_RESOURCES"),
            FlushTarget::OptimizerCosts => (&["FLUSH_OPTIMIZER_COSTS"], "RELOAD or FLUSH_OPTIMIZER_COSTS"),
            FlushTarget::BinaryLogs
            | FlushTarget::EngineLogs
            | FlushTarget::ErrorLogs
            | FlushTarget::GeneralLogs
            | FlushTarget::RelayLogs { .. }
            | FlushTarget::SlowLogs
            | FlushTarget::Hosts
            | FlushTarget::Logs
            | FlushTarget::Other(_) => (&[], "RELOAD"),
        };
        needs.push(Need::server(Privileges::RELOAD, dynamic, names));
        if let FlushTarget::Tables { names, lock: Some(FlushLock::ReadLock) } = target {
            for name in names {
                let (database, table) = security.qualify(name)?;
                needs.extend(lock_needs(&database, &table));
            }
        }
    }
    Ok(needs)
}

pub(crate) fn needs_of_maintenance(
    security: &SecurityContext<'_>,
    statement: &TableMaintenance,
) -> SqlResult<Vec<Need>> {
    let needed = match statement.kind {
        MaintenanceKind::Check | MaintenanceKind::Checksum => Privileges::SELECT,
        MaintenanceKind::Analyze | MaintenanceKind::Optimize | MaintenanceKind::Repair => {
            Privileges::SELECT.union(Privileges::INSERT)
        }
    };
    let mut needs = Vec::with_capacity(statement.tables.len());
    for name in statement.tables.iter().filter(|name| security.temporary_table_named(name).is_none()) {
        let (database, table) = security.qualify(name)?;
        needs.push(Need::table(&database, &table, needed, ""));
    }
    Ok(needs)
}

/// The needs of a lock on a table: LOCK TABLES, which is granted on databases, and SELECT.
pub(crate) fn lock_needs(database: &str, table: &str) -> [Need; 2] {
    [Need::database(database, Privileges::LOCK_TABLES), Need::table(database, table, Privileges::SELECT, "")]
}

/// The tables of a FROM, with what the statement calls them.
fn table_names<'t>(table: &'t TableReference, names: &mut Vec<(&'t str, &'t ObjectName)>) {
    match table {
        TableReference::Table(factor) => {
            names.push((factor.alias.as_ref().unwrap_or(&factor.name.name).as_str(), &factor.name));
        }
        TableReference::Join(join) => {
            table_names(&join.left, names);
            table_names(&join.right, names);
        }
        TableReference::Derived(_) | TableReference::JsonTable(_) | TableReference::Function(_) => {}
    }
}
