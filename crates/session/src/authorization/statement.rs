//! The privileges that each kind of statement needs. The binder records the needs for rows; this module records the needs that names
//! alone tell.

use super::AuthorizedStatement;
use super::show::needs_of_show;
use crate::authorization::SecurityContext;
use crate::authorization::accounts::needs_of_account_statement;
use crate::authorization::accounts::needs_of_default_role;
use crate::authorization::accounts::needs_of_password;
use crate::authorization::definition::definer_needs;
use crate::authorization::definition::needs_of_definition;
use crate::authorization::programs::needs_of_create_trigger;
use crate::authorization::programs::needs_of_drop_trigger;
use crate::authorization::programs::needs_of_routine_definition;
use crate::session::{Session, StatementRun};
use squall_catalog::{Need, Object, Privileges};
use squall_parser::ast::{
    Call, Delete, DeleteTarget, DropObject, Flush, FlushLock, FlushTarget, Handler, Insert, LockTables,
    MaintenanceKind, ObjectName, Reset, Set, Statement, TableMaintenance, TableReference, Update,
};
use squall_types::SqlResult;

/// FLUSH and its privileges, any of which will do.
const FLUSH_TABLES: (&[&str], &str) = (&["FLUSH_TABLES"], "RELOAD or FLUSH_TABLES");

impl Session {
    /// Lets a statement be run, if the session may do what its names say. What queries and changes of rows touch is asked
    /// once they are bound ([`Session::authorize`]).
    ///
    /// # Errors
    /// MySQL's for the first privilege that is missing.
    pub(crate) fn authorize_statement<'r, 's>(
        &self,
        run: &'r StatementRun<'s>,
    ) -> SqlResult<AuthorizedStatement<'r, 's>> {
        self.security().check_needs(&needs_of(&self.security(), run.request.statement)?)?;
        Ok(AuthorizedStatement(run))
    }

    /// The needs that the names of a statement tell, for statements that are bound without being dispatched.
    pub(crate) fn check_names(&self, statement: &Statement) -> SqlResult<()> {
        self.security().check_needs(&needs_of(&self.security(), statement)?)
    }
}

