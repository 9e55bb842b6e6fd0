//! FOREIGN KEY constraints: checked row by row, as each row is written.

use super::DmlContext;
use super::change::{delete_row, update_row};
use super::rules::TableRules;
use super::target::Target;
use crate::access::key::storage_range;
use crate::access::path::{IndexHints, choose};
use crate::access::predicate::{CompareOp, Predicate};
use squall_catalog::{Catalog, Database, ForeignKey, ReferentialAction, TableDef, TableEntry};
use squall_row_store::{Direction, LockMode, LockRequest, Row, StoreResult};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;

/// How deep actions may cascade.
const DEPTH_MAX: usize = 15;

/// Checks that the parents of a row exist. For an update only keys that changed are looked at.
pub fn check_parents(
    context: &mut DmlContext<'_>,
    target: &Target,
    row: &[Value],
    old: Option<&[Value]>,
) -> StoreResult<()> {
    let def = target.def().clone();
    for key in &def.foreign_keys {
        let Some(columns) = ordinals(&def, key) else { continue };
        let changed = old.is_none_or(|old| columns.iter().any(|column| old[*column] != row[*column]));
        if !changed || columns.iter().any(|column| row[*column].is_null()) {
            continue;
        }
        let catalog = context.env.catalog.clone();
        let violated = || {
            let text = constraint_text(&target.database, &def, key);
            SqlError::new(ErrorCode::NoReferencedRow2, &[&text])
        };
        let parent = catalog.table(&key.parent_database, &key.parent_table).ok_or_else(violated)?;
        let parent_columns = key
            .parent_columns
            .iter()
            .map(|name| parent.column(name).map(|(ordinal, _)| ordinal))
            .collect::<Option<Vec<_>>>()
            .ok_or_else(violated)?;
        let values: Vec<Value> = columns.iter().map(|column| row[*column].clone()).collect();
        // A row may be its own parent.
        if parent.id == def.id
            && parent_columns.iter().zip(&values).all(|(column, value)| row.get(*column) == Some(value))
        {
            continue;
        }
        if rows_with(context, parent, &parent_columns, &values, LockMode::Shared, true)?.is_empty() {
            return Err(violated().into());
        }
    }
    Ok(())
}

/// Does what the children of a row that is deleted demand.
pub fn parent_deleted(context: &mut DmlContext<'_>, target: &Target, old: &[Value], depth: usize) -> StoreResult<()> {
    for child in children(&context.env.catalog.clone(), &target.database, target.def()) {
        let Some((columns, values)) = child.key_of(target.def(), old) else { continue };
        match child.key.on_delete {
            ReferentialAction::Restrict | ReferentialAction::NoAction => {
                restrict(context, &child, &columns, &values, old)?;
            }
            ReferentialAction::Cascade => {
                for (child_target, row) in child.rows(context, &columns, &values, depth)? {
                    cascade_delete(context, &child_target, &row, depth + 1)?;
                }
            }
            ReferentialAction::SetNull => {
                for (child_target, row) in child.rows(context, &columns, &values, depth)? {
                    set_key(context, &child_target, &row, &columns, None)?;
                }
            }
        }
    }
    Ok(())
}

/// Whether foreign keys of any table lead to this one.
pub fn has_children(context: &DmlContext<'_>, target: &Target) -> bool {
    !children(&context.env.catalog, &target.database, target.def()).is_empty()
}

/// Does what the children of a row demand whose referenced columns change.
pub fn parent_updated(
    context: &mut DmlContext<'_>,
    target: &Target,
    old: &[Value],
    new: &[Value],
    depth: usize,
) -> StoreResult<()> {
    for child in children(&context.env.catalog.clone(), &target.database, target.def()) {
        let Some((columns, values)) = child.key_of(target.def(), old) else { continue };
        let Some(parent_columns) = child.parent_columns(target.def()) else { continue };
        if parent_columns.iter().all(|column| old[*column] == new[*column]) {
            continue;
        }
        match child.key.on_update {
            ReferentialAction::Restrict | ReferentialAction::NoAction => {
                restrict(context, &child, &columns, &values, old)?;
            }
            action => {
                let new_values: Vec<Value> = parent_columns.iter().map(|column| new[*column].clone()).collect();
                let new_values = (action == ReferentialAction::Cascade).then_some(new_values);
                for (child_target, row) in child.rows(context, &columns, &values, depth)? {
                    set_key(context, &child_target, &row, &columns, new_values.as_deref())?;
                }
            }
        }
    }
    Ok(())
}

