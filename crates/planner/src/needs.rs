//! The privileges that a bound statement needs: each table and column that it uses, and the account that uses it.

use crate::bind::{BoundQuery, TableUse, columns_read};
use crate::dml::DmlPlan;
use crate::dml::plan::{ColumnAssignment, InsertPlan, InsertRows, NewValue, OnDuplicate, Returned};
use crate::dml::target::Target;
use crate::point::PointSelect;
use crate::rowwise::RowPlan;
use squall_catalog::{Invoker, LockedNames, Need, Needed, Object, Privileges, TableDef, Touches};
use squall_executor::access::is_row_key_column;
use squall_functions::expr::BoundExpr;
use squall_parser::ParseOptions;
use squall_parser::ast::{Expr, LockStrength};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;

/// The privileges of which FOR UPDATE needs one, beside SELECT.
const TO_LOCK: Privileges = Privileges::UPDATE.union(Privileges::DELETE).union(Privileges::LOCK_TABLES);

/// The needs of a query.
pub fn of_query(query: &BoundQuery) -> Vec<Need> {
    of_tables(&query.tables)
}

/// The further needs of EXPLAIN, because it shows the inside of views: the account that asks has to see it, not only the definer.
pub fn of_shown_views(query: &BoundQuery) -> Vec<Need> {
    let views = query.tables.iter().filter(|table| table.view.is_some());
    let shown = views.map(|view| {
        let object = Object::Table(view.database.clone(), view.name.clone());
        Need::new(object, Privileges::SHOW_VIEW, "SHOW VIEW")
    });
    let inside = query.tables.iter().filter(|table| table.inside_view.is_some());
    let inside: Vec<TableUse> =
        inside.map(|table| TableUse { invoker: Invoker::Session, inside_view: None, ..table.clone() }).collect();
    shown.chain(of_tables(&inside)).collect()
}

/// The needs of reading columns of one table.
fn of_columns(database: &Arc<str>, table: &TableDef, columns: &[usize]) -> Option<Need> {
    let object = object_of(database, &table.name.as_str().into(), Some(table), columns, |_| None);
    (!table.temporary).then(|| Need::new(object, Privileges::SELECT, "SELECT"))
}

/// The needs of an expression over the row of a changed table.
pub fn of_expr(target: &Target, expr: &BoundExpr) -> Vec<Need> {
    let mut needs = Vec::new();
    reads_of_target(target, std::iter::once(expr), &mut needs);
    needs
}

impl Touches for BoundQuery {
    fn needs(&self) -> Vec<Need> {
        of_tables(&self.tables)
    }

    fn check_locks(&self, locked: &LockedNames) -> SqlResult<()> {
        let tables = self.tables.iter().filter(|table| table.inside_view.is_none());
        for table in tables {
            if table.definition.as_ref().is_some_and(|definition| !definition.temporary) {
                locked.check_used((&table.database, &table.name), &table.alias, false)?;
            }
        }
        Ok(())
    }
}

impl Touches for DmlPlan {
    fn needs(&self) -> Vec<Need> {
        let mut needs = Vec::new();
        match self {
            DmlPlan::Insert(insert) => push_insert(insert, &mut needs),
            DmlPlan::Update(update) => {
                let assigned: Vec<usize> = update.assignments.iter().map(|assignment| assignment.column).collect();
                columns_of_target(&update.target, &assigned, Privileges::UPDATE, "UPDATE", &mut needs);
                let values = update.assignments.iter().filter_map(|assignment| value_of(&assignment.value));
                reads_of_target(&update.target, values.chain(update.selection.exprs()), &mut needs);
            }
            DmlPlan::Delete(delete) => {
                whole_target(&delete.target, Privileges::DELETE, "DELETE", &mut needs);
                reads_of_target(&delete.target, delete.selection.exprs(), &mut needs);
                returned(&delete.target, &delete.returning, &mut needs);
            }
            DmlPlan::ByQuery(change) => {
                for table in &change.changes {
                    if change.delete {
                        whole_target(&table.target, Privileges::DELETE, "DELETE", &mut needs);
                    } else {
                        let assigned: Vec<usize> = table.values.iter().map(|(column, _)| *column).collect();
                        columns_of_target(&table.target, &assigned, Privileges::UPDATE, "UPDATE", &mut needs);
                    }
                }
                needs.extend(of_tables(&change.query.tables));
            }
        }
        needs
    }

    fn check_locks(&self, locked: &LockedNames) -> SqlResult<()> {
        match self {
            DmlPlan::Insert(insert) => insert.check_locks(locked),
            DmlPlan::ByQuery(change) => {
                change.changes.iter().try_for_each(|change| check_written(locked, &change.target))?;
                change.query.check_locks(locked)
            }
            DmlPlan::Update(update) => check_written(locked, &update.target),
            DmlPlan::Delete(delete) => check_written(locked, &delete.target),
        }
    }
}

