//! FOREIGN KEY constraints: checked row by row, after each row is written.
//!
//! Both ends read the newest rows, not those of the transaction's snapshot. A transaction that writes a child first takes a shared lock
//! of its parent and keeps it. A transaction that deletes a parent, or changes its key, has its exclusive lock before it looks for
//! children. So the second of the two sees the change of the first, or waits for it. The tables at both ends are locked with their
//! definitions in the statement's catalog. If one has been redefined since, the statement ends (1412) and begins again with the current
//! catalog.

use super::DmlContext;
use super::references::Child;
use super::rules::Referencing;
use super::target::{RowMaker, Target};
use squall_catalog::{Catalog, ForeignKey, IndexId, ReferentialAction, TableDef, TableId};
use squall_executor::access::key::storage_range;
use squall_executor::access::path::{IndexHints, choose};
use squall_executor::access::predicate::{CompareOp, Predicate};
use squall_executor::env::StatementEnv;
use squall_row_store::{
    Direction, KeyRange, LockMode, LockRequest, LockedRow, ReadView, Row, StoreResult, Table, TableLock, TableStore,
};
use squall_types::temporal::TimeZone;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value, collation};
use std::ops::ControlFlow;
use std::sync::Arc;

/// How deep actions may cascade.
const DEPTH_MAX: usize = 15;

/// The cause of a row's change: the statement itself, or the change of another row that a foreign key answers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cause<'c> {
    /// The actions between the statement and the row.
    depth: usize,
    /// The table whose row has been updated last on the way.
    updated: Option<TableId>,
    before: Option<&'c Cause<'c>>,
}

impl Cause<'_> {
    /// The statement.
    pub const STATEMENT: Cause<'static> = Cause { depth: 0, updated: None, before: None };

    /// One more action, because of a row of a table that has been deleted, or updated.
    fn action<'n>(&'n self, table: TableId, updates: bool) -> Cause<'n> {
        Cause { depth: self.depth + 1, updated: updates.then_some(table), before: Some(self) }
    }

    /// Whether rows of a table have been updated on the way.
    fn has_updated(&self, table: TableId) -> bool {
        self.updated == Some(table) || self.before.is_some_and(|before| before.has_updated(table))
    }

    fn check_depth(&self) -> SqlResult<()> {
        if self.depth <= DEPTH_MAX {
            return Ok(());
        }
        Err(SqlError::new(ErrorCode::ForeignKeyDepthExceeded, &[&DEPTH_MAX]))
    }
}

// ---- rows ----

/// Writes a row's new values with all checks, and does what foreign keys to it ask for; tells whether anything changed.
pub(super) fn update_row_as(
    context: &mut DmlContext<'_>,
    target: &Target,
    row: &Row,
    (old, updated): (&[Value], &[Value]),
    strict: bool,
    cause: &Cause<'_>,
) -> StoreResult<bool> {
    if updated == old {
        return Ok(false);
    }
    RowMaker::of_update(context, target, strict).check(updated)?;
    let stored = target.stored_row(updated, &context.env.context.settings.time_zone);
    context.transaction.update(&target.table, row, &stored)?;
    if context.options.foreign_key_checks {
        check_parents(context, target, updated, Some(old))?;
        if let Some(children) = context.children(target)? {
            parent_updated(context, target, &children, (old, updated), cause)?;
        }
    }
    Ok(true)
}

/// Deletes a row, and does what foreign keys to it ask for.
pub(super) fn delete_row_as(
    context: &mut DmlContext<'_>,
    target: &Target,
    row: &Row,
    cause: &Cause<'_>,
) -> StoreResult<()> {
    context.transaction.delete(&target.table, row)?;
    let Some(children) = context.children(target)? else { return Ok(()) };
    let old = target.read_row(row, &context.env.context.settings.time_zone)?;
    parent_deleted(context, target, &children, &old, cause)
}

// ---- parents ----

