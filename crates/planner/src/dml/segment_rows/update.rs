//! The columns that an UPDATE of segment rows reads.

use super::super::DmlContext;
use super::super::plan::NewValue;
use super::super::rules::DefaultRule;
use super::super::target::Target;
use super::note_columns;
use squall_column_tables::SegmentUpdate;
use squall_functions::expr::BoundExpr;
use squall_row_store::StoreResult;

/// By ordinal: whether an UPDATE of segment rows reads a column, `also_read` by the statement's expressions.
pub fn columns_read<'e>(
    update: &SegmentUpdate,
    target: &Target,
    also_read: impl Iterator<Item = &'e BoundExpr>,
) -> Vec<bool> {
    let mut columns = update.columns_read();
    let checks = target.rules.checks.iter().map(|(_, check)| check);
    let checks = checks.chain(target.view.iter().flat_map(|view| &view.checks));
    let generated = target.rules.generated.iter().map(|(_, expr)| expr);
    checks.chain(generated).for_each(|expr| note_columns(expr, &mut columns));
    also_read.for_each(|expr| note_columns(expr, &mut columns));
    columns
}

/// The columns that a DEFAULT reads.
pub fn default_expr<'a>(target: &'a Target, column: usize, value: &'a NewValue) -> Option<&'a BoundExpr> {
    match value {
        NewValue::Expr(expr) => Some(expr),
        NewValue::Default => match &target.rules.defaults[column] {
            DefaultRule::Expr(expr) => Some(expr),
            DefaultRule::None | DefaultRule::Value(_) | DefaultRule::Now => None,
        },
    }
}

/// Whether a statement goes on after an error of one row, of which it warns.
pub fn is_passed_over(context: &DmlContext<'_>, ignore: bool, result: StoreResult<()>) -> StoreResult<()> {
    match result {
        Err(error) if ignore && super::super::ignorable(&error) => {
            context.env.context.diagnostics.warn(error.into());
            Ok(())
        }
        other => other,
    }
}