impl Touches for InsertPlan {
    fn needs(&self) -> Vec<Need> {
        let mut needs = Vec::new();
        push_insert(self, &mut needs);
        needs
    }

    fn check_locks(&self, locked: &LockedNames) -> SqlResult<()> {
        check_written(locked, &self.target)?;
        let Some(query) = self.query() else { return Ok(()) };
        // A name is locked once: the query has to call the table by another.
        let is_target = |table: &TableUse| {
            table.inside_view.is_none()
                && table.alias == self.target.alias
                && table.definition.as_ref().is_some_and(|definition| definition.id == self.target.def().id)
        };
        if query.tables.iter().any(is_target) && !self.target.def().temporary {
            return Err(SqlError::new(ErrorCode::TableNotLocked, &[&self.target.alias]));
        }
        query.check_locks(locked)
    }
}

impl Touches for PointSelect {
    fn needs(&self) -> Vec<Need> {
        of_columns(self.database(), self.table().def(), &self.columns_read()).into_iter().collect()
    }
}

impl Touches for RowPlan {
    fn needs(&self) -> Vec<Need> {
        self.reads().filter_map(|(database, table, columns)| of_columns(database, table, columns)).collect()
    }
}

/// Whether LOCK TABLES has locked what a statement calls its table for writing.
fn check_written(locked: &LockedNames, target: &Target) -> SqlResult<()> {
    match &target.view {
        _ if target.def().temporary => Ok(()),
        Some(view) => locked.check_used((&view.database, &view.name), &target.alias, true),
        None => locked.check_used((&target.database, &target.def().name), &target.alias, true),
    }
}

fn push_insert(insert: &InsertPlan, needs: &mut Vec<Need>) {
    let target = &insert.target;
    let command = if matches!(insert.on_duplicate, OnDuplicate::Replace) { "REPLACE" } else { "INSERT" };
    columns_of_target(target, &insert.columns, Privileges::INSERT, command, needs);
    match &insert.on_duplicate {
        OnDuplicate::Fail => {}
        OnDuplicate::Replace => whole_target(target, Privileges::DELETE, command, needs),
        OnDuplicate::Update(assignments) => {
            let assigned: Vec<usize> = assignments.iter().map(|assignment| assignment.column).collect();
            columns_of_target(target, &assigned, Privileges::UPDATE, "UPDATE", needs);
            reads_of_target(target, values(assignments), needs);
        }
    }
    match &insert.source {
        InsertRows::Values(rows) => reads_of_target(target, rows.values().filter_map(value_of), needs),
        InsertRows::Query(query) => needs.extend(query.needs()),
    }
    returned(target, &insert.returning, needs);
}

fn values(assignments: &[ColumnAssignment]) -> impl Iterator<Item = &BoundExpr> {
    assignments.iter().filter_map(|assignment| value_of(&assignment.value))
}

fn value_of(value: &NewValue) -> Option<&BoundExpr> {
    match value {
        NewValue::Expr(expr) => Some(expr),
        NewValue::Default => None,
    }
}

fn returned(target: &Target, columns: &[Returned], needs: &mut Vec<Need>) {
    reads_of_target(target, columns.iter().map(|column| &column.expr), needs);
    // A constant of each row tells how many there are.
    if !columns.is_empty() {
        columns_of_target(target, &[], Privileges::SELECT, "SELECT", needs);
    }
}

/// SELECT of the columns that expressions read of the target's row. What is beyond its columns is the row to be inserted.
fn reads_of_target<'e>(target: &Target, exprs: impl Iterator<Item = &'e BoundExpr>, needs: &mut Vec<Need>) {
    let width = target.def().columns.len();
    let mut read: Vec<usize> = Vec::new();
    for ordinal in exprs.flat_map(columns_read).filter(|ordinal| *ordinal < width) {
        if !read.contains(&ordinal) {
            read.push(ordinal);
        }
    }
    if !read.is_empty() {
        columns_of_target(target, &read, Privileges::SELECT, "SELECT", needs);
    }
}

/// A privilege on columns of the target; for a view on its columns, and then on those of the tables below it.
fn columns_of_target(
    target: &Target,
    columns: &[usize],
    privileges: Privileges,
    command: &'static str,
    needs: &mut Vec<Need>,
) {
    each_level(target, needs, |database, name, of_view| {
        let definition = of_view.is_none().then(|| &**target.def());
        let object = object_of(database, name, definition, columns, |ordinal| {
            of_view?.iter().find(|(_, at)| *at == Some(ordinal)).map(|(name, _)| name.clone())
        });
        // An account that changes a table knows that it is there.
        let object = match object {
            Object::Columns(database, table, columns) => Object::KnownColumns(database, table, columns),
            other => other,
        };
        (object, Needed::All(privileges), command)
    });
}

