//! Binding data changes.

use super::binder::{ChangeLocks, DmlBinder};
use super::packed::plain_literal;
use super::plan::{
    ColumnAssignment, DeletePlan, DmlPlan, InsertPlan, InsertRows, InsertValues, NewValue, OnDuplicate, PackedInsert,
    QueryChangePlan, Selection, TableChange, UpdatePlan,
};
use super::source_columns::{SourceColumns, open_block};
use super::target::Target;
use super::view::{insertable, refuse_unchecked, row_of};
use crate::bind::{Binder, RowColumn, RowLocks, RowTable, TableUse};
use crate::partition::selected_partitions;
use crate::point::NamedTable;
use squall_executor::access::row_key_column;
use squall_functions::expr::BoundExpr;
use squall_functions::expr::sort_key;
use squall_parser::ast;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType};

/// The most rows of VALUES that may hold subqueries.
const QUERY_ROWS_MAX: usize = 16 << 10;

/// The name by which VALUES(column) finds the new row; no identifier can be this.
const NEW_ROW: &str = "\u{0}new";

/// The row that an INSERT would have stored, as ON DUPLICATE KEY UPDATE names it.
fn new_row_of<'a>(target: &'a Target, columns: &[usize], insert: &'a ast::Insert) -> SqlResult<RowTable<'a>> {
    let mut new_row = RowTable { alias: NEW_ROW, database: None, ..row_of(target) };
    new_row.qualified_only = insert.row_alias.is_none();
    if let Some(alias) = &insert.row_alias {
        new_row.alias = &alias.name;
        if !alias.columns.is_empty() {
            if alias.columns.len() != columns.len() {
                return Err(SqlError::new(ErrorCode::ViewWrongList, &[]));
            }
            for (name, ordinal) in alias.columns.iter().zip(columns) {
                let expr_type = new_row.columns[*ordinal].expr_type.clone();
                new_row.columns[*ordinal] = RowColumn { name, expr_type };
            }
        }
    }
    Ok(new_row)
}

