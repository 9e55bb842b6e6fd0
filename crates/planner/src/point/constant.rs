//! Queries without a table that give one row: `SELECT 1`, `SELECT version, DATABASE()`. Clients and connection pools send them often,
//! and DataFusion's planning takes much longer than the answer.

use crate::bind::{Binder, OutputColumn, announced_type};
use datafusion::common::Column;
use squall_executor::runtime::output::write_value;
use squall_functions::expr::{BoundExpr, EmptyRow};
use squall_parser::ast;
use squall_registry::Volatility;
use squall_statement_context::StatementContext;
use squall_types::{RowWriter, SqlResult, Value};
use std::sync::Arc;

/// One row of constants.
#[derive(Clone, Debug)]
pub struct ConstantRow {
    /// The result's columns.
    pub columns: Vec<OutputColumn>,
    exprs: Vec<BoundExpr>,
    /// Whether the row is the same each time.
    pub is_literal: bool,
}

/// The row that a query is, if it is one. Whatever else there is to a query, and every error, is left to
/// [`Binder::bind_query`]. So are volatile functions, but for those that only give another value each time: some of them wait (`SLEEP`,
/// `GET_LOCK`), which a connection's own thread must not do.
pub fn constant_row(query: &ast::Query, binder: &Binder<'_>) -> Option<ConstantRow> {
    let items = plain_items(query)?;
    let noted = binder.context.diagnostics.count();
    let row = bind(items, binder);
    if row.is_none() {
        binder.context.diagnostics.truncate(noted);
    }
    row
}

/// An expression outside of any query, if it is one of [`constant_row`].
pub fn constant_value(expr: &ast::Expr, binder: &Binder<'_>) -> Option<BoundExpr> {
    let noted = binder.context.diagnostics.count();
    let bound = bind_constant(expr, binder);
    if bound.is_none() {
        binder.context.diagnostics.truncate(noted);
    }
    // Something is made of it: it is not shown.
    bound.map(|bound| binder.builder().unrounded(bound))
}

fn bind_constant(expr: &ast::Expr, binder: &Binder<'_>) -> Option<BoundExpr> {
    binder.bind_expr(expr, &[]).ok().filter(is_side_effect_free)
}

fn bind(items: &[ast::SelectItem], binder: &Binder<'_>) -> Option<ConstantRow> {
    let mut row = ConstantRow {
        columns: Vec::with_capacity(items.len()),
        exprs: Vec::with_capacity(items.len()),
        is_literal: true,
    };
    for item in items {
        let ast::SelectItem::Expr(item) = item else { return None };
        row.is_literal &= matches!(item.expr, ast::Expr::Literal(_));
        let expr = bind_constant(&item.expr, binder)?;
        let name: Arc<str> = item.column_name(binder.text).into();
        row.columns.push(OutputColumn {
            column: Column::from_name(name.to_string()),
            name,
            expr_type: expr.ty(),
            origin: None,
            announced: announced_type(&expr),
        });
        row.exprs.push(expr);
    }
    Some(row)
}

/// The select list of a query that is nothing else.
fn plain_items(query: &ast::Query) -> Option<&[ast::SelectItem]> {
    let select = query.as_select()?;
    let plain = query.with.is_none()
        && query.locking.is_empty()
        && query.into.is_none()
        && query.order_by.is_empty()
        && query.limit.is_none()
        && select.options == ast::SelectOptions::default()
        && select.hints.is_none()
        && select.from.is_empty()
        && select.selection.is_none()
        && select.group_by.is_none()
        && select.having.is_none()
        && select.windows.is_empty();
    plain.then_some(&select.items)
}

/// Whether an expression changes nothing and takes no time.
fn is_side_effect_free(expr: &BoundExpr) -> bool {
    let mut is_free = expr.is_brief();
    expr.visit(&mut |expr| match expr {
        BoundExpr::Call(call) => is_free &= call.volatility != Volatility::Volatile || call.kernel.is_generator(),
        BoundExpr::Opaque { .. } | BoundExpr::Column(_) | BoundExpr::Parameter { .. } => is_free = false,
        _ => {}
    });
    is_free
}

impl ConstantRow {
    /// Computes the values.
    pub fn values(&self, context: &StatementContext) -> SqlResult<Vec<Value>> {
        self.exprs.iter().map(|expr| expr.eval(&EmptyRow, context)).collect()
    }

    /// Writes the row.
    pub fn write(&self, values: &[Value], writer: &mut dyn RowWriter) {
        writer.begin_row();
        for (value, column) in values.iter().zip(&self.columns) {
            write_value(value, &column.expr_type.sql_type, writer);
        }
        writer.end_row();
    }
}
