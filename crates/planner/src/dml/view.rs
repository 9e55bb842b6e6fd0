//! Changes through views: the statement names a view of one table.

use super::binder::DmlBinder;
use super::target::{Target, TargetView};
use crate::bind::RowTable;
use crate::bind::updatable::updatable;
use squall_catalog::{ColumnDef, ColumnDefault, TableDef, TableEntry};
use squall_parser::ast;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;

/// The name of columns that a view does not show.
const HIDDEN: &str = "\u{0}hidden";

/// The row that a statement changes, by the names that it knows.
pub(super) fn row_of(target: &Target) -> RowTable<'_> {
    let mut row = RowTable::of(&target.database, &target.alias, target.def());
    if let Some(view) = &target.view {
        row.database = Some(&view.database);
        for (ordinal, column) in row.columns.iter_mut().enumerate() {
            let shown = view.columns.iter().find(|(_, at)| *at == Some(ordinal));
            column.name = shown.map_or(HIDDEN, |(name, _)| name);
        }
    }
    row
}

impl DmlBinder<'_> {
    /// The table of that name, or behind the updatable view of that name, as something to be changed.
    pub(super) fn changed(
        &self,
        name: &ast::ObjectName,
        alias: Option<&ast::Ident>,
        statement: &str,
    ) -> SqlResult<Target> {
        let database = name.schema.as_ref().map(ast::Ident::as_str).or(self.binder.default_database);
        let Some(database) = database else { return self.target(name, alias, statement) };
        let temporary = self.binder.tables.temporary_table(database, &name.name).is_some();
        let Some(TableEntry::View(view)) = self.binder.catalog.entry(database, &name.name).filter(|_| !temporary)
        else {
            return self.target(name, alias, statement);
        };
        let Some(shown) = updatable(self.binder.catalog, database, view)? else {
            return self.target(name, alias, statement);
        };
        let alias = alias.unwrap_or(&name.name).as_str();
        let mut checks = Vec::with_capacity(shown.checks.len());
        for check in &shown.checks {
            let mut scope = RowTable::of(&check.database, &check.alias, &shown.table);
            for (column, name) in scope.columns.iter_mut().zip(&check.names) {
                column.name = name.as_deref().unwrap_or(HIDDEN);
            }
            checks.push(self.binder.bind_condition(&check.condition, &[scope])?);
        }
        let target = self.target_of(&shown.database, alias, &shown.table)?;
        let view = TargetView {
            database: database.into(),
            name: view.name.as_str().into(),
            columns: shown.columns,
            checks,
            levels: shown.levels,
        };
        Ok(Target { view: Some(Arc::new(view)), ..target })
    }
}

/// Error 1471 unless each column of a view is one of the table's, 1423 if a column that it leaves out needs a value.
pub(super) fn insertable(view: &TargetView, def: &TableDef, statement: &str, strict: bool) -> SqlResult<()> {
    let mut ordinals: Vec<usize> = view.columns.iter().filter_map(|(_, ordinal)| *ordinal).collect();
    ordinals.sort_unstable();
    ordinals.dedup();
    if ordinals.len() < view.columns.len() {
        return Err(SqlError::new(ErrorCode::NonInsertableTable, &[&view.name, &statement]));
    }
    let needs_value = |column: &ColumnDef| {
        column.default == ColumnDefault::None
            && !column.nullable
            && !column.auto_increment
            && column.generated.is_none()
    };
    let hidden = def.columns.iter().enumerate().filter(|(ordinal, _)| ordinals.binary_search(ordinal).is_err());
    for (_, column) in hidden {
        if strict && needs_value(column) {
            return Err(SqlError::new(ErrorCode::NoDefaultForViewField, &[&view.database, &view.name]));
        }
    }
    Ok(())
}