impl DmlBinder<'_> {
    /// Binds INSERT, REPLACE, UPDATE or DELETE.
    pub fn bind(&self, statement: &ast::Statement) -> SqlResult<DmlPlan> {
        self.binder.with_constants(|| match statement {
            ast::Statement::Insert(insert) => Ok(DmlPlan::Insert(Box::new(self.bind_insert(insert)?))),
            ast::Statement::Update(update) => self.bind_update(update),
            ast::Statement::Delete(delete) => self.bind_delete(delete),
            _ => Err(SqlError::internal("not a data change")),
        })
    }

    // ---- INSERT and REPLACE ----

    /// Binds INSERT and REPLACE.
    pub fn bind_insert(&self, insert: &ast::Insert) -> SqlResult<InsertPlan> {
        let statement = if insert.replace { "REPLACE" } else { "INSERT" };
        let target = restricted(self.inserted(insert, statement)?, &insert.partitions)?;
        let columns = self.insert_columns(&target, statement, insert)?;
        let source_columns = match open_block(insert) {
            Some((select, with)) => {
                let new_row = new_row_of(&target, &columns, insert)?;
                SourceColumns::of(self, insert, select, with, &[row_of(&target), new_row])?
            }
            None => SourceColumns::default(),
        };
        let source_columns = source_columns.with_subqueries(insert);
        let source = match &insert.source {
            ast::InsertSource::Values(rows) => self.bind_rows(&target, &columns, rows, &source_columns)?,
            ast::InsertSource::Query(query) => {
                let bound = match source_columns.len() {
                    0 => self.binder.bind_query(query)?,
                    _ => {
                        let query = source_columns.added_to(query, columns.len(), open_block(insert).is_some());
                        self.bind_with_subqueries(&query, &source_columns, &target)?
                    }
                };
                if bound.columns.len() != columns.len() + source_columns.len() {
                    return Err(SqlError::new(ErrorCode::WrongValueCountOnRow, &[&1]));
                }
                InsertRows::Query(Box::new(bound))
            }
        };
        let on_duplicate = if insert.replace {
            OnDuplicate::Replace
        } else if insert.on_duplicate.is_empty() {
            OnDuplicate::Fail
        } else {
            let from_source = match &source {
                InsertRows::Query(query) => source_columns.tables(&query.columns[columns.len()..]),
                InsertRows::Values(_) => Vec::new(),
            };
            let subqueries = source_columns.subqueries();
            OnDuplicate::Update(self.bind_on_duplicate(&target, &columns, insert, (from_source, subqueries))?)
        };
        let returning = self.bind_returning(&target, &insert.returning)?;
        Ok(InsertPlan { target, columns, source, on_duplicate, ignore: insert.ignore, returning })
    }

    fn insert_columns(&self, target: &Target, statement: &str, insert: &ast::Insert) -> SqlResult<Vec<usize>> {
        let def = target.def();
        if let Some(view) = &target.view {
            let strict = self.binder.context.settings.sql_mode.is_strict() && !insert.ignore;
            insertable(view, def, statement, strict)?;
        }
        // `t () VALUES ()` and `t VALUES ()`: nothing is given.
        let empty_rows = matches!(&insert.source, ast::InsertSource::Values(rows)
            if !rows.is_empty() && rows.row_of_other_width(0).is_none());
        if insert.columns.is_empty() {
            if empty_rows {
                return Ok(Vec::new());
            }
            if let Some(view) = &target.view {
                return Ok(view.columns.iter().filter_map(|(_, ordinal)| *ordinal).collect());
            }
            let visible = def.columns.iter().enumerate().filter(|(_, column)| !column.invisible);
            return Ok(visible.map(|(ordinal, _)| ordinal).collect());
        }
        let mut columns = Vec::with_capacity(insert.columns.len());
        for name in &insert.columns {
            let ordinal = target
                .column(name)?
                .ok_or_else(|| SqlError::new(ErrorCode::BadField, &[&name.as_str(), &"field list"]))?;
            if columns.contains(&ordinal) {
                return Err(SqlError::new(ErrorCode::FieldSpecifiedTwice, &[&def.columns[ordinal].name]));
            }
            columns.push(ordinal);
        }
        Ok(columns)
    }

    /// The source's query, which computes subqueries of ON DUPLICATE KEY UPDATE, too.
    fn bind_with_subqueries(
        &self,
        query: &ast::Query,
        source_columns: &SourceColumns,
        target: &Target,
    ) -> SqlResult<crate::bind::BoundQuery> {
        let has_subqueries = !source_columns.subqueries().is_empty();
        match self.binder.bind_query(query) {
            Ok(bound) if has_subqueries => {
                refuse_own_subquery(&bound, target, "INSERT")?;
                Ok(bound)
            }
            Err(error) if has_subqueries && error.is(ErrorCode::BadField) => {
                Err(SqlError::unsupported("subqueries of ON DUPLICATE KEY UPDATE that name columns of the row"))
            }
            bound => bound,
        }
    }

    fn bind_rows(
        &self,
        target: &Target,
        columns: &[usize],
        rows: &ast::ValueRows,
        source_columns: &SourceColumns,
    ) -> SqlResult<InsertRows> {
        if let Some(number) = rows.row_of_other_width(columns.len()) {
            return Err(SqlError::new(ErrorCode::WrongValueCountOnRow, &[&number]));
        }
        if source_columns.len() > 0 {
            let error = SqlError::unsupported("DEFAULT in rows beside subqueries of ON DUPLICATE KEY UPDATE");
            return self.bind_rows_as_query(target, columns, rows, source_columns, error);
        }
        match self.bind_values(target, columns, rows) {
            Ok(values) => Ok(InsertRows::Values(values)),
            Err(error) if error.is(ErrorCode::NotSupportedYet) => {
                self.bind_rows_as_query(target, columns, rows, source_columns, error)
            }
            Err(error) => Err(error),
        }
    }

    fn bind_values(&self, target: &Target, columns: &[usize], rows: &ast::ValueRows) -> SqlResult<InsertValues> {
        let def = target.def();
        let scope = [row_of(target)];
        let bind = |expr: &ast::Expr| match expr {
            ast::Expr::Default => Ok(NewValue::Default),
            expr => self.binder.bind_assigned(expr, &scope).map(NewValue::Expr),
        };
        let mut bound = Vec::with_capacity(rows.trees.len());
        for row in &rows.trees {
            let mut values = Vec::with_capacity(row.len());
            for (expr, ordinal) in row.iter().zip(columns) {
                values.push(match self.plain_literal(expr, &def.columns[*ordinal].sql_type) {
                    Some(literal) => NewValue::Expr(literal),
                    None => bind(expr)?,
                });
            }
            bound.push(values);
        }
        let packed = match &rows.packed {
            Some(rows) => {
                let exprs = self.binder.bind_exprs(rows.exprs(), &scope)?;
                let exprs = exprs.into_iter().map(|expr| NewValue::Expr(self.binder.builder().unrounded(expr)));
                Some(PackedInsert { rows: rows.clone(), exprs: exprs.collect() })
            }
            None => None,
        };
        Ok(InsertValues { rows: bound, packed })
    }

    /// Rows with subqueries in them are rows of a VALUES query.
    fn bind_rows_as_query(
        &self,
        target: &Target,
        columns: &[usize],
        rows: &ast::ValueRows,
        source_columns: &SourceColumns,
        error: SqlError,
    ) -> SqlResult<InsertRows> {
        if columns.is_empty() || rows.len() > QUERY_ROWS_MAX {
            return Err(error);
        }
        let rows = rows.to_trees();
        if rows.iter().flatten().any(|expr| matches!(expr, ast::Expr::Default)) {
            return Err(error);
        }
        let query = ast::Query::new(ast::QueryBody::Values(rows));
        let query = match source_columns.len() {
            0 => self.binder.bind_query(&query)?,
            _ => {
                let query = source_columns.added_to(&query, columns.len(), false);
                self.bind_with_subqueries(&query, source_columns, target)?
            }
        };
        refuse_own_values(&query, target)?;
        Ok(InsertRows::Query(Box::new(query)))
    }

    /// The literals that most rows of an INSERT are made of, without a scope being set up for each.
    fn plain_literal(&self, expr: &ast::Expr, column: &SqlType) -> Option<BoundExpr> {
        match expr {
            ast::Expr::Placeholder(number) => {
                let parameter = self.binder.bind_parameter(*number)?;
                let is_vector = column.is_vector();
                if is_vector { self.binder.builder().vector_parameter(parameter).ok() } else { Some(parameter) }
            }
            expr => plain_literal(&self.binder.builder(), expr, column),
        }
    }

    fn bind_on_duplicate(
        &self,
        target: &Target,
        columns: &[usize],
        insert: &ast::Insert,
        (from_source, source_subqueries): (Vec<RowTable<'_>>, &[(ast::Expr, ast::ColumnName)]),
    ) -> SqlResult<Vec<ColumnAssignment>> {
        // The new row may hold NULL where its column allows none: the statement failed before it was stored.
        let new_row = new_row_of(target, columns, insert)?;
        let new_alias = new_row.alias;
        let mut scope = vec![row_of(target), new_row];
        scope.extend(from_source);
        let binder = Binder { insert_values: Some(new_alias), source_subqueries, ..self.binder.clone() };
        insert
            .on_duplicate
            .iter()
            .map(|assignment| {
                let column = self.assigned_column(target, &assignment.column)?;
                let value = match &assignment.value {
                    ast::Expr::Default => NewValue::Default,
                    expr => NewValue::Expr(binder.bind_assigned(expr, &scope)?),
                };
                Ok(ColumnAssignment { column, value })
            })
            .collect()
    }

    fn assigned_column(&self, target: &Target, name: &ast::ColumnName) -> SqlResult<usize> {
        let qualified = name.table.as_ref().is_none_or(|table| **table == *target.alias);
        match target.column(&name.column)?.filter(|_| qualified) {
            Some(ordinal) => Ok(ordinal),
            None => Err(SqlError::new(ErrorCode::BadField, &[&display_name(name), &"field list"])),
        }
    }

    fn bind_returning(&self, target: &Target, items: &[ast::SelectItem]) -> SqlResult<Vec<super::plan::Returned>> {
        let def = target.def();
        let scope = [row_of(target)];
        let mut returned = Vec::new();
        for item in items {
            match item {
                ast::SelectItem::Expr(item) => {
                    let expr = self.binder.bind_expr(&item.expr, &scope)?;
                    returned.push(super::plan::Returned { name: item.column_name(self.binder.text).into(), expr });
                }
                _ => {
                    for column in def.columns.iter().filter(|column| !column.invisible) {
                        let name = ast::Expr::Column(Box::new(ast::ColumnName::new(column.name.as_str())));
                        let expr = self.binder.bind_expr(&name, &scope)?;
                        returned.push(super::plan::Returned { name: column.name.as_str().into(), expr });
                    }
                }
            }
        }
        Ok(returned)
    }

    // ---- UPDATE ----

    /// Binds UPDATE.
    pub fn bind_update(&self, update: &ast::Update) -> SqlResult<DmlPlan> {
        if let ([ast::TableReference::Table(factor)], None) = (update.tables.as_slice(), &update.with) {
            let mut targets = self.changed_parts(&factor.name, factor.alias.as_ref(), "UPDATE")?;
            // A view of several tables has several.
            let target = targets.pop().ok_or_else(|| SqlError::internal("an UPDATE of nothing"))?;
            let target = restricted(target, &factor.partitions)?;
            if target.view.is_none() && !self.by_query {
                match self.bind_single_update(&target, update) {
                    Ok(plan) => return Ok(DmlPlan::Update(Box::new(plan))),
                    Err(error) if !error.is(ErrorCode::NotSupportedYet) => return Err(error),
                    Err(_) => {}
                }
            }
        } else if !update.order_by.is_empty() || update.limit.is_some() {
            let clause = if update.limit.is_some() { "LIMIT" } else { "ORDER BY" };
            return Err(SqlError::new(ErrorCode::WrongUsage, &[&"UPDATE", &clause]));
        }
        self.bind_update_by_query(update)
    }

    fn bind_single_update(&self, target: &Target, update: &ast::Update) -> SqlResult<UpdatePlan> {
        let scope = [RowTable::of(&target.database, &target.alias, target.def())];
        let assignments = update
            .assignments
            .iter()
            .map(|assignment| {
                let column = self.assigned_column(target, &assignment.column)?;
                let value = match &assignment.value {
                    ast::Expr::Default => NewValue::Default,
                    expr => match self.plain_literal(expr, &target.def().columns[column].sql_type) {
                        Some(literal) => NewValue::Expr(literal),
                        None => NewValue::Expr(self.binder.bind_assigned(expr, &scope)?),
                    },
                };
                Ok(ColumnAssignment { column, value })
            })
            .collect::<SqlResult<_>>()?;
        let selection =
            self.bind_selection(target, update.selection.as_ref(), &update.order_by, update.limit.as_ref())?;
        Ok(UpdatePlan { target: target.clone(), assignments, selection, ignore: update.ignore })
    }

    fn bind_selection(
        &self,
        target: &Target,
        condition: Option<&ast::Expr>,
        order_by: &[ast::OrderItem],
        limit: Option<&ast::Limit>,
    ) -> SqlResult<Selection> {
        let scope = &[RowTable::of(&target.database, &target.alias, target.def())];
        let named = NamedTable { def: target.def(), database: &target.database, alias: &target.alias };
        let key = condition.and_then(|condition| named.primary_key(condition));
        let condition = condition.map(|condition| self.binder.bind_condition(condition, scope)).transpose()?;
        let order = order_by
            .iter()
            .map(|item| Ok((sort_key(self.binder.bind_expr(&item.expr, scope)?), item.descending)))
            .collect::<SqlResult<_>>()?;
        let limit = match limit.and_then(|limit| limit.count.as_ref()) {
            Some(count) => Some(self.binder.bind_expr(count, &[])?),
            None => None,
        };
        Ok(Selection { key, condition, order, limit })
    }

    fn bind_update_by_query(&self, update: &ast::Update) -> SqlResult<DmlPlan> {
        let tables = self.base_tables(&update.tables)?;
        let mut found = FoundByQuery::default();
        let mut changes: Vec<TableChange> = Vec::new();
        for assignment in &update.assignments {
            let assigned = self.assigned_table(&tables, &assignment.column, "UPDATE");
            let (alias, target) = assigned.map_err(|error| self.error_of_tables(update).unwrap_or(error))?;
            let is_same = |other: &Target| {
                other.alias == target.alias && other.database == target.database && other.part() == target.part()
            };
            let at = match changes.iter().position(|change| is_same(&change.target)) {
                Some(at) => at,
                None => {
                    refuse_unchecked(target)?;
                    if let Some(view) = &target.view
                        && found.tables.contains(alias)
                    {
                        return Err(SqlError::new(ErrorCode::ViewMultiupdate, &[&view.database, &view.name]));
                    }
                    changes.push(TableChange {
                        target: target.clone(),
                        key_column: found.items.len(),
                        values: Vec::new(),
                    });
                    found.push_table(alias, target.part());
                    changes.len() - 1
                }
            };
            let column = target.column(&assignment.column.column)?.ok_or_else(|| {
                SqlError::new(ErrorCode::BadField, &[&display_name(&assignment.column), &"field list"])
            })?;
            let source = match &assignment.value {
                ast::Expr::Default => None,
                value => {
                    found.items.push(item(value.clone()));
                    Some(found.items.len() - 1)
                }
            };
            changes[at].values.push((column, source));
        }
        let query = self.find_query(
            found,
            &update.tables,
            update.with.as_ref(),
            update.selection.as_ref(),
            &update.order_by,
            update.limit.as_ref(),
        )?;
        changes.iter().try_for_each(|change| refuse_own_subquery(&query, &change.target, "UPDATE"))?;
        Ok(DmlPlan::ByQuery(Box::new(QueryChangePlan { query, changes, ignore: update.ignore, delete: false })))
    }

    // ---- DELETE ----

    /// Binds DELETE.
    pub fn bind_delete(&self, delete: &ast::Delete) -> SqlResult<DmlPlan> {
        let (targets, from) = match &delete.target {
            ast::DeleteTarget::Single { table, alias, partitions } => {
                if delete.with.is_none() {
                    let target = restricted(self.changed(table, alias.as_ref(), "DELETE")?, partitions)?;
                    if target.view.is_none() && !self.by_query {
                        match self.bind_single_delete(&target, delete) {
                            Ok(plan) => return Ok(DmlPlan::Delete(Box::new(plan))),
                            Err(error) if !error.is(ErrorCode::NotSupportedYet) => return Err(error),
                            Err(_) => {}
                        }
                    }
                }
                let factor = ast::TableFactor {
                    name: table.clone(),
                    partitions: partitions.clone(),
                    alias: alias.clone(),
                    hints: Vec::new(),
                };
                let named = self.factor_name(&factor);
                (vec![named], vec![ast::TableReference::Table(Box::new(factor))])
            }
            ast::DeleteTarget::Multiple { tables, from } => (tables.clone(), from.clone()),
        };
        if !delete.returning.is_empty() && !self.by_query {
            return Err(SqlError::unsupported("RETURNING of a DELETE with several tables or subqueries"));
        }
        self.bind_delete_by_query(delete, &targets, &from)
    }

    fn bind_single_delete(&self, target: &Target, delete: &ast::Delete) -> SqlResult<DeletePlan> {
        let selection =
            self.bind_selection(target, delete.selection.as_ref(), &delete.order_by, delete.limit.as_ref())?;
        let returning = self.bind_returning(target, &delete.returning)?;
        Ok(DeletePlan { target: target.clone(), selection, ignore: delete.ignore, returning })
    }

    fn bind_delete_by_query(
        &self,
        delete: &ast::Delete,
        targets: &[ast::ObjectName],
        from: &[ast::TableReference],
    ) -> SqlResult<DmlPlan> {
        let named = self.delete_targets(targets, from)?;
        let tables = self.base_tables(from)?;
        let mut found = FoundByQuery::default();
        let mut changes = Vec::new();
        for factor in named {
            let own = self.factor_name(factor);
            let Some((alias, target)) = tables.iter().find(|(alias, _)| *alias == own) else {
                let error = SqlError::new(ErrorCode::NonUpdatableTable, &[&own.name.as_str(), &"DELETE"]);
                return Err(self.changed(&factor.name, factor.alias.as_ref(), "DELETE").err().unwrap_or(error));
            };
            if tables.iter().filter(|(other, _)| other == alias).count() > 1 {
                // A view of several tables.
                return Err(self
                    .changed(&factor.name, factor.alias.as_ref(), "DELETE")
                    .err()
                    .unwrap_or_else(|| SqlError::new(ErrorCode::NonUpdatableTable, &[&own.name.as_str(), &"DELETE"])));
            }
            changes.push(TableChange { target: target.clone(), key_column: found.items.len(), values: Vec::new() });
            found.push_table(alias, target.part());
        }
        let query = self.find_query(
            found,
            from,
            delete.with.as_ref(),
            delete.selection.as_ref(),
            &delete.order_by,
            delete.limit.as_ref(),
        )?;
        changes.iter().try_for_each(|change| refuse_own_subquery(&query, &change.target, "DELETE"))?;
        Ok(DmlPlan::ByQuery(Box::new(QueryChangePlan { query, changes, ignore: delete.ignore, delete: true })))
    }

    // ---- changes by query ----

    fn find_query(
        &self,
        found: FoundByQuery,
        from: &[ast::TableReference],
        with: Option<&ast::With>,
        selection: Option<&ast::Expr>,
        order_by: &[ast::OrderItem],
        limit: Option<&ast::Limit>,
    ) -> SqlResult<Box<crate::bind::BoundQuery>> {
        let select = ast::Select {
            items: found.items,
            from: from.to_vec(),
            selection: selection.cloned(),
            ..ast::Select::default()
        };
        let mut query = ast::Query::new(ast::QueryBody::Select(ast::Deep::new(select)));
        query.with = with.cloned();
        query.order_by = order_by.to_vec();
        query.limit = limit.cloned();
        let change_locks = match self.locks {
            ChangeLocks::None => RowLocks::default(),
            ChangeLocks::Changed => RowLocks::of_change(found.tables, false),
            ChangeLocks::All => RowLocks::of_change(found.tables, true),
        };
        let binder = Binder { row_keys_of_views: true, change_locks, ..self.binder.clone() };
        Ok(Box::new(binder.bind_query(&query)?))
    }

    /// What is wrong with the tables of an UPDATE, which comes before what is wrong with its columns.
    fn error_of_tables(&self, update: &ast::Update) -> Option<SqlError> {
        let found = FoundByQuery { items: vec![ast::SelectItem::Wildcard], ..FoundByQuery::default() };
        self.find_query(found, &update.tables, update.with.as_ref(), None, &[], None).err()
    }

    /// The name of a table of FROM in the rest of the statement: its alias, or its own with its database, since a table of another
    /// database may have the same name.
    fn factor_name(&self, factor: &ast::TableFactor) -> ast::ObjectName {
        let of_default = || self.binder.default_database.map(ast::Ident::new);
        match &factor.alias {
            Some(alias) => ast::ObjectName { schema: None, name: alias.clone() },
            None => {
                let schema = factor.name.schema.clone().or_else(of_default);
                ast::ObjectName { schema, name: factor.name.name.clone() }
            }
        }
    }

    /// The base tables of a FROM by what the statement calls them.
    fn base_tables(&self, from: &[ast::TableReference]) -> SqlResult<Vec<(ast::ObjectName, Target)>> {
        let mut tables = Vec::new();
        for reference in from {
            self.collect_base_tables(reference, &mut tables)?;
        }
        Ok(tables)
    }

    fn collect_base_tables(
        &self,
        reference: &ast::TableReference,
        tables: &mut Vec<(ast::ObjectName, Target)>,
    ) -> SqlResult<()> {
        match reference {
            ast::TableReference::Table(factor) => {
                // Other views and table expressions may be read, not changed.
                let targets = self.changed_parts(&factor.name, factor.alias.as_ref(), "UPDATE").unwrap_or_default();
                tables.extend(targets.into_iter().map(|target| (self.factor_name(factor), target)));
                Ok(())
            }
            ast::TableReference::Join(join) => {
                self.collect_base_tables(&join.left, tables)?;
                self.collect_base_tables(&join.right, tables)
            }
            ast::TableReference::Derived(_) | ast::TableReference::JsonTable(_) | ast::TableReference::Function(_) => {
                Ok(())
            }
        }
    }

    fn assigned_table<'t>(
        &self,
        tables: &'t [(ast::ObjectName, Target)],
        name: &ast::ColumnName,
        statement: &str,
    ) -> SqlResult<(&'t ast::ObjectName, &'t Target)> {
        let is_called = |(alias, target): &&(ast::ObjectName, Target)| match &name.table {
            Some(table) => {
                *alias.name == **table && name.schema.as_ref().is_none_or(|schema| **schema == *target.database)
            }
            None => true,
        };
        // Of a view of several tables it is the one that has the column; a column of none is an expression.
        let has_column = |(_, target): &&(ast::ObjectName, Target)| !matches!(target.column(&name.column), Ok(None));
        let is_of_one = name.table.is_some() && tables.iter().filter(is_called).count() == 1;
        let mut found = tables.iter().filter(is_called).filter(|table| is_of_one || has_column(table));
        let Some((alias, target)) = found.next() else {
            return match &name.table {
                Some(table) if !tables.iter().any(|(alias, _)| *alias.name == **table) => {
                    Err(SqlError::new(ErrorCode::NonUpdatableTable, &[&table.as_str(), &statement]))
                }
                _ => Err(SqlError::new(ErrorCode::BadField, &[&display_name(name), &"field list"])),
            };
        };
        if found.any(|(other, _)| other != alias) {
            return Err(SqlError::new(ErrorCode::NonUniqueColumn, &[&display_name(name), &"field list"]));
        }
        Ok((alias, target))
    }
}

