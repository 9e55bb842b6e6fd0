//! Runs CREATE TABLE.

use crate::constraint::parent_name;
use crate::create_table::resolve_table;
use crate::database::refuse_system;
use crate::drop::{referenced, with_children};
use crate::edit::define;
use crate::execute::{DdlEnv, QualifiedName, referring_keys};
use crate::names::check_table_name;
use crate::table_option::set_default_compression;
use squall_catalog::{Catalog, ColumnDef, TableDef, TableEntry};
use squall_parser::ast::{CreateTable, TableConstraint, TableOption};
use squall_server_state::ServerState;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::borrow::Cow;
use std::sync::Arc;

/// A statement that says which engine the table has; temporary tables are not kept by column.
fn with_engine<'a>(statement: &'a CreateTable, default: &str) -> Cow<'a, CreateTable> {
    let says_engine = statement.options.iter().any(|option| matches!(option, TableOption::Engine(_)));
    if says_engine || statement.temporary {
        return Cow::Borrowed(statement);
    }
    let mut statement = statement.clone();
    statement.options.push(TableOption::Engine(default.into()));
    Cow::Owned(statement)
}

/// The definition that a statement asks for; for LIKE a copy of another table's.
pub fn definition(
    catalog: &Catalog,
    env: &DdlEnv,
    statement: &CreateTable,
    name: &QualifiedName,
    selected: &[ColumnDef],
    source: Option<&TableDef>,
) -> SqlResult<TableDef> {
    refuse_system(env, &name.0)?;
    if catalog.database(&name.0).is_none() {
        return Err(SqlError::new(ErrorCode::BadDatabase, &[&name.0]));
    }
    let Some(source) = source else {
        let statement = with_engine(statement, &env.default_engine);
        let mut table = resolve_table(&statement, selected, &env.ddl_context(catalog, &name.0))?;
        set_default_compression(&mut table, &env.table_compression);
        if env.require_primary_key && table.primary_key().is_none() {
            return Err(SqlError::new(ErrorCode::TableWithoutPrimaryKey, &[]));
        }
        return Ok(table);
    };
    check_table_name(&name.1)?;
    let mut table = source.clone();
    let old = std::mem::replace(&mut table.name, name.1.clone());
    table.version = 1;
    table.foreign_keys.clear();
    table.triggers.clear();
    table.auto_increment_start = 0;
    table.created_micros = env.context.now_micros;
    table.temporary = statement.temporary;
    if table.temporary {
        if table.partitioning.is_some() {
            return Err(SqlError::new(ErrorCode::TemporaryPartitions, &[]));
        }
        // LIKE a table that has a copy of columns.
        table.indexes.retain(|index| !index.is_columnar());
    }
    for column in &mut table.columns {
        // The copy has no rows from before a column was added.
        column.value_for_older_rows = squall_types::Value::Null;
    }
    for (number, check) in table.checks.iter_mut().enumerate() {
        let generated = check.name.strip_prefix(&format!("{old}_chk_")).is_some_and(|n| n.parse::<u64>().is_ok());
        if generated {
            check.name = format!("{}_chk_{}", name.1, number + 1);
        }
    }
    Ok(table)
}

/// CREATE TABLE; tells whether there is a new table.
pub fn create_table(
    state: &ServerState,
    env: &DdlEnv,
    statement: &CreateTable,
    name: &QualifiedName,
    selected: &[ColumnDef],
    source: Option<Arc<TableDef>>,
) -> SqlResult<bool> {
    let parents = written_parents(statement, &name.0);
    let wanted = |catalog: &Catalog| Ok(tables_concerned(catalog, name, &parents, statement.or_replace));
    define(state, env, wanted, |tables, catalog| {
        match catalog.entry(&name.0, &name.1) {
            Some(TableEntry::Table(table)) if statement.or_replace => {
                let id = table.id;
                refuse_if_referenced(catalog, env, name)?;
                catalog.drop_table(tables.by_id(id)?, tables)?;
            }
            Some(_) => {
                let error = SqlError::new(ErrorCode::TableExists, &[&name.1]);
                if statement.if_not_exists {
                    env.note(error);
                    return Ok(false);
                }
                return Err(error);
            }
            None => {}
        }
        let table = definition(catalog, env, statement, name, selected, source.as_deref())?;
        check_constraint_names(catalog, &name.0, &table)?;
        catalog.create_table(&name.0, table, tables)?;
        Ok(true)
    })
}

/// The tables that foreign keys of a CREATE TABLE refer to.
pub fn written_parents(statement: &CreateTable, database: &str) -> Vec<QualifiedName> {
    let of_table = statement.constraints.iter().filter_map(|constraint| match constraint {
        TableConstraint::ForeignKey(key) => Some(&key.references),
        _ => None,
    });
    let of_columns = statement.columns.iter().filter_map(|column| column.references.as_ref());
    of_table.chain(of_columns).map(|references| parent_name(references, database)).collect()
}

/// The tables that a new table affects: tables that it refers to, tables whose foreign keys refer to its name, and the table that
/// it replaces.
pub fn tables_concerned(
    catalog: &Catalog,
    name: &QualifiedName,
    parents: &[QualifiedName],
    or_replace: bool,
) -> Vec<QualifiedName> {
    let mut concerned = with_children(catalog, name.clone());
    if !or_replace {
        concerned.retain(|other| other != name);
    }
    concerned.extend(parents.iter().filter(|parent| *parent != name).cloned());
    concerned
}

/// A table that others refer to is replaced only if `foreign_key_checks` is off (3730).
pub fn refuse_if_referenced(catalog: &Catalog, env: &DdlEnv, name: &QualifiedName) -> SqlResult<()> {
    match referring_keys(catalog, name).into_iter().next().filter(|_| env.foreign_key_checks) {
        Some((_, child, key)) => Err(referenced(&name.1, &key, &child)),
        None => Ok(()),
    }
}

/// Names of CHECK and FOREIGN KEY constraints are unique within a database (3822, 1826).
pub fn check_constraint_names(catalog: &Catalog, database: &str, table: &TableDef) -> SqlResult<()> {
    let Some(definition) = catalog.database(database) else { return Ok(()) };
    for entry in definition.tables.values() {
        let TableEntry::Table(other) = entry else { continue };
        if other.name == table.name || other.id == table.id {
            continue;
        }
        for check in &table.checks {
            if other.checks.iter().any(|taken| taken.name.eq_ignore_ascii_case(&check.name)) {
                return Err(SqlError::new(ErrorCode::CheckConstraintDuplicateName, &[&check.name]));
            }
        }
        for key in &table.foreign_keys {
            if other.foreign_keys.iter().any(|taken| taken.name.eq_ignore_ascii_case(&key.name)) {
                return Err(SqlError::new(ErrorCode::DuplicateForeignKeyName, &[&key.name]));
            }
        }
    }
    Ok(())
}