/// What a statement needs, in the order in which it is asked for. Every kind of statement stands here: one that needs
/// nothing says so.
#[expect(clippy::too_many_lines, reason = "one arm for each statement")]
fn needs_of(security: &SecurityContext<'_>, statement: &Statement) -> SqlResult<Vec<Need>> {
    match statement {
        // The binder tells which rows and columns.
        Statement::Query(_) | Statement::Do(_) | Statement::Explain(_) => Ok(Vec::new()),
        Statement::Insert(insert) => needs_of_insert(security, insert),
        Statement::Update(update) => needs_of_update(security, update),
        Statement::Delete(delete) => needs_of_delete(security, delete),
        // The columns are asked for where it is bound: the file may be what has their names. Nobody is asked for a file in vain.
        Statement::LoadData(load) => Ok(name_need(security, &load.table, Privileges::INSERT)?.into_iter().collect()),
        Statement::Call(call) => needs_of_call(security, call),
        Statement::CreateDatabase(_)
        | Statement::AlterDatabase(_)
        | Statement::DropDatabase(_)
        | Statement::CreateTable(_)
        | Statement::AlterTable(_)
        | Statement::DropTable(_)
        | Statement::TruncateTable(_)
        | Statement::RenameTable(_)
        | Statement::CreateIndex(_)
        | Statement::DropIndex(_)
        | Statement::CreateView(_)
        | Statement::DropView(_) => needs_of_definition(security, statement),
        Statement::CreateTrigger(create) => needs_of_create_trigger(security, create),
        Statement::DropTrigger(drop) => needs_of_drop_trigger(security, drop),
        Statement::CreateEvent(event) => {
            let mut needs = vec![event_need(security, &event.name)?];
            if let Some(to) = &event.rename {
                needs.push(event_need(security, to)?);
            }
            needs.extend(definer_needs(security, event.definer.as_ref())?);
            Ok(needs)
        }
        Statement::DropEvent(DropObject { names, .. }) => names.iter().map(|name| event_need(security, name)).collect(),
        Statement::CreateProcedure(_)
        | Statement::CreateFunction(_)
        | Statement::AlterProcedure(_)
        | Statement::AlterFunction(_)
        | Statement::DropProcedure(_)
        | Statement::DropFunction(_) => needs_of_routine_definition(security, statement),
        Statement::CreateUser(_)
        | Statement::DropUser(_)
        | Statement::RenameUser(_)
        | Statement::CreateRole(_)
        | Statement::DropRole(_)
        | Statement::Grant(_)
        | Statement::Revoke(_) => needs_of_account_statement(security, statement),
        Statement::Set(Set::Password(password)) => needs_of_password(security, password),
        Statement::Set(Set::DefaultRole(default)) => needs_of_default_role(security, default),
        // Each variable by itself, when its name has been looked up.
        Statement::Set(_) => Ok(Vec::new()),
        Statement::LockTables(lock) => needs_of_lock(security, lock),
        Statement::Flush(flush) => needs_of_flush(security, flush),
        Statement::Reset(Reset::Persist { .. }) => {
            let names = "SUPER or SYSTEM_VARIABLES_ADMIN";
            Ok(vec![Need::server(Privileges::NONE, &["SYSTEM_VARIABLES_ADMIN"], names)])
        }
        Statement::Backup(_) => Ok(vec![Need::server(Privileges::RELOAD, &[], "RELOAD")]),
        Statement::Reset(_) => Ok(vec![Need::server(Privileges::RELOAD, &[], "RELOAD")]),
        Statement::TableMaintenance(maintenance) => needs_of_maintenance(security, maintenance),
        Statement::LockInstance | Statement::UnlockInstance => {
            Ok(vec![Need::server(Privileges::NONE, &["BACKUP_ADMIN"], "BACKUP_ADMIN")])
        }
        Statement::CreateServer(_) | Statement::AlterServer { .. } | Statement::DropServer { .. } => {
            Ok(vec![Need::server(Privileges::SUPER, &[], "SUPER")])
        }
        // The module that keeps them asks.
        Statement::CreateHttpEndpoint { .. } | Statement::AlterHttpEndpoint(_) | Statement::DropHttpEndpoint { .. } => {
            Ok(Vec::new())
        }
        Statement::CreateApiToken(_) | Statement::DropApiToken { .. } => Ok(Vec::new()),
        Statement::Shutdown | Statement::Restart => Ok(vec![Need::server(Privileges::SHUTDOWN, &[], "SHUTDOWN")]),
        Statement::Show(show) => Ok(needs_of_show(show).into_iter().collect()),
        // What is seen depends on grants.
        Statement::DescribeTable(_) => Ok(Vec::new()),
        // Whose connection it is stands in an expression.
        Statement::Kill(_) => Ok(Vec::new()),
        // The database has to be seen, which `use_database` finds out.
        Statement::Use(_) => Ok(Vec::new()),
        // The statements inside ask for themselves.
        Statement::Program(_)
        | Statement::Prepare(_)
        | Statement::Execute(_)
        | Statement::ExecuteImmediate(_)
        | Statement::ExecuteText(_)
        | Statement::Deallocate(_) => Ok(Vec::new()),
        // The session's own.
        Statement::Empty
        | Statement::Transaction(_)
        | Statement::UnlockTables
        | Statement::GetDiagnostics(_)
        | Statement::Signal(_) => Ok(Vec::new()),
        Statement::Handler(handler) => needs_of_handler(security, handler),
        // What it tells is the same for all.
        Statement::Help(_) => Ok(Vec::new()),
        Statement::CacheIndex { tables, .. } | Statement::LoadIndex { tables } => {
            let tables = tables.iter().filter(|table| security.temporary_table_named(&table.name).is_none());
            tables
                .map(|table| {
                    let (database, table) = security.qualify(&table.name)?;
                    Ok(Need::table(&database, &table, Privileges::INDEX, ""))
                })
                .collect()
        }
        // Refused for all accounts.
        Statement::CreateSequence(_)
        | Statement::AlterSequence(_)
        | Statement::DropSequence(_)
        | Statement::CreateLoadableFunction(_)
        | Statement::Install(_)
        | Statement::Uninstall(_)
        | Statement::Replication(_) => Ok(Vec::new()),
    }
}

/// A need of a table or any of its columns: who has none learns nothing of it, not even whether it is there.
fn name_need(security: &SecurityContext<'_>, name: &ObjectName, privileges: Privileges) -> SqlResult<Option<Need>> {
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

fn needs_of_update(security: &SecurityContext<'_>, update: &Update) -> SqlResult<Vec<Need>> {
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

fn needs_of_delete(security: &SecurityContext<'_>, delete: &Delete) -> SqlResult<Vec<Need>> {
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

fn needs_of_call(security: &SecurityContext<'_>, call: &Call) -> SqlResult<Vec<Need>> {
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
fn needs_of_handler(security: &SecurityContext<'_>, handler: &Handler) -> SqlResult<Vec<Need>> {
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

/// What LOCK TABLES needs of the tables that it names.
fn needs_of_lock(security: &SecurityContext<'_>, statement: &LockTables) -> SqlResult<Vec<Need>> {
    let mut needs = Vec::with_capacity(statement.locks.len());
    for lock in statement.locks.iter().filter(|lock| security.temporary_table_named(&lock.table).is_none()) {
        let (database, table) = security.qualify(&lock.table)?;
        needs.extend(lock_needs(&database, &table));
    }
    Ok(needs)
}

fn needs_of_flush(security: &SecurityContext<'_>, flush: &Flush) -> SqlResult<Vec<Need>> {
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

fn needs_of_maintenance(security: &SecurityContext<'_>, statement: &TableMaintenance) -> SqlResult<Vec<Need>> {
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