/// Checks that the parents of a row that has been written exist, and keeps them. For an update only keys that changed are looked at.
pub fn check_parents(
    context: &mut DmlContext<'_>,
    target: &Target,
    row: &[Value],
    old: Option<&[Value]>,
) -> StoreResult<()> {
    let def = target.def().clone();
    for Referencing { key, columns: own, .. } in &target.rules.referencing {
        let Some(values) = referring_values(own, row, old) else { continue };
        let catalog = context.env.catalog.clone();
        let mut found = false;
        if let Some((parent, columns)) = parent_of(&catalog, &target.database, &def, key) {
            for_each_row(context, parent, &columns, &values, LockMode::Shared, &mut |_, _, _| {
                found = true;
                Ok(ControlFlow::Break(()))
            })?;
        }
        if !found {
            return Err(no_parent(context.env, &target.database, &def, key).into());
        }
    }
    Ok(())
}

/// Checks that a view has the parents of a row by some keys of its table. For tables that no other session changes meanwhile. `own`
/// is where rows of the table itself are found.
pub fn check_parents_in(
    env: &StatementEnv,
    view: &ReadView,
    target: &Target,
    own: &Arc<TableDef>,
    keys: &[ForeignKey],
    row: &[Value],
) -> SqlResult<()> {
    let def = target.def();
    for key in keys {
        let Some(own_columns) = key.ordinals(def) else { continue };
        let Some(values) = referring_values(&own_columns, row, None) else { continue };
        let found = match parent_of(&env.catalog, &target.database, own, key) {
            Some((parent, columns)) => {
                let rows =
                    KeyedRows::new(&*env.store, view, parent, &columns, &values, &env.context.settings.time_zone)?;
                rows.is_any_in(view)?
            }
            None => false,
        };
        if !found {
            return Err(no_parent(env, &target.database, def, key));
        }
    }
    Ok(())
}

/// The values by which a row refers to its parent; `None` if it refers to none, or to the one that it did before.
fn referring_values(columns: &[usize], row: &[Value], old: Option<&[Value]>) -> Option<Vec<Value>> {
    let is_same = |old: &[Value]| columns.iter().all(|column| old[*column] == row[*column]);
    if old.is_some_and(is_same) || columns.iter().any(|column| row[*column].is_null()) {
        return None;
    }
    Some(columns.iter().map(|column| row[*column].clone()).collect())
}

/// The table that a key of a table refers to, and the columns there.
fn parent_of<'c>(
    catalog: &'c Catalog,
    database: &str,
    def: &'c Arc<TableDef>,
    key: &ForeignKey,
) -> Option<(&'c Arc<TableDef>, Vec<usize>)> {
    // A table that is being made is not in the catalog.
    let parent = if key.refers_to(database, &def.name) { def } else { catalog.parent_of(key)? };
    Some((parent, key.parent_columns.ordinals(parent)?))
}

// ---- children ----

/// Does the actions of foreign keys for the children of a deleted row.
pub fn parent_deleted(
    context: &mut DmlContext<'_>,
    target: &Target,
    children: &[Child],
    old: &[Value],
    cause: &Cause<'_>,
) -> StoreResult<()> {
    let cause = &cause.action(target.def().id, false);
    for child in children {
        let Some(values) = child.values_in(old) else { continue };
        match child.key.on_delete {
            ReferentialAction::Restrict | ReferentialAction::NoAction => child.refuse(context, &values)?,
            ReferentialAction::Cascade => child.for_each(context, &values, &mut |context, child_target, row| {
                cause.check_depth()?;
                delete_row_as(context, child_target, &row, cause)
            })?,
            ReferentialAction::SetNull => child.set_keys(context, &values, None, cause)?,
        }
    }
    Ok(())
}

/// Does the actions of foreign keys for the children of a row whose referenced columns have changed.
pub fn parent_updated(
    context: &mut DmlContext<'_>,
    target: &Target,
    children: &[Child],
    (old, new): (&[Value], &[Value]),
    cause: &Cause<'_>,
) -> StoreResult<()> {
    let cause = &cause.action(target.def().id, true);
    for child in children {
        if child.parent_columns.iter().all(|column| old[*column] == new[*column]) {
            continue;
        }
        let Some(values) = child.values_in(old) else { continue };
        match child.key.on_update {
            ReferentialAction::Restrict | ReferentialAction::NoAction => child.refuse(context, &values)?,
            ReferentialAction::SetNull => child.set_keys(context, &values, None, cause)?,
            ReferentialAction::Cascade => {
                let new: Vec<Value> = child.parent_columns.iter().map(|column| new[*column].clone()).collect();
                child.set_keys(context, &values, Some(&new), cause)?;
            }
        }
    }
    Ok(())
}

