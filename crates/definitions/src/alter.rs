//! Runs ALTER TABLE: the definition alone, new keys, or a copy of all rows.

use crate::alter_table::{Alteration, Work, alter_table as resolve_alteration};
use crate::constraint::parent_name;
use crate::create::check_constraint_names;
use crate::drop::{check_triggers_stay, rename_entry, with_children};
use crate::edit::CatalogEdit;
use crate::edit::change_catalog;
use crate::edit::define;
use crate::exchange::exchange_partition;
use crate::execute::{DdlEnv, QualifiedName, altered_table};
use crate::index_build::build_keys;
use crate::locked::{LockedTable, LockedTables, lock_tables_between};
use crate::partition_change::truncated_storages;
use crate::preparation::Preparation;
use crate::table_copy::{CopiedTable, CopyEnv, copy_rows};
use squall_catalog::{Catalog, IndexId, TableDef, TableId};
use squall_parser::ast::{AlterAction, AlterTable, CreateIndex, DropIndex, TableConstraint};
use squall_server_state::ServerState;
use squall_types::{ErrorCode, Level, SqlError, SqlResult};
use std::sync::Arc;
use std::time::Instant;

/// The parameters of ALTER beyond those of other definition statements.
#[derive(Clone, Copy, Debug)]
pub struct AlterEnv {
    /// Whether bad values in a copy are errors.
    pub strict: bool,
}

/// CREATE INDEX is an ALTER TABLE that adds a key.
pub fn alter_of_create_index(statement: &CreateIndex) -> AlterTable {
    let mut actions = Vec::new();
    if statement.or_replace
        && let Some(name) = &statement.index.name
    {
        actions.push(AlterAction::DropIndex { if_exists: true, name: name.clone() });
    }
    actions.push(AlterAction::AddConstraint(TableConstraint::Index(statement.index.clone())));
    AlterTable {
        if_exists: false,
        online: false,
        ignore: false,
        name: statement.table.clone(),
        actions,
        algorithm: statement.algorithm.clone(),
        lock: statement.lock.clone(),
        validation: None,
    }
}

/// DROP INDEX is an ALTER TABLE that drops a key.
pub fn alter_of_drop_index(statement: &DropIndex) -> AlterTable {
    AlterTable {
        if_exists: false,
        online: false,
        ignore: false,
        name: statement.table.clone(),
        actions: vec![AlterAction::DropIndex { if_exists: statement.if_exists, name: statement.name.clone() }],
        algorithm: statement.algorithm.clone(),
        lock: statement.lock.clone(),
        validation: None,
    }
}

/// ALTER TABLE of a base table; tells how many rows were copied.
pub fn alter_table(
    state: &ServerState,
    env: &DdlEnv,
    alter_env: &AlterEnv,
    statement: &AlterTable,
    name: &QualifiedName,
) -> SqlResult<u64> {
    if let [AlterAction::ExchangePartition { partition, table }] = &statement.actions[..] {
        exchange_partition(state, env, name, partition, &env.qualify(table)?)?;
        return Ok(0);
    }
    // With the tables of new foreign keys everything happens under their locks.
    let mut prepared = match new_parents(statement, &name.0)[..] {
        [] => Preparation::begin(state, env, alter_env.strict, statement, name)?,
        _ => None,
    };
    let wanted = |catalog: &Catalog| {
        altered_table(catalog, name, statement)?;
        let mut wanted = new_parents(statement, &name.0);
        match renamed_to(env, name, statement)? {
            Some(to) => wanted.extend([name.clone(), to].into_iter().flat_map(|name| with_children(catalog, name))),
            None => wanted.push(name.clone()),
        }
        Ok(wanted)
    };
    let mut meanwhile = || prepared.as_mut().map_or(Ok(()), |prepared| prepared.catch_up(env));
    let tables = lock_tables_between(state, env, wanted, &mut meanwhile)?;
    let old = tables.by_id(altered_table(tables.catalog(), name, statement)?.id)?;
    let seen = tables.catalog();
    let alteration = match &prepared {
        Some(prepared) => prepared.alteration_of(old)?,
        None => resolve_alteration(old, statement, &env.ddl_context(seen, &name.0))?,
    };
    check_constraint_names(seen, &name.0, &alteration.table)?;
    note_keys_switch(env, old, &alteration);
    let rename = renamed_to(env, name, statement)?;
    check_rename(seen, (old.name(), old), rename.as_ref())?;
    let place = rename.as_ref().unwrap_or(name);
    match alteration.work {
        Work::Metadata => {
            let truncated = truncated(old, statement)?;
            commit_in_place(state, &tables, old, &alteration.table, (rename.as_ref(), truncated))?;
            set_auto_increment(state, &alteration)?;
            Ok(0)
        }
        Work::Indexes => {
            let table = Arc::new(alteration.table.clone());
            match &mut prepared {
                Some(prepared) => prepared.finish_keys(state, env, old)?,
                None => build_keys(state, &env.context, old, &table)?,
            }
            commit_in_place(state, &tables, old, &table, (rename.as_ref(), Vec::new()))?;
            set_auto_increment(state, &alteration)?;
            let before = old.def().clone();
            drop(tables);
            make_copy(state, env, place, Some(&before), &table)?;
            Ok(0)
        }
        Work::Rebuild | Work::Copy => {
            let copy = match prepared.as_mut().map_or(Ok(None), Preparation::finish_copy)? {
                Some(copy) => copy,
                None => {
                    let on = CopyEnv { state, env, strict: alter_env.strict, database: &name.0 };
                    copy_rows(on, statement, old.def(), alteration.table.clone())?
                }
            };
            let table = copy.table().clone();
            // While no other session knows the copy.
            set_auto_increment(state, &Alteration { table: (*table).clone(), ..alteration.clone() })?;
            let rows = copy.rows;
            commit_copy(state, &tables, old, copy, rename.as_ref())?;
            drop(tables);
            make_copy(state, env, place, None, &table)?;
            Ok(if alteration.work == Work::Copy { rows } else { 0 })
        }
    }
}

