//! Prints literals in conditions for people. In a plan, dates and times are numbers, and long texts are calls.

use arrow::datatypes::Schema;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::expressions::{BinaryExpr, Column, InListExpr, Literal};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use squall_executor::access::RowTable;
use squall_functions::arrow_map::{scalar_to_value, sql_type_of};
use squall_functions::expr::LongLiteralUdf;
use squall_types::{SqlType, Value};
use std::sync::Arc;

/// A condition or value over rows of a schema, with the texts of the dates and times that it compares with in place of their
/// numbers.
pub(super) fn over_rows(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Arc<dyn PhysicalExpr> {
    with_texts(expr, |operand| Some(sql_type_of(&*operand.return_field(schema).ok()?)))
}

/// The same for one over columns of a table.
pub(super) fn over_table(expr: &Arc<dyn PhysicalExpr>, table: &RowTable) -> Arc<dyn PhysicalExpr> {
    with_texts(expr, |operand| {
        let (_, column) = table.def.column(operand.downcast_ref::<Column>()?.name())?;
        Some(column.sql_type.clone())
    })
}

fn with_texts(
    expr: &Arc<dyn PhysicalExpr>,
    type_of: impl Fn(&Arc<dyn PhysicalExpr>) -> Option<SqlType>,
) -> Arc<dyn PhysicalExpr> {
    let shown = Arc::clone(expr).transform(|expr| {
        if let Some(text) = long_text_of(&expr) {
            return Ok(Transformed::yes(text));
        }
        if !expr.is::<BinaryExpr>() && !expr.is::<InListExpr>() {
            return Ok(Transformed::no(expr));
        }
        let operands = expr.children();
        let types = operands.iter().filter(|operand| !operand.is::<Literal>()).filter_map(|operand| type_of(operand));
        let Some(sql_type) = types.into_iter().find(SqlType::is_temporal) else { return Ok(Transformed::no(expr)) };
        let texts = operands.iter().map(|operand| text_of(operand, &sql_type).unwrap_or_else(|| Arc::clone(operand)));
        let texts: Vec<Arc<dyn PhysicalExpr>> = texts.collect();
        match Arc::clone(&expr).with_new_children(texts) {
            Ok(shown) => Ok(Transformed::yes(shown)),
            Err(_) => Ok(Transformed::no(expr)),
        }
    });
    shown.data().unwrap_or_else(|_| Arc::clone(expr))
}

/// The placeholder of a literal's text: a column of that name, which is shown as it is.
fn text_of(operand: &Arc<dyn PhysicalExpr>, sql_type: &SqlType) -> Option<Arc<dyn PhysicalExpr>> {
    let text = match scalar_to_value(operand.downcast_ref::<Literal>()?.value(), sql_type).ok()? {
        Value::Date(date) => date.to_text(),
        Value::DateTime(at) => at.to_text(6),
        Value::Time(time) => time.to_text(6),
        _ => return None,
    };
    let text = text.strip_suffix(".000000").unwrap_or(&text);
    Some(Arc::new(Column::new(&format!("'{text}'"), 0)))
}

/// The beginning of a long literal, likewise.
fn long_text_of(expr: &Arc<dyn PhysicalExpr>) -> Option<Arc<dyn PhysicalExpr>> {
    let beginning = LongLiteralUdf::of(expr.downcast_ref::<ScalarFunctionExpr>()?.fun())?.beginning();
    Some(Arc::new(Column::new(&format!("'{beginning}...'"), 0)))
}