/// The columns that the query of a change returns.
#[derive(Default)]
struct FoundByQuery {
    /// Keys of rows and new values.
    items: Vec<ast::SelectItem>,
    /// The tables of these rows, by their names in the statement.
    tables: Vec<ast::ObjectName>,
}

impl FoundByQuery {
    /// The rows of a table, or of one of the tables that a view joins.
    fn push_table(&mut self, table: &ast::ObjectName, part: usize) {
        self.items.push(row_key_item(table, part));
        self.tables.push(table.clone());
    }
}

/// Subqueries of VALUES may read the table itself if they call it something else: as in MySQL only names are compared. They see
/// none of the statement's rows.
fn refuse_own_values(query: &crate::bind::BoundQuery, target: &Target) -> SqlResult<()> {
    // Behind a view the table has the name that the view gives it.
    let name: &str = if target.view.is_some() { &target.def().name } else { &target.alias };
    refuse_own(query, target, "INSERT", |table| table.inside_view.is_some() || *table.alias == *name)
}

/// Subqueries of a change may not read its table (1093; 1443 through a view), unless their rows of it are collected first.
fn refuse_own_subquery(query: &crate::bind::BoundQuery, target: &Target, statement: &str) -> SqlResult<()> {
    refuse_own(query, target, statement, |_| true)
}