/// RENAME TO: gives the table a new name, also in the foreign keys of tables that refer to it.
pub fn renamed_to(env: &DdlEnv, from: &QualifiedName, statement: &AlterTable) -> SqlResult<Option<QualifiedName>> {
    let to = statement.actions.iter().rev().find_map(|action| match action {
        AlterAction::RenameTable(to) => Some(to),
        _ => None,
    });
    match to {
        None => Ok(None),
        Some(to) if to.schema.is_some() => env.qualify(to).map(Some),
        // Without a database the table stays in its own.
        Some(to) => Ok(Some((from.0.clone(), to.name.to_string()))),
    }
}

/// The tables that foreign keys of the statement refer to.
fn new_parents(statement: &AlterTable, database: &str) -> Vec<QualifiedName> {
    let references = statement.actions.iter().filter_map(|action| match action {
        AlterAction::AddConstraint(TableConstraint::ForeignKey(key)) => Some(&key.references),
        AlterAction::AddColumn { column, .. }
        | AlterAction::ChangeColumn { column, .. }
        | AlterAction::ModifyColumn { column, .. } => column.references.as_ref(),
        _ => None,
    });
    references.map(|references| parent_name(references, database)).collect()
}

/// Makes the copy of columns that a definition has come to have, while others use the table. If that fails, a copy that the
/// table had not before goes again; that of a new table is made in the background.
fn make_copy(
    state: &ServerState,
    env: &DdlEnv,
    name: &QualifiedName,
    old: Option<&TableDef>,
    new: &TableDef,
) -> SqlResult<()> {
    let copy_of = |def: &TableDef| def.column_copy().map(|index| index.id);
    let Some(index) = copy_of(new).filter(|index| old.and_then(copy_of) != Some(*index)) else { return Ok(()) };
    // Another statement may have been faster.
    let held = state.store.hold_table(env.session, new.id, env.wait).map_err(SqlError::from)?;
    let Some(table) = held.filter(|table| copy_of(table.def()) == Some(index)) else { return Ok(()) };
    let made = state.store.make_copy(&table, &|| env.context.kill.check());
    drop(table);
    if made.is_err() && old.is_some() {
        // Its own error is not reported: the copy is made in the background if it cannot be removed.
        let _ = drop_copy(state, env, name, new.id, index);
    }
    made
}

/// Takes a copy of columns out of a table's definition.
fn drop_copy(state: &ServerState, env: &DdlEnv, name: &QualifiedName, id: TableId, index: IndexId) -> SqlResult<()> {
    define(
        state,
        env,
        |_| Ok(vec![name.clone()]),
        |tables, catalog| {
            let Some(locked) = tables.table(name).filter(|table| table.id == id) else { return Ok(()) };
            let mut table = (**locked.def()).clone();
            table.indexes.retain(|other| other.id != index);
            table.version += 1;
            catalog.replace(locked, table, tables)
        },
    )
}

