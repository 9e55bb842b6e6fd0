//! DROP TABLE, DROP VIEW, TRUNCATE and RENAME TABLE.

use crate::edit::CatalogEdit;
use crate::edit::change_catalog;
use crate::edit::define;
use crate::execute::{DdlEnv, QualifiedName, base_table, missing, no_such_table, referring_keys};
use crate::locked::LockedTables;
use crate::names::check_table_name;
use rustc_hash::FxHashSet;
use squall_catalog::{Catalog, TableDef, TableEntry};
use squall_parser::ast::{DropView, ObjectName, RenameTable};
use squall_server_state::ServerState;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;

/// "Cannot drop table … referenced by a foreign key constraint" (3730).
pub fn referenced(table: &str, key: &str, child: &str) -> SqlError {
    SqlError::new(ErrorCode::DropTableReferencedByForeignKey, &[&table, &key, &child])
}

/// DROP TABLE of base tables: all or none.
pub fn drop_tables(state: &ServerState, env: &DdlEnv, names: &[QualifiedName], if_exists: bool) -> SqlResult<()> {
    drop_all(state, env, names, if_exists, Dropped::Tables)
}

/// DROP SEQUENCE: all or none.
///
/// # Errors
/// 4091 for what is not there, 4090 for what is no sequence.
pub fn drop_sequences(state: &ServerState, env: &DdlEnv, names: &[QualifiedName], if_exists: bool) -> SqlResult<()> {
    drop_all(state, env, names, if_exists, Dropped::Sequences)
}

/// What a statement drops.
#[derive(Clone, Copy, PartialEq)]
enum Dropped {
    /// Base tables; sequences are tables, too.
    Tables,
    Sequences,
}

impl Dropped {
    fn unknown(self, names: &[&QualifiedName]) -> SqlError {
        let list: Vec<String> = names.iter().map(|(database, table)| format!("{database}.{table}")).collect();
        let code = match self {
            Dropped::Tables => ErrorCode::BadTable,
            Dropped::Sequences => ErrorCode::UnknownSequence,
        };
        SqlError::new(code, &[&list.join(",")])
    }

    /// 4090 for a table or view where sequences are dropped.
    fn check(self, catalog: &Catalog, name: &QualifiedName) -> SqlResult<()> {
        let is_other = match catalog.entry(&name.0, &name.1) {
            Some(TableEntry::Table(table)) => !table.is_sequence(),
            Some(TableEntry::View(_)) => true,
            None => false,
        };
        match self == Dropped::Sequences && is_other {
            true => Err(SqlError::new(ErrorCode::NotSequenceToDrop, &[&name.0, &name.1])),
            false => Ok(()),
        }
    }
}

fn drop_all(
    state: &ServerState,
    env: &DdlEnv,
    names: &[QualifiedName],
    if_exists: bool,
    dropped: Dropped,
) -> SqlResult<()> {
    names.iter().try_for_each(|(_, table)| check_table_name(table))?;
    let mut named = FxHashSet::default();
    if let Some(twice) = names.iter().find(|name| !named.insert(*name)) {
        return Err(SqlError::new(ErrorCode::NonUniqueTable, &[&twice.1]));
    }
    define(
        state,
        env,
        |catalog| Ok(names.iter().flat_map(|name| with_children(catalog, name.clone())).collect()),
        |tables, catalog| {
            names.iter().try_for_each(|name| dropped.check(catalog, name))?;
            let is_table = |name: &&QualifiedName| tables.table(name).is_some();
            let unknown: Vec<&QualifiedName> = names.iter().filter(|name| !is_table(name)).collect();
            if !unknown.is_empty() {
                if !if_exists {
                    return Err(dropped.unknown(&unknown));
                }
                for name in unknown {
                    env.note(dropped.unknown(&[name]));
                }
            }
            if env.foreign_key_checks {
                for name in names {
                    let child = referring_keys(catalog, name)
                        .into_iter()
                        .find(|(database, table, _)| !named.contains(&(database.clone(), table.clone())));
                    if let Some((_, child, key)) = child {
                        return Err(referenced(&name.1, &key, &child));
                    }
                }
            }
            // The tables that existed when the locks were taken.
            for name in names {
                if let Some(table) = tables.table(name) {
                    catalog.drop_table(table, tables)?;
                }
            }
            Ok(())
        },
    )
}

/// DROP VIEW: all or none.
pub fn drop_views(state: &ServerState, env: &DdlEnv, statement: &DropView) -> SqlResult<()> {
    let names = statement.names.iter().map(|name| env.qualify(name)).collect::<SqlResult<Vec<_>>>()?;
    change_catalog(state, |catalog| {
        let mut unknown = Vec::new();
        for name in &names {
            match catalog.entry(&name.0, &name.1) {
                Some(TableEntry::View(_)) => {}
                Some(TableEntry::Table(_)) => {
                    return Err(SqlError::new(ErrorCode::WrongObject, &[&name.0, &name.1, &"VIEW"]));
                }
                None => unknown.push(name),
            }
        }
        if !unknown.is_empty() && !statement.if_exists {
            return Err(Dropped::Tables.unknown(&unknown));
        }
        for name in unknown {
            env.note(Dropped::Tables.unknown(&[name]));
        }
        names.iter().try_for_each(|name| catalog.drop_view(name))
    })
}

