//! Changes whose bound plan can be cached, because it does not depend on the values of their parameters.
//!
//! In other statements a parameter is bound as a literal, since the type of `ROUND(x, ?)` or the index for `x > ?` depends on its
//! value. Here values are only stored, added to a column, or looked up in the primary key.

use super::key::operand_of;
use squall_parser::ast;

/// Whether a statement is such a change. Whether its condition is a look-up is left to the binder, see
/// `dml::plan::Selection::key`.
pub fn is_point_change(statement: &ast::Statement) -> bool {
    match statement {
        ast::Statement::Insert(insert) => {
            let values = match &insert.source {
                ast::InsertSource::Values(rows) => {
                    rows.packed.is_none() && rows.trees.iter().flatten().all(is_stored_value)
                }
                ast::InsertSource::Query(_) => false,
            };
            values && insert.on_duplicate.is_empty() && insert.returning.is_empty() && insert.partitions.is_empty()
        }
        ast::Statement::Update(update) => {
            matches!(update.tables.as_slice(), [ast::TableReference::Table(_)])
                && update.with.is_none()
                && update.order_by.is_empty()
                && update.limit.is_none()
                && update
                    .assignments
                    .iter()
                    .all(|assignment| is_stored_value(&assignment.value) || is_column_and_constant(&assignment.value))
                && update.selection.is_some()
        }
        ast::Statement::Delete(delete) => {
            matches!(delete.target, ast::DeleteTarget::Single { .. })
                && delete.with.is_none()
                && delete.order_by.is_empty()
                && delete.limit.is_none()
                && delete.returning.is_empty()
                && delete.selection.is_some()
        }
        _ => false,
    }
}

fn is_stored_value(expr: &ast::Expr) -> bool {
    matches!(expr, ast::Expr::Default | ast::Expr::Literal(ast::Literal::Null)) || operand_of(expr).is_some()
}

/// `column + constant` and `column - constant`.
fn is_column_and_constant(expr: &ast::Expr) -> bool {
    match expr {
        ast::Expr::Binary { op: ast::BinaryOp::Add | ast::BinaryOp::Subtract, left, right } => {
            matches!(**left, ast::Expr::Column(_)) && operand_of(right).is_some()
        }
        _ => false,
    }
}