/// ALTER TABLE of a session's TEMPORARY table: the new definition, its new name and the rows copied.
pub fn alter_temporary(
    state: &ServerState,
    env: &DdlEnv,
    alter_env: &AlterEnv,
    statement: &AlterTable,
    old: &Arc<TableDef>,
    database: &str,
) -> SqlResult<(Arc<TableDef>, Option<QualifiedName>, u64)> {
    let seen = state.catalog.load();
    let name = (database.to_string(), old.name.clone());
    let old = &LockedTable::of_session(name.clone(), old)?;
    let alteration = resolve_alteration(old, statement, &env.ddl_context(&seen, database))?;
    let rename = renamed_to(env, &name, statement)?;
    let mut table = alteration.table.clone();
    if let Some((_, new)) = &rename {
        table.name = new.clone();
    }
    let rows = match alteration.work {
        Work::Metadata => 0,
        Work::Indexes => {
            build_keys(state, &env.context, old, &Arc::new(table.clone()))?;
            0
        }
        Work::Rebuild | Work::Copy => {
            table.id = state.store.allocate_temporary_id();
            let on = CopyEnv { state, env, strict: alter_env.strict, database };
            let copy = copy_rows(on, statement, old.def(), table)?;
            let rows = copy.rows;
            table = (*copy.keep()).clone();
            if alteration.work == Work::Copy { rows } else { 0 }
        }
    };
    Ok((Arc::new(table), rename, rows))
}

fn note_keys_switch(env: &DdlEnv, old: &TableDef, alteration: &Alteration) {
    if alteration.keys_switch {
        env.context.diagnostics.push(Level::Note, SqlError::new(ErrorCode::IllegalHandler, &[&old.name]));
    }
}

/// Whether the table can have the name that RENAME TO gives it.
pub(crate) fn check_rename(
    catalog: &Catalog,
    (from, table): (&QualifiedName, &TableDef),
    to: Option<&QualifiedName>,
) -> SqlResult<()> {
    let Some(to) = to.filter(|to| *to != from) else { return Ok(()) };
    if catalog.database(&to.0).is_none() {
        return Err(SqlError::new(squall_types::ErrorCode::BadDatabase, &[&to.0]));
    }
    if catalog.entry(&to.0, &to.1).is_some() {
        return Err(SqlError::new(squall_types::ErrorCode::TableExists, &[&to.1]));
    }
    check_triggers_stay(table, from, to)
}

/// The storages that TRUNCATE PARTITION empties.
fn truncated(table: &TableDef, statement: &AlterTable) -> SqlResult<Vec<TableId>> {
    let mut storages = Vec::new();
    for action in &statement.actions {
        if let AlterAction::TruncatePartition(names) = action {
            storages.extend(truncated_storages(table, names)?);
        }
    }
    Ok(storages)
}

/// Changes the catalog, and notes how long that takes.
fn timed_change(state: &ServerState, change: impl FnOnce(&mut CatalogEdit<'_>) -> SqlResult<()>) -> SqlResult<()> {
    let began = Instant::now();
    change_catalog(state, change).inspect(|()| state.definition_times.publish.note(began.elapsed()))
}

fn commit_in_place(
    state: &ServerState,
    tables: &LockedTables,
    old: &LockedTable,
    table: &TableDef,
    (rename, truncated): (Option<&QualifiedName>, Vec<TableId>),
) -> SqlResult<()> {
    timed_change(state, |catalog| {
        catalog.truncate_storages(old, table.clone(), truncated, tables)?;
        match rename.filter(|to| *to != old.name()) {
            Some(to) => rename_entry(catalog, tables, old.name(), to),
            None => Ok(()),
        }
    })
}

fn commit_copy(
    state: &ServerState,
    tables: &LockedTables,
    old: &LockedTable,
    copy: CopiedTable<'_>,
    rename: Option<&QualifiedName>,
) -> SqlResult<()> {
    timed_change(state, |catalog| {
        catalog.replace_by_copy(old, copy.reserved()?, (**copy.table()).clone(), tables)?;
        match rename.filter(|to| *to != old.name()) {
            Some(to) => rename_entry(catalog, tables, old.name(), to),
            None => Ok(()),
        }
    })?;
    copy.keep();
    Ok(())
}

fn set_auto_increment(state: &ServerState, alteration: &Alteration) -> SqlResult<()> {
    let Some(next) = alteration.auto_increment else { return Ok(()) };
    let table = state.store.table(&Arc::new(alteration.table.clone()))?;
    // Never below what is in use.
    let used = crate::copy::greatest_auto_increment(&*state.store, &table)?;
    state.store.set_auto_increment(&table, next.max(used.saturating_add(1)))
}