/// TRUNCATE TABLE.
pub fn truncate_table(state: &ServerState, env: &DdlEnv, name: &ObjectName) -> SqlResult<()> {
    let name = env.qualify(name)?;
    // For TRUNCATE a view is no table at all.
    let wanted = |catalog: &Catalog| match catalog.entry(&name.0, &name.1) {
        Some(TableEntry::View(_)) => Err(no_such_table(&name)),
        _ => base_table(catalog, &name).map(|_| vec![name.clone()]),
    };
    define(state, env, wanted, |tables, catalog| {
        let locked = tables.base_table(&name)?;
        let mut table = (**locked.def()).clone();
        if env.foreign_key_checks
            && let Some((database, child, key)) = referring_keys(catalog, &name).into_iter().next()
        {
            return Err(SqlError::new(ErrorCode::TruncateIllegalForeignKey, &[&database, &child, &key]));
        }
        table.version += 1;
        table.auto_increment_start = 0;
        catalog.truncate(locked, table, tables)
    })
}

/// RENAME TABLE: one after the other, all or none.
pub fn rename_tables(state: &ServerState, env: &DdlEnv, statement: &RenameTable) -> SqlResult<()> {
    let mut renames = Vec::with_capacity(statement.renames.len());
    for (from, to) in &statement.renames {
        renames.push((env.qualify(from)?, env.qualify(to)?));
    }
    let wanted = |catalog: &Catalog| {
        let names = renames.iter().flat_map(|(from, to)| [from, to]);
        Ok(names.flat_map(|name| with_children(catalog, name.clone())).collect())
    };
    define(state, env, wanted, |tables, catalog| {
        for (from, to) in &renames {
            if statement.if_exists && catalog.entry(&from.0, &from.1).is_none() {
                env.note(missing(catalog, from));
                continue;
            }
            rename_entry(catalog, tables, from, to)?;
        }
        Ok(())
    })
}

/// The object of a name, and the tables whose foreign keys name it and change with it.
pub fn with_children(catalog: &Catalog, name: QualifiedName) -> Vec<QualifiedName> {
    let children = referring_keys(catalog, &name).into_iter().map(|(database, child, _)| (database, child));
    children.chain([name.clone()]).collect()
}

/// Moves a table or view to another name, and what refers to it along. The table and those that refer to it are locked.
pub fn rename_entry(
    catalog: &mut CatalogEdit<'_>,
    tables: &LockedTables,
    from: &QualifiedName,
    to: &QualifiedName,
) -> SqlResult<()> {
    check_table_name(&to.1)?;
    if catalog.entry(&from.0, &from.1).is_none() {
        return Err(missing(catalog, from));
    }
    if catalog.database(&to.0).is_none() {
        return Err(SqlError::new(ErrorCode::BadDatabase, &[&to.0]));
    }
    if catalog.entry(&to.0, &to.1).is_some() {
        return Err(SqlError::new(ErrorCode::TableExists, &[&to.1]));
    }
    let entry = match catalog.take(from, tables)? {
        TableEntry::Table(table) => {
            check_triggers_stay(&table, from, to)?;
            let mut table = (*table).clone();
            let old = std::mem::replace(&mut table.name, to.1.clone());
            table.version += 1;
            rename_generated(&mut table, &old);
            TableEntry::Table(Arc::new(table))
        }
        TableEntry::View(view) => {
            if from.0 != to.0 {
                return Err(SqlError::new(ErrorCode::ForbidSchemaChange, &[&from.0, &to.0]));
            }
            let mut view = (*view).clone();
            view.name = to.1.clone();
            TableEntry::View(Arc::new(view))
        }
    };
    catalog.put(to, entry, tables)?;
    catalog.rename_parent(from, to, tables)?;
    catalog.resolve_keys_to(to, tables)
}

/// A table with triggers stays in its database, where their names are (1435).
pub fn check_triggers_stay(table: &TableDef, from: &QualifiedName, to: &QualifiedName) -> SqlResult<()> {
    match table.triggers.is_empty() || from.0 == to.0 {
        true => Ok(()),
        false => Err(SqlError::new(ErrorCode::TriggerInWrongSchema, &[])),
    }
}

/// Names of constraints that were made from the table's name follow it.
fn rename_generated(table: &mut TableDef, old: &str) {
    let renamed = |name: &str, kind: &str, new: &str| {
        let number = name.strip_prefix(old)?.strip_prefix(kind)?;
        number.parse::<u64>().ok().map(|number| format!("{new}{kind}{number}"))
    };
    let new = table.name.clone();
    for key in &mut table.foreign_keys {
        if let Some(name) = renamed(&key.name, "_ibfk_", &new) {
            key.name = name;
        }
    }
    for check in &mut table.checks {
        if let Some(name) = renamed(&check.name, "_chk_", &new) {
            check.name = name;
        }
    }
}
