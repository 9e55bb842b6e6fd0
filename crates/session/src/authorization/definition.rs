//! The privileges that definitions of databases, tables, keys and views need.

use crate::authorization::accounts::system_user_need;
use crate::authorization::{SecurityContext, undeclared};
use squall_catalog::{AccountKey, Need, Privileges};
use squall_parser::ast::{AccountName, AlterAction, CreateTable, ObjectName, References, Statement, TableConstraint};
use squall_statement_context::StatementContext;
use squall_system_tables::is_system_table;
use squall_types::{ErrorCode, Level, SqlError, SqlResult};

/// The needs of a new table whose rows come from another.
const MADE: Privileges = Privileges::CREATE.union(Privileges::INSERT);

/// Privileges of CREATE, ALTER, DROP, RENAME and TRUNCATE.
pub(crate) fn needs_of_definition(security: &SecurityContext<'_>, statement: &Statement) -> SqlResult<Vec<Need>> {
    match statement {
        Statement::CreateDatabase(create) => {
            let replaced = if create.or_replace { Privileges::DROP } else { Privileges::NONE };
            Ok(vec![Need::database(&create.name, Privileges::CREATE.union(replaced))])
        }
        Statement::AlterDatabase(alter) => {
            let name = alter.name.as_ref().map(|name| name.as_str()).or(security.default_database.map(|name| &**name));
            Ok(name.map(|name| Need::database(name, Privileges::ALTER)).into_iter().collect())
        }
        Statement::DropDatabase(drop) => Ok(vec![Need::database(&drop.name, Privileges::DROP)]),
        Statement::CreateTable(create) => needs_of_create_table(security, create),
        Statement::AlterTable(alter) => needs_of_alter_table(security, &alter.name, &alter.actions),
        Statement::DropTable(drop) => {
            let own = |name: &&ObjectName| {
                security.temporary_table_named(name).is_none() && !(drop.if_exists && is_virtual_named(security, name))
            };
            let named = drop.names.iter().filter(own);
            named.map(|name| dropped(security, name)).collect()
        }
        Statement::CreateSequence(create) => {
            let replaced = if create.or_replace { Privileges::DROP } else { Privileges::NONE };
            Ok(vec![made(security, &create.name, Privileges::CREATE.union(replaced))?])
        }
        Statement::AlterSequence(alter) => Ok(vec![defined(security, &alter.name, Privileges::ALTER)?]),
        Statement::DropSequence(drop) => {
            drop.names.iter().map(|name| defined(security, name, Privileges::DROP)).collect()
        }
        Statement::TruncateTable(name) if security.temporary_table_named(name).is_some() => Ok(Vec::new()),
        Statement::TruncateTable(name) => Ok(vec![defined(security, name, Privileges::DROP)?]),
        Statement::RenameTable(rename) => {
            let mut needs = Vec::with_capacity(2 * rename.renames.len());
            for (from, to) in &rename.renames {
                needs.push(defined(security, from, Privileges::ALTER.union(Privileges::DROP))?);
                needs.push(made(security, to, MADE)?);
            }
            Ok(needs)
        }
        Statement::CreateIndex(create) => needs_of_index(security, &create.table),
        Statement::DropIndex(drop) => needs_of_index(security, &drop.table),
        Statement::CreateView(create) => {
            let replaced = if create.alter || create.or_replace { Privileges::DROP } else { Privileges::NONE };
            let mut needs = vec![made(security, &create.name, Privileges::CREATE_VIEW.union(replaced))?];
            needs.extend(definer_needs(security, create.definer.as_ref())?);
            Ok(needs)
        }
        Statement::DropView(drop) => drop.names.iter().map(|name| defined(security, name, Privileges::DROP)).collect(),
        _ => Err(undeclared()),
    }
}

fn needs_of_index(security: &SecurityContext<'_>, table: &ObjectName) -> SqlResult<Vec<Need>> {
    if security.temporary_table_named(table).is_some() {
        return Ok(Vec::new());
    }
    Ok(vec![defined(security, table, Privileges::INDEX)?])
}

fn needs_of_create_table(security: &SecurityContext<'_>, create: &CreateTable) -> SqlResult<Vec<Need>> {
    let mut needs = Vec::new();
    if create.temporary {
        let (database, _) = security.qualify(&create.name)?;
        needs.push(Need::database(&database, Privileges::CREATE_TEMPORARY_TABLES));
    } else if is_virtual_already(security, create) {
        return Ok(needs);
    } else {
        let mut needed = if create.query.is_some() { MADE } else { Privileges::CREATE };
        if create.or_replace {
            needed = needed.union(Privileges::DROP);
        }
        needs.push(made(security, &create.name, needed)?);
    }
    if let Some(source) = create.like.as_ref().filter(|source| security.temporary_table_named(source).is_none()) {
        let (database, table) = security.qualify(source)?;
        needs.push(Need::table(&database, &table, Privileges::SELECT, ""));
    }
    for constraint in &create.constraints {
        needs.extend(needs_of_constraint(security, &create.name, constraint)?);
    }
    for column in &create.columns {
        needs.extend(needs_of_references(security, &create.name, column.references.as_ref())?);
    }
    Ok(needs)
}