impl Child {
    /// The values that refer to a parent row; `None` if none can.
    fn values_in(&self, parent: &[Value]) -> Option<Vec<Value>> {
        let values: Vec<Value> = self.parent_columns.iter().map(|column| parent[*column].clone()).collect();
        (!values.iter().any(Value::is_null)).then_some(values)
    }

    /// Fails if there is a child.
    fn refuse(&self, context: &mut DmlContext<'_>, values: &[Value]) -> StoreResult<()> {
        for_each_row(context, &self.def, &self.columns, values, LockMode::Shared, &mut |context, _, _| {
            if !may_be_named(context.env, &self.database, &self.def.name) {
                return Err(SqlError::new(ErrorCode::RowIsReferenced, &[]).into());
            }
            let text = constraint_text(&context.env.catalog, &self.database, &self.def, &self.key);
            Err(SqlError::new(ErrorCode::RowIsReferenced2, &[&text]).into())
        })
    }

    /// Calls `change` for each child, locked to be changed.
    fn for_each(
        &self,
        context: &mut DmlContext<'_>,
        values: &[Value],
        change: &mut dyn FnMut(&mut DmlContext<'_>, &Target, Row) -> StoreResult<()>,
    ) -> StoreResult<()> {
        let mut target: Option<Target> = None;
        for_each_row(context, &self.def, &self.columns, values, LockMode::Exclusive, &mut |context, table, row| {
            if target.is_none() {
                target = Some(Target {
                    database: self.database.clone(),
                    alias: self.def.name.as_str().into(),
                    table: table.clone(),
                    rules: context.rules.get(context.registry, &context.env.catalog, &self.database, &self.def)?,
                    view: None,
                    triggers: None,
                });
            }
            if let Some(target) = &target {
                change(context, target, row)?;
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Sets the key of each child to its parent's new values, or to NULL.
    fn set_keys(
        &self,
        context: &mut DmlContext<'_>,
        values: &[Value],
        new: Option<&[Value]>,
        cause: &Cause<'_>,
    ) -> StoreResult<()> {
        // Updates that come back to a table which they began with would have no end.
        if cause.has_updated(self.def.id) {
            return self.refuse(context, values);
        }
        self.for_each(context, values, &mut |context, target, row| {
            cause.check_depth()?;
            let old = target.read_row(&row, &context.env.context.settings.time_zone)?;
            let mut updated = old.clone();
            for (at, column) in self.columns.iter().enumerate() {
                updated[*column] = new.and_then(|values| values.get(at).cloned()).unwrap_or(Value::Null);
            }
            let (env, parameters) = (context.env, context.parameters);
            let maker = RowMaker { target, env, parameters, strict: true, null_becomes_zero: false, null_waits: false };
            maker.generate(&mut updated, 1)?;
            update_row_as(context, target, &row, (&old, &updated), true, cause).map(|_| ())
        })
    }
}

// ---- look-ups ----

/// The rows of a table that have certain values in certain columns.
struct KeyedRows {
    table: Arc<Table>,
    columns: Vec<usize>,
    /// As they are stored.
    values: Vec<Value>,
    ranges: Vec<KeyRange>,
}

impl KeyedRows {
    fn new(
        store: &dyn TableStore,
        view: &ReadView,
        def: &Arc<TableDef>,
        columns: &[usize],
        values: &[Value],
        zone: &TimeZone,
    ) -> SqlResult<KeyedRows> {
        let table = store.table(def)?;
        let stored = |(column, value): (&usize, &Value)| match (&def.columns[*column].sql_type, value) {
            (SqlType::Timestamp { .. }, Value::DateTime(at)) => Value::DateTime(zone.to_utc(*at).unwrap_or(*at)),
            _ => value.clone(),
        };
        let values: Vec<Value> = columns.iter().zip(values).map(stored).collect();
        let equal = columns.iter().zip(&values).map(|(column, value)| Predicate::Compare {
            column: *column,
            op: CompareOp::Equal,
            value: value.clone(),
        });
        let all: Vec<usize> = (0..def.columns.len()).collect();
        let path = choose(store, view, &table, &Predicate::and(equal), &all, &IndexHints::default(), 0.0)?;
        let index: IndexId = path.index_id;
        let encoded = path.encoded_ranges();
        let ranges = encoded.iter().map(|range| storage_range(&table, index, range)).collect::<SqlResult<_>>()?;
        Ok(KeyedRows { table, columns: columns.to_vec(), values, ranges })
    }

    /// Whether a row, which a range has led to, has the values by the columns' collations.
    fn has(&self, row: &Row) -> SqlResult<bool> {
        let view = row.view(&self.table);
        for (column, value) in self.columns.iter().zip(&self.values) {
            let found = view.get_value(*column)?;
            let equal = match (self.table.def().columns[*column].sql_type.collation(), &found, value) {
                (Some(collation), Value::String(a), Value::String(b)) => collation::eq(collation, a, b),
                _ => found == *value,
            };
            if !equal {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a view sees one.
    fn is_any_in(&self, view: &ReadView) -> SqlResult<bool> {
        for range in &self.ranges {
            let mut rows = view.scan(&self.table, range, Direction::Forward);
            while let Some(row) = rows.next_row()? {
                if self.has(&row)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// The action on a row that a look-up finds; tells whether to go on.
type Visit<'v> = dyn FnMut(&mut DmlContext<'_>, &Arc<Table>, Row) -> StoreResult<ControlFlow<()>> + 'v;

/// Calls `visit` for the newest rows of a table with these values, each locked to the end of the transaction. What is written
/// meanwhile is not met.
fn for_each_row(
    context: &mut DmlContext<'_>,
    def: &Arc<TableDef>,
    columns: &[usize],
    values: &[Value],
    mode: LockMode,
    visit: &mut Visit<'_>,
) -> StoreResult<()> {
    let request = LockRequest { mode, wait: context.options.lock_wait };
    let table = context.env.store.table(def)?;
    context.transaction.lock_table(&table, TableLock::Read, request.wait)?;
    if table.is_outdated() {
        return Err(SqlError::new(ErrorCode::DoesNotSupportSchemaChange, &[]).into());
    }
    let view = context.transaction.newest_view();
    let env = context.env;
    let rows = KeyedRows::new(&*env.store, &view, def, columns, values, &env.context.settings.time_zone)?;
    for range in &rows.ranges {
        let mut scan = context.transaction.scan_newest(&view, &table, range, request);
        while let Some(LockedRow { row, .. }) = scan.next(context.transaction)? {
            context.env.context.kill.check()?;
            if rows.has(&row)? && visit(context, &table, row)?.is_break() {
                return Ok(());
            }
        }
    }
    Ok(())
}

// ---- errors ----

fn no_parent(env: &StatementEnv, database: &str, def: &TableDef, key: &ForeignKey) -> SqlError {
    if !may_be_named(env, &key.parent_database, &key.parent_table) {
        return SqlError::new(ErrorCode::NoReferencedRow, &[]);
    }
    SqlError::new(ErrorCode::NoReferencedRow2, &[&constraint_text(&env.catalog, database, def, key)])
}

/// Whether the table at the other end of a key may be named to the account that runs the statement.
fn may_be_named(env: &StatementEnv, database: &str, table: &str) -> bool {
    env.context.nested.as_ref().is_none_or(|session| session.sees_table(database, table))
}

fn constraint_text(catalog: &Catalog, database: &str, def: &TableDef, key: &ForeignKey) -> String {
    let quoted = |names: Vec<&str>| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let columns = key.ordinals(def).unwrap_or_default();
    let columns = columns.into_iter().map(|ordinal| def.columns[ordinal].name.as_str()).collect();
    let referenced = match key.refers_to(database, &def.name) {
        true => Some(def),
        false => catalog.parent_of(key).map(|parent| &**parent),
    };
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
        quoted(key.parent_columns.names(referenced)),
        action("DELETE", key.on_delete),
        action("UPDATE", key.on_update),
    )
}
