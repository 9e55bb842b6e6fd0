//! INSERT, UPDATE and DELETE of virtual tables that accept changes. A query finds the rows, and the table gets them one by one.

use crate::authorization::SecurityContext;
use crate::result::Outcome;
use crate::result::writer::OkInfo;
use crate::session::{Session, StatementRun};
use squall_parser::ast::{
    Assignment, ColumnName, DeleteTarget, Expr, Ident, Literal, ObjectName, Query, QueryBody, Select, SelectExpr,
    SelectItem, Statement, TableFactor, TableReference,
};
use squall_planner::bind::TableUse;
use squall_registry::{VirtualChange, VirtualTable};
use squall_statement_context::StatementContext;
use squall_types::convert::{ConversionContext, store_value};
use squall_types::{Date, ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

impl Session {
    /// What is wrong with a change of a virtual table before a row of it is looked at.
    pub(super) fn check_virtual_change(&self, table: &dyn VirtualTable, statement: &Statement) -> SqlResult<()> {
        self.check_names(statement)?;
        if table.takes_changes() {
            return Ok(());
        }
        let (error, word) = match statement {
            Statement::Insert(_) => (ErrorCode::NonInsertableTable, "INSERT"),
            Statement::Delete(_) => (ErrorCode::NonUpdatableTable, "DELETE"),
            _ => (ErrorCode::NonUpdatableTable, "UPDATE"),
        };
        Err(SqlError::new(error, &[&table.name(), &word]))
    }

    /// Carries a change of a virtual table out.
    pub(super) async fn change_virtual_table(
        &mut self,
        table: Arc<dyn VirtualTable>,
        run: &StatementRun<'_>,
    ) -> SqlResult<Outcome> {
        self.check_virtual_change(&*table, run.request.statement)?;
        // A READ ONLY transaction may, as it may change performance_schema in MySQL.
        if self.nesting.is_within_read_only {
            return Err(SqlError::new(ErrorCode::ReadOnlyTransaction, &[]));
        }
        // Settings that are rows are kept, others are of this run of the server.
        if !table.database().eq_ignore_ascii_case(squall_system_tables::PERFORMANCE) {
            self.check_server_writable()?;
        }
        match run.request.statement {
            Statement::Insert(_) => {
                table.change(VirtualChange::Insert, &run.context)?;
                Ok(Outcome::done())
            }
            Statement::Update(update) => {
                let alias = match update.tables.first() {
                    Some(TableReference::Table(factor)) => factor.alias.clone(),
                    _ => None,
                };
                let query = Query {
                    order_by: update.order_by.clone(),
                    limit: update.limit.clone(),
                    ..rows_of(&*table, alias, update.selection.clone(), &update.assignments)
                };
                Box::pin(self.update_virtual_rows(table, &query, &update.assignments, run)).await
            }
            Statement::Delete(delete) => {
                let alias = match &delete.target {
                    DeleteTarget::Single { alias, .. } => alias.clone(),
                    DeleteTarget::Multiple { .. } => None,
                };
                let query = Query {
                    order_by: delete.order_by.clone(),
                    limit: delete.limit.clone(),
                    ..rows_of(&*table, alias, delete.selection.clone(), &[])
                };
                let rows = self.virtual_rows(&*table, &query, run).await?.0;
                for row in &rows {
                    table.change(VirtualChange::Delete { old: row }, &run.context)?;
                }
                Ok(Outcome::affected(rows.len() as u64))
            }
            _ => Err(SqlError::internal("a change of another kind")),
        }
    }

    async fn virtual_rows(
        &mut self,
        table: &dyn VirtualTable,
        query: &Query,
        run: &StatementRun<'_>,
    ) -> SqlResult<(Vec<Vec<Value>>, Vec<SqlType>)> {
        let catalog = self.shared.catalog.load();
        let mut bound =
            self.bind_query(query, run.request.sql, run.request.parameters, &catalog, &run.context, None)?;
        let read = self.bind_query(
            &without_rows(query, table),
            run.request.sql,
            run.request.parameters,
            &catalog,
            &run.context,
            None,
        )?;
        only_what_is_read(&mut bound.tables, &read.tables);
        let bound = self.security().authorize(bound)?;
        let types = bound.columns.iter().map(|column| column.expr_type.sql_type.clone()).collect();
        Ok((self.collect_rows(&bound, &run.context, catalog, usize::MAX).await?, types))
    }

    async fn update_virtual_rows(
        &mut self,
        table: Arc<dyn VirtualTable>,
        query: &Query,
        assignments: &[Assignment],
        run: &StatementRun<'_>,
    ) -> SqlResult<Outcome> {
        let columns = table.columns();
        let targets = assignments.iter().map(|assignment| {
            let name = &assignment.column.column;
            let at = columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
            at.ok_or_else(|| SqlError::new(ErrorCode::BadField, &[&name.as_str(), &"field list"]))
        });
        let targets = targets.collect::<SqlResult<Vec<usize>>>()?;
        let (rows, types) = self.virtual_rows(&*table, query, run).await?;
        let found = rows.len() as u64;
        let mut changed = Vec::new();
        for (number, row) in rows.into_iter().enumerate() {
            let mut old = row;
            let given = old.split_off(columns.len());
            let mut new = old.clone();
            for (nth, (target, value)) in targets.iter().zip(&given).enumerate() {
                let column = &columns[*target];
                let conversion = ConversionContext {
                    mode: run.context.settings.sql_mode,
                    time_zone: &run.context.settings.time_zone,
                    current_date: Date::ZERO,
                    table: "",
                    column: &column.name,
                    row: number as u64 + 1,
                };
                let from = &types[columns.len() + nth];
                let stored = store_value(value.clone(), from, &column.sql_type, &conversion);
                let mut warnings = Vec::new();
                new[*target] = stored.resolve(run.context.strict_write, &mut warnings)?;
                warnings.into_iter().for_each(|warning| run.context.diagnostics.push(warning.level, warning.error));
                if new[*target].is_null() && !column.nullable {
                    return Err(SqlError::new(ErrorCode::BadNull, &[&column.name]));
                }
            }
            if old != new {
                changed.push((old, new));
            }
        }
        let count = changed.len() as u64;
        let context = run.context.clone();
        // A setting that is kept waits for the disk.
        self.blocking(move |_| update_all(&*table, &changed, &context)).await?;
        let info = format!("Rows matched: {found}  Changed: {count}");
        let affected_rows = if self.identity.info.found_rows { found } else { count };
        Ok(Outcome::Ok(OkInfo { affected_rows, last_insert_id: 0, info, tells_warnings: true }))
    }
}

/// The virtual table that a statement is to change, if it is one.
pub(crate) fn changed_virtual_table(
    security: &SecurityContext<'_>,
    statement: &Statement,
) -> Option<Arc<dyn VirtualTable>> {
    let name = match statement {
        Statement::Insert(insert) => &insert.table,
        Statement::Update(update) => match update.tables.as_slice() {
            [TableReference::Table(factor)] => &factor.name,
            _ => return None,
        },
        Statement::Delete(delete) => match &delete.target {
            DeleteTarget::Single { table, .. } => table,
            DeleteTarget::Multiple { .. } => return None,
        },
        _ => return None,
    };
    security.virtual_table_named(name)
}

/// Gives rows their new values, or none of them.
fn update_all(
    table: &dyn VirtualTable,
    changed: &[(Vec<Value>, Vec<Value>)],
    context: &StatementContext,
) -> SqlResult<()> {
    for (at, (old, new)) in changed.iter().enumerate() {
        let Err(error) = table.change(VirtualChange::Update { old, new }, context) else { continue };
        for (old, new) in changed[..at].iter().rev() {
            table.change(VirtualChange::Update { old: new, new: old }, context)?;
        }
        return Err(error);
    }
    Ok(())
}

/// A [query for rows](rows_of) without the rows: what the statement itself reads.
fn without_rows(query: &Query, table: &dyn VirtualTable) -> Query {
    let mut read = query.clone();
    if let QueryBody::Select(select) = &mut read.body {
        select.items.drain(..table.columns().len());
        if select.items.is_empty() {
            select.items.push(select_item(Expr::Literal(Literal::Null)));
        }
    }
    read
}

/// A session may change rows that it cannot see: SELECT is needed for the columns that conditions and new values name.
fn only_what_is_read(tables: &mut [TableUse], read: &[TableUse]) {
    for (table, read) in tables.iter_mut().zip(read) {
        table.columns.clone_from(&read.columns);
    }
    // The first is what is changed. A place behind its columns stands for the row, of which nothing is seen.
    if let Some(TableUse { columns, virtual_schema: Some(schema), .. }) = tables.first_mut()
        && columns.is_empty()
    {
        columns.push(schema.fields().len());
    }
}

fn select_item(expr: Expr) -> SelectItem {
    SelectItem::Expr(Box::new(SelectExpr { expr, alias: None, span: Default::default() }))
}

/// The query for the rows of a table with what they are to be assigned behind them.
fn rows_of(
    table: &dyn VirtualTable,
    alias: Option<Ident>,
    selection: Option<Expr>,
    assignments: &[Assignment],
) -> Query {
    let columns = table.columns().iter().map(|column| {
        let column = Ident::new(column.name.as_ref());
        select_item(Expr::Column(Box::new(ColumnName { schema: None, table: None, column })))
    });
    let items = columns.chain(assignments.iter().map(|assignment| select_item(assignment.value.clone()))).collect();
    let factor = TableFactor {
        name: ObjectName { schema: Some(Ident::new(table.database())), name: Ident::new(table.name()) },
        partitions: Vec::new(),
        alias,
        hints: Vec::new(),
    };
    let from = vec![TableReference::Table(Box::new(factor))];
    Query::new(QueryBody::Select(squall_parser::ast::Deep::new(Select {
        items,
        from,
        selection,
        ..Default::default()
    })))
}
