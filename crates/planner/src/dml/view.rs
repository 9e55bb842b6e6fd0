//! Changes through views: the statement names a view of one table, or of several of which it changes one.

use super::binder::DmlBinder;
use super::target::{Target, TargetView};
use crate::bind::RowTable;
use crate::bind::updatable::{UpdatableView, updatable};
use squall_catalog::{ColumnDef, ColumnDefault, TableDef, TableEntry, ViewDef};
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
    /// The table of that name, or behind the updatable view of one table of that name, as something to be changed.
    pub(super) fn changed(
        &self,
        name: &ast::ObjectName,
        alias: Option<&ast::Ident>,
        statement: &str,
    ) -> SqlResult<Target> {
        match <[Target; 1]>::try_from(self.changed_parts(name, alias, statement)?) {
            Ok([target]) => Ok(target),
            // It is a view of several tables.
            Err(_) => self.target(name, alias, statement),
        }
    }

    /// The table of that name, or the tables behind the updatable view of that name, as something to be changed.
    pub(super) fn changed_parts(
        &self,
        name: &ast::ObjectName,
        alias: Option<&ast::Ident>,
        statement: &str,
    ) -> SqlResult<Vec<Target>> {
        let of_table = || Ok(vec![self.target(name, alias, statement)?]);
        let database = name.schema.as_ref().map(ast::Ident::as_str).or(self.binder.default_database);
        let Some(database) = database else { return of_table() };
        let temporary = self.binder.tables.temporary_table(database, &name.name).is_some();
        let Some(TableEntry::View(view)) = self.binder.catalog.entry(database, &name.name).filter(|_| !temporary)
        else {
            return of_table();
        };
        let parts = updatable(self.binder.catalog, database, view)?;
        if parts.is_empty() {
            return of_table();
        }
        let alias = alias.unwrap_or(&name.name).as_str();
        let parts = parts.into_iter().enumerate();
        parts.map(|(part, shown)| self.behind_view((database, view), alias, part, shown)).collect()
    }

    /// The table that an INSERT or REPLACE names, or the one of a view's tables that the columns of its list are of.
    ///
    /// # Errors
    /// 1394 for a view of several tables without a list, 1393 for columns of several tables.
    pub(super) fn inserted(&self, insert: &ast::Insert, statement: &str) -> SqlResult<Target> {
        let mut parts = self.changed_parts(&insert.table, None, statement)?;
        let several = parts.len() > 1;
        let Some(view) = parts.first().and_then(|part| part.view.clone()).filter(|_| several) else {
            return parts.pop().ok_or_else(|| SqlError::internal("an INSERT into nothing"));
        };
        let refuse = |code| Err(SqlError::new(code, &[&view.database, &view.name]));
        let Some(first) = insert.columns.first() else { return refuse(ErrorCode::ViewNoInsertFieldList) };
        let has = |part: &Target, name: &ast::Ident| !matches!(part.column(name), Ok(None));
        let Some(at) = parts.iter().position(|part| has(part, first)) else {
            return Err(SqlError::new(ErrorCode::BadField, &[&first.as_str(), &"field list"]));
        };
        let target = parts.swap_remove(at);
        let is_of_other = |name: &ast::Ident| !has(&target, name) && parts.iter().any(|part| has(part, name));
        if insert.columns.iter().any(is_of_other) {
            return refuse(ErrorCode::ViewMultiupdate);
        }
        refuse_unchecked(&target)?;
        Ok(target)
    }

    fn behind_view(
        &self,
        (database, view): (&str, &ViewDef),
        alias: &str,
        part: usize,
        shown: UpdatableView,
    ) -> SqlResult<Target> {
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
            part,
            columns: shown.columns,
            checks,
            lacks_checks: shown.lacks_checks,
            levels: shown.levels,
        };
        Ok(Target { view: Some(Arc::new(view)), ..target })
    }
}

/// 1235 for a change through a view whose WITH CHECK OPTION is about joined rows.
pub(super) fn refuse_unchecked(target: &Target) -> SqlResult<()> {
    match &target.view {
        Some(view) if view.lacks_checks => Err(SqlError::unsupported("changes through a join view WITH CHECK OPTION")),
        _ => Ok(()),
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
