//! Names of functional key parts: their expressions, in place of the hidden columns that hold the values.
//!
//! Hidden columns are named after their keys, so two tables may have hidden columns of one name and different expressions. The table of
//! a plan's column is found by its position among the columns of the same name.

use super::literals::over_rows;
use super::readable::readable;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use squall_executor::TableOperator;
use squall_executor::access::RowTable;
use squall_executor::operator::Operator as _;
use squall_executor::operators::lookup_join::IndexLookupJoinExec;
use std::sync::Arc;

/// A condition or value over the rows of a plan, as EXPLAIN shows it.
pub(super) fn shown(expr: &Arc<dyn PhysicalExpr>, rows: &Arc<dyn ExecutionPlan>) -> String {
    let mut parts = Vec::new();
    // What stands for a part until the text is made: nothing that a text of SQL has.
    let mark = |number: usize| format!("\u{1}{number}\u{1}");
    let expr = &over_rows(expr, &rows.schema());
    let marked = Arc::clone(expr).transform(|expr| {
        let Some(column) = expr.downcast_ref::<Column>() else { return Ok(Transformed::no(expr)) };
        let Some(part) = key_part(column, rows) else { return Ok(Transformed::no(expr)) };
        parts.push(part);
        Ok(Transformed::yes(Arc::new(Column::new(&mark(parts.len() - 1), column.index())) as _))
    });
    let mut text = readable(marked.data().as_ref().unwrap_or(expr));
    for (number, part) in parts.iter().enumerate() {
        text = text.replace(&mark(number), part);
    }
    text
}

/// Whether a column of a plan's rows holds the values of a functional key part.
pub(super) fn is_key_part(column: &Column, rows: &Arc<dyn ExecutionPlan>) -> bool {
    key_part(column, rows).is_some()
}

/// The expression of the key part whose values a column of a plan's rows holds.
fn key_part(column: &Column, rows: &Arc<dyn ExecutionPlan>) -> Option<String> {
    let mut found = Vec::new();
    parts_named(column.name(), rows, &mut found);
    let schema = rows.schema();
    let before = schema.fields().iter().take(column.index()).filter(|field| field.name() == column.name()).count();
    // Where a join keeps the columns of one side only, there are fewer columns than tables.
    let at = before.min(found.len().checked_sub(1)?);
    Some(found.swap_remove(at))
}

/// Expressions of hidden columns of a name that come out of a plan's tables, in the order of the tables.
fn parts_named(name: &str, plan: &Arc<dyn ExecutionPlan>, found: &mut Vec<String>) {
    for child in plan.children() {
        parts_named(name, child, found);
    }
    let inner = IndexLookupJoinExec::of(plan.as_ref()).map(|join| &join.inner().scan);
    let is_read = match inner {
        Some(scan) => scan.schema().column_with_name(name).is_some(),
        None => plan.schema().column_with_name(name).is_some(),
    };
    if is_read {
        let mut parts = own_table(plan).into_iter().flat_map(hidden_parts);
        found.extend(parts.find_map(|(column, part)| (column == name).then(|| part.to_string())));
    }
}

/// Puts the key parts of the tables that a node itself reads into a text about it.
pub(super) fn name_own_key_parts(plan: &Arc<dyn ExecutionPlan>, text: &mut String) {
    for (column, part) in own_table(plan).into_iter().flat_map(hidden_parts) {
        *text = text.replace(column, part);
    }
}

/// The same with the names of any table below, for texts without a known table.
pub(super) fn name_key_parts(plan: &Arc<dyn ExecutionPlan>, text: &mut String) {
    name_own_key_parts(plan, text);
    for child in plan.children() {
        name_key_parts(child, text);
    }
}

fn own_table(plan: &Arc<dyn ExecutionPlan>) -> Option<&RowTable> {
    TableOperator::of(plan.as_ref())?.table()
}

/// Hidden columns of a table with the expressions whose values they hold.
fn hidden_parts(table: &RowTable) -> impl Iterator<Item = (&str, &str)> {
    let hidden = table.def.columns.iter().filter(|column| column.is_hidden());
    hidden.filter_map(|column| Some((&*column.name, &*column.generated.as_ref()?.expression)))
}