fn whole_target(target: &Target, privileges: Privileges, command: &'static str, needs: &mut Vec<Need>) {
    each_level(target, needs, |database, name, _| {
        (Object::Table(database.clone(), name.clone()), Needed::All(privileges), command)
    });
}

/// The columns of a view, as [`crate::bind::updatable::ViewLevel`] has them.
type ViewColumns<'a> = Option<&'a [(Arc<str>, Option<usize>)]>;

/// A need for the target, or for each of the views that it is behind and for itself.
fn each_level(
    target: &Target,
    needs: &mut Vec<Need>,
    need: impl Fn(&Arc<str>, &Arc<str>, ViewColumns<'_>) -> (Object, Needed, &'static str),
) {
    if target.def().temporary {
        return;
    }
    let levels = target.view.as_ref().map(|view| view.levels.as_slice()).unwrap_or_default();
    let (mut invoker, mut inside_view) = (Invoker::Session, None);
    for level in levels {
        let (object, needed, command) = need(&level.database, &level.name, Some(&level.columns));
        needs.push(Need { invoker, object, needed, command, inside_view: inside_view.clone() });
        invoker = level.invoker_inside.clone();
        inside_view.get_or_insert_with(|| (level.database.clone(), level.name.clone()));
    }
    let (object, needed, command) = need(&target.database, &target.def().name.as_str().into(), None);
    needs.push(Need { invoker, object, needed, command, inside_view });
}

fn of_tables(tables: &[TableUse]) -> Vec<Need> {
    let mut needs = Vec::with_capacity(tables.len());
    for table in tables {
        let definition = table.definition.as_deref();
        if definition.is_some_and(|definition| definition.temporary) {
            continue;
        }
        let named = |ordinal: usize| match (&table.view, &table.virtual_schema) {
            (Some(view), _) => Some(Arc::from(view.columns.get(ordinal)?.as_str())),
            (None, Some(schema)) => Some(Arc::from(schema.fields().get(ordinal)?.name().as_str())),
            (None, None) => None,
        };
        // A change finds rows by their keys, which are not shown.
        let is_key = |ordinal: &usize| match (definition, &table.view, &table.virtual_schema) {
            (Some(definition), ..) => *ordinal >= definition.columns.len(),
            (None, Some(view), _) => *ordinal >= view.columns.len(),
            (None, None, Some(schema)) => *ordinal >= schema.fields().len(),
            (None, None, None) => false,
        };
        let keys_only = !table.columns.is_empty() && table.columns.iter().all(is_key);
        let need = |object, needed, command| Need {
            invoker: table.invoker.clone(),
            object,
            needed,
            command,
            inside_view: table.inside_view.clone(),
        };
        if !keys_only {
            let object = object_of(&table.database, &table.name, definition, &table.columns, named);
            needs.push(need(object, Needed::All(Privileges::SELECT), "SELECT"));
        }
        if table.lock == Some(LockStrength::Update) && !table.locked_by_change && !keys_only {
            let object = Object::AnyColumn(table.database.clone(), table.name.clone());
            needs.push(need(object, Needed::Any(TO_LOCK), "SELECT with locking clause"));
        }
    }
    needs
}

/// Columns of a table as an object: those that a definition, or a view or a virtual table by `named`, has at these places.
fn object_of(
    database: &Arc<str>,
    name: &Arc<str>,
    definition: Option<&TableDef>,
    columns: &[usize],
    named: impl Fn(usize) -> Option<Arc<str>>,
) -> Object {
    let mut names: Vec<Arc<str>> = Vec::with_capacity(columns.len());
    for ordinal in columns {
        match definition {
            Some(definition) => push_names(definition, *ordinal, &mut names),
            None => names.extend(named(*ordinal).filter(|name| !is_row_key_column(name))),
        }
    }
    match names.is_empty() {
        true => Object::AnyColumn(database.clone(), name.clone()),
        false => Object::Columns(database.clone(), name.clone(), names),
    }
}

/// The names that a column is asked for by: reading the value of an expression reads its columns.
fn push_names(definition: &TableDef, ordinal: usize, names: &mut Vec<Arc<str>>) {
    let Some(column) = definition.columns.get(ordinal) else { return };
    let expression = column.generated.as_ref().filter(|_| column.functional_part().is_some());
    let Some(expression) = expression else {
        names.push(column.name.as_str().into());
        return;
    };
    // The text was printed from a tree, so it parses.
    if let Ok(expr) = squall_parser::parse_expr(&expression.expression, &ParseOptions::default()) {
        expr.visit(&mut |expr| {
            if let Expr::Column(name) = expr {
                names.push(name.column.as_str().into());
            }
        });
    }
}