fn cascade_delete(context: &mut DmlContext<'_>, target: &Target, row: &Row, depth: usize) -> StoreResult<()> {
    let request = context.write_lock();
    // A row that two ways of cascading lead to is gone the second time.
    let Some(row) = context.transaction.get_locked(&target.table, row.key_bytes(), request)? else { return Ok(()) };
    let old = target.read_row(&row, &context.env.context.time_zone)?;
    parent_deleted(context, target, &old, depth)?;
    let checks = std::mem::replace(&mut context.options.foreign_key_checks, false);
    let deleted = delete_row(context, target, &row);
    context.options.foreign_key_checks = checks;
    deleted
}

/// Sets the key of a child row to its parent's new values, or to NULL.
fn set_key(
    context: &mut DmlContext<'_>,
    target: &Target,
    row: &Row,
    columns: &[usize],
    values: Option<&[Value]>,
) -> StoreResult<()> {
    let request = context.write_lock();
    let Some(row) = context.transaction.get_locked(&target.table, row.key_bytes(), request)? else { return Ok(()) };
    let old = target.read_row(&row, &context.env.context.time_zone)?;
    let mut updated = old.clone();
    for (at, column) in columns.iter().enumerate() {
        updated[*column] = values.and_then(|values| values.get(at).cloned()).unwrap_or(Value::Null);
    }
    // The parent's new row is not written yet, so the child's own check would not find it.
    let checks = std::mem::replace(&mut context.options.foreign_key_checks, false);
    let result = update_row(context, target, &row, &old, &updated, true);
    context.options.foreign_key_checks = checks;
    result?;
    if context.options.foreign_key_checks {
        parent_updated(context, target, &old, &updated, 1)?;
    }
    Ok(())
}

fn restrict(
    context: &mut DmlContext<'_>,
    child: &Child,
    columns: &[usize],
    values: &[Value],
    parent_row: &[Value],
) -> StoreResult<()> {
    let found = rows_with(context, &child.def, columns, values, LockMode::Shared, false)?;
    // A row that is its own parent stands in nobody's way.
    let own = |row: &Row| -> SqlResult<bool> {
        let table = context.env.store.table(&child.def)?;
        let values = row.values(&table)?;
        Ok(child.is_self && values == parent_row)
    };
    for row in &found {
        if !own(row)? {
            let text = constraint_text(&child.database, &child.def, &child.key);
            return Err(SqlError::new(ErrorCode::RowIsReferenced2, &[&text]).into());
        }
    }
    Ok(())
}

/// A constraint that refers to a table.
struct Child {
    database: Arc<str>,
    def: Arc<TableDef>,
    key: ForeignKey,
    is_self: bool,
}

impl Child {
    fn parent_columns(&self, parent: &TableDef) -> Option<Vec<usize>> {
        self.key.parent_columns.iter().map(|name| parent.column(name).map(|(ordinal, _)| ordinal)).collect()
    }

    /// The child's columns and the values that refer to a parent row; `None` if none can.
    fn key_of(&self, parent: &TableDef, row: &[Value]) -> Option<(Vec<usize>, Vec<Value>)> {
        let values: Vec<Value> = self.parent_columns(parent)?.into_iter().map(|column| row[column].clone()).collect();
        if values.iter().any(Value::is_null) {
            return None;
        }
        Some((ordinals(&self.def, &self.key)?, values))
    }

    fn rows(
        &self,
        context: &mut DmlContext<'_>,
        columns: &[usize],
        values: &[Value],
        depth: usize,
    ) -> StoreResult<Vec<(Target, Row)>> {
        if depth >= DEPTH_MAX {
            return Err(SqlError::with_message(
                ErrorCode::RowIsReferenced2,
                format!("Foreign key cascade delete/update exceeds max depth of {DEPTH_MAX}."),
            )
            .into());
        }
        let rows = rows_with(context, &self.def, columns, values, LockMode::Exclusive, false)?;
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let target = Target {
            database: self.database.clone(),
            alias: self.def.name.as_str().into(),
            table: context.env.store.table(&self.def)?,
            rules: self.rules(context)?,
            view: None,
        };
        Ok(rows.into_iter().map(|row| (target.clone(), row)).collect())
    }

    fn rules(&self, context: &DmlContext<'_>) -> SqlResult<Arc<TableRules>> {
        context.rules.get(context.registry, &self.database, &self.def)
    }
}