fn refuse_own(
    query: &crate::bind::BoundQuery,
    target: &Target,
    statement: &str,
    is_same: impl Fn(&TableUse) -> bool,
) -> SqlResult<()> {
    let id = target.def().id;
    let own = |table: &&TableUse| {
        table.in_subquery && table.definition.as_ref().is_some_and(|def| def.id == id) && is_same(table)
    };
    let Some(table) = query.tables.iter().find(own) else { return Ok(()) };
    let prevented =
        |view: &str| Err(SqlError::new(ErrorCode::ViewPreventsOperation, &[&view, &statement, &target.alias]));
    match (&target.view, &table.inside_view) {
        (Some(view), Some((database, name))) if view.database == *database && view.name == *name => {}
        (_, Some((_, name))) => return prevented(name),
        (Some(_), None) => return prevented(&target.alias),
        (None, None) => {}
    }
    Err(SqlError::new(ErrorCode::UpdateTableUsed, &[&target.alias]))
}

/// The target with the partitions that are named: rows of others are not found, and none is put there (1748).
fn restricted(mut target: Target, names: &[ast::Ident]) -> SqlResult<Target> {
    if let Some(set) = selected_partitions(target.table.def(), names)? {
        target.table = target.table.restricted(&set);
    }
    Ok(target)
}

fn item(expr: ast::Expr) -> ast::SelectItem {
    ast::SelectItem::Expr(Box::new(ast::SelectExpr { expr, alias: None, span: ast::Span::default() }))
}

fn row_key_item(table: &ast::ObjectName, part: usize) -> ast::SelectItem {
    item(ast::Expr::Column(Box::new(ast::ColumnName {
        schema: table.schema.clone(),
        table: Some(table.name.clone()),
        column: ast::Ident::new(row_key_column(part)),
    })))
}

fn display_name(name: &ast::ColumnName) -> String {
    match &name.table {
        Some(table) => format!("{}.{}", table.as_str(), name.column.as_str()),
        None => name.column.as_str().to_string(),
    }
}