fn needs_of_alter_table(
    security: &SecurityContext<'_>,
    name: &ObjectName,
    actions: &[AlterAction],
) -> SqlResult<Vec<Need>> {
    if security.temporary_table_named(name).is_some() {
        return Ok(Vec::new());
    }
    let mut needs = vec![defined(security, name, Privileges::ALTER)?];
    for action in actions {
        match action {
            AlterAction::RenameTable(to) => {
                needs.push(defined(security, name, Privileges::DROP)?);
                needs.push(made(security, to, MADE)?);
            }
            AlterAction::DropPartition { .. } | AlterAction::TruncatePartition(_) => {
                needs.push(defined(security, name, Privileges::DROP)?);
            }
            AlterAction::ExchangePartition { table, .. } => {
                let needed = Privileges::INSERT.union(Privileges::CREATE).union(Privileges::DROP);
                needs.push(defined(security, name, needed)?);
                needs.push(defined(security, table, needed.union(Privileges::ALTER))?);
            }
            AlterAction::AddConstraint(constraint) => needs.extend(needs_of_constraint(security, name, constraint)?),
            AlterAction::AddColumn { column, .. }
            | AlterAction::ChangeColumn { column, .. }
            | AlterAction::ModifyColumn { column, .. } => {
                needs.extend(needs_of_references(security, name, column.references.as_ref())?);
            }
            _ => {}
        }
    }
    Ok(needs)
}

/// What a constraint that a table is given needs elsewhere.
fn needs_of_constraint(
    security: &SecurityContext<'_>,
    child: &ObjectName,
    constraint: &TableConstraint,
) -> SqlResult<Option<Need>> {
    match constraint {
        TableConstraint::ForeignKey(key) => needs_of_references(security, child, Some(&key.references)),
        _ => Ok(None),
    }
}

/// REFERENCES on the table that a foreign key refers to, also one that stands behind a column.
fn needs_of_references(
    security: &SecurityContext<'_>,
    child: &ObjectName,
    references: Option<&References>,
) -> SqlResult<Option<Need>> {
    let Some(References { table: parent, .. }) = references else { return Ok(None) };
    let database = match &parent.schema {
        Some(schema) => schema.to_string(),
        // In the child's database, whatever the default one is.
        None => security.qualify(child)?.0,
    };
    Ok(Some(Need::table(&database, &parent.name, Privileges::REFERENCES, "REFERENCES")))
}

/// A privilege on a table or view that is defined otherwise or goes.
fn defined(security: &SecurityContext<'_>, name: &ObjectName, needed: Privileges) -> SqlResult<Need> {
    let (database, table) = security.qualify(name)?;
    // What is made when it is read has no definition of the user's.
    if security.shared.registry.virtual_table(&database, &table).is_some()
        && needed.intersects(Privileges::ALTER.union(Privileges::INDEX))
    {
        if database.eq_ignore_ascii_case("information_schema") {
            return Err(security.database_denied(&database));
        }
        let word = if needed.contains(Privileges::INDEX) { "INDEX" } else { "ALTER" };
        return Err(security.table_denied(word, &table));
    }
    Ok(Need::table(&database, &table, needed, ""))
}

/// DROP of a table; tables whose rows are made when they are read cannot be dropped.
fn dropped(security: &SecurityContext<'_>, name: &ObjectName) -> SqlResult<Need> {
    let need = defined(security, name, Privileges::DROP)?;
    if is_virtual_named(security, name) {
        security.check_needs(&[need])?;
        return Err(security.table_denied("DROP", &name.name));
    }
    Ok(need)
}

/// A privilege on a table or view that comes to be.
fn made(security: &SecurityContext<'_>, name: &ObjectName, needed: Privileges) -> SqlResult<Need> {
    let (database, table) = security.qualify(name)?;
    let is_virtual = security.shared.registry.virtual_table(&database, &table).is_some();
    if is_virtual && squall_system_tables::virtual_database(&database).is_none() {
        security.check_needs(&[Need::table(&database, &table, needed, "")])?;
        return Err(SqlError::new(ErrorCode::TableExists, &[&table]));
    }
    debug_assert!(!is_virtual || !is_system_table(&database, &table));
    Ok(Need::table(&database, &table, needed, ""))
}

/// What naming another account as definer needs.
pub(crate) fn definer_needs(security: &SecurityContext<'_>, definer: Option<&AccountName>) -> SqlResult<Vec<Need>> {
    let Some(AccountName::Named { user, host }) = definer else { return Ok(Vec::new()) };
    let key = AccountKey::new(&**user, host.as_deref().unwrap_or("%").to_lowercase());
    if key == *security.account {
        return Ok(Vec::new());
    }
    let mut needs = vec![Need::server(Privileges::NONE, &["SET_ANY_DEFINER"], "SUPER or SET_ANY_DEFINER")];
    if security.shared.accounts.load_now().get(&key).is_none() {
        let dynamic = &["ALLOW_NONEXISTENT_DEFINER"];
        needs.push(Need::server(Privileges::NONE, dynamic, "SUPER or ALLOW_NONEXISTENT_DEFINER"));
    }
    needs.extend(system_user_need(security, &[key]));
    Ok(needs)
}

fn is_virtual_named(security: &SecurityContext<'_>, name: &ObjectName) -> bool {
    security.qualify(name).is_ok_and(|name| security.shared.registry.virtual_table(&name.0, &name.1).is_some())
}

/// Whether CREATE TABLE IF NOT EXISTS names a table whose rows are made when they are read.
pub(crate) fn is_virtual_already(security: &SecurityContext<'_>, create: &CreateTable) -> bool {
    let exists = is_virtual_named(security, &create.name);
    exists && create.if_not_exists && !create.temporary && !create.or_replace
}

/// A view whose definer is not there can be made, and not be read until it is (1449).
pub(crate) fn note_missing_definer(
    security: &SecurityContext<'_>,
    definer: Option<&AccountName>,
    context: &StatementContext,
) -> SqlResult<()> {
    let Some(definer @ AccountName::Named { .. }) = definer else { return Ok(()) };
    let key = security.account_key(definer)?;
    if security.shared.accounts.load_now().get(&key).is_none() {
        context.diagnostics.push(Level::Note, SqlError::new(ErrorCode::NoSuchUser, &[&key.user, &key.host]));
    }
    Ok(())
}