/// Constraints of other tables, and the table's own, that refer to a table.
fn children(catalog: &Catalog, database: &str, parent: &TableDef) -> Vec<Child> {
    let refers = |key: &&ForeignKey| key.parent_database == database && key.parent_table == parent.name;
    let of_table = |owner: &Arc<Database>, entry: &TableEntry| -> Vec<Child> {
        let TableEntry::Table(def) = entry else { return Vec::new() };
        def.foreign_keys
            .iter()
            .filter(refers)
            .map(|key| Child {
                database: owner.name.as_str().into(),
                def: def.clone(),
                key: key.clone(),
                is_self: def.id == parent.id,
            })
            .collect()
    };
    catalog
        .databases
        .values()
        .flat_map(|owner| owner.tables.values().flat_map(move |entry| of_table(owner, entry)))
        .collect()
}

fn ordinals(def: &TableDef, key: &ForeignKey) -> Option<Vec<usize>> {
    key.columns.iter().map(|column| def.ordinal(*column)).collect()
}

/// Rows of a table with these values, locked; `first` stops at the first one.
fn rows_with(
    context: &mut DmlContext<'_>,
    def: &Arc<TableDef>,
    columns: &[usize],
    values: &[Value],
    mode: LockMode,
    first: bool,
) -> StoreResult<Vec<Row>> {
    let table = context.env.store.table(def)?;
    let stored: Vec<Value> = columns
        .iter()
        .zip(values)
        .map(|(column, value)| match (&def.columns[*column].sql_type, value) {
            (squall_types::SqlType::Timestamp { .. }, Value::DateTime(moment)) => {
                Value::DateTime(context.env.context.time_zone.to_utc(*moment).unwrap_or(*moment))
            }
            _ => value.clone(),
        })
        .collect();
    let predicate = Predicate::and(columns.iter().zip(&stored).map(|(column, value)| Predicate::Compare {
        column: *column,
        op: CompareOp::Equal,
        value: value.clone(),
    }));
    let all: Vec<usize> = (0..def.columns.len()).collect();
    let view = context.transaction.change_view();
    let path = choose(&context.env.store, &view, &table, &predicate, &all, &IndexHints::default())?;
    let request = LockRequest { mode, wait: context.options.lock_wait };
    let mut found = Vec::new();
    for range in path.encoded_ranges() {
        let range = storage_range(&table, path.index_id, &range)?;
        let mut rows = context.transaction.scan_locked(&table, &range, Direction::Forward, request);
        while let Some(row) = rows.next(context.transaction)? {
            context.env.context.kill.check()?;
            let view = row.view(&table);
            let mut equal = true;
            for (column, value) in columns.iter().zip(&stored) {
                equal &= same_key(&def.columns[*column].sql_type, &view.get_value(*column)?, value);
            }
            if !equal {
                context.transaction.unlock_last(&row.key());
                continue;
            }
            found.push(row);
            if first {
                return Ok(found);
            }
        }
    }
    Ok(found)
}

/// Whether two values of a key column are equal by the column's collation.
fn same_key(sql_type: &squall_types::SqlType, a: &Value, b: &Value) -> bool {
    match (sql_type.collation(), a, b) {
        (Some(collation), Value::String(a), Value::String(b)) => squall_types::collation::eq(collation, a, b),
        _ => a == b,
    }
}

fn constraint_text(database: &str, def: &TableDef, key: &ForeignKey) -> String {
    let quoted = |names: Vec<&str>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let columns = key
        .columns
        .iter()
        .filter_map(|column| def.ordinal(*column))
        .map(|ordinal| def.columns[ordinal].name.as_str())
        .collect();
    let action = |clause: &str, action: ReferentialAction| match action {
        ReferentialAction::Cascade => format!(" ON {clause} CASCADE"),
        ReferentialAction::SetNull => format!(" ON {clause} SET NULL"),
        ReferentialAction::Restrict => format!(" ON {clause} RESTRICT"),
        ReferentialAction::NoAction => String::new(),
    };
    let parent = if key.parent_database == database {
        format!("`{}`", key.parent_table)
    } else {
        format!("`{}`.`{}`", key.parent_database, key.parent_table)
    };
    format!(
        "`{database}`.`{}`, CONSTRAINT `{}` FOREIGN KEY ({}) REFERENCES {parent} ({}){}{}",
        def.name,
        key.name,
        quoted(columns),
        quoted(key.parent_columns.iter().map(String::as_str).collect()),
        action("DELETE", key.on_delete),
        action("UPDATE", key.on_update),
    )
}
