//! UPDATE of segment rows: the columns that it reads, and the change of one row.

use super::super::DmlContext;
use super::super::plan::NewValue;
use super::super::rules::DefaultRule;
use super::super::target::{RowMaker, Target};
use super::note_columns;
use squall_column_tables::{SegmentChunk, SegmentUpdate};
use squall_functions::expr::BoundExpr;
use squall_row_store::{StoreError, StoreResult};
use squall_types::{SqlResult, Value};

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

/// Gives a row new values, unless they are the old ones. `place` is where it is in its chunk, and its key if indexes change. With `ignore`
/// an error of the row is a warning.
pub fn change_row(
    context: &mut DmlContext<'_>,
    (target, ignore): (&Target, bool),
    update: &mut SegmentUpdate,
    (chunk, place): (&SegmentChunk<'_>, (usize, Option<&[u8]>)),
    old: &[Value],
    new: impl FnOnce(&RowMaker<'_>) -> SqlResult<Vec<Value>>,
) -> StoreResult<()> {
    let strict = context.env.context.settings.sql_mode.is_strict() && !ignore;
    let (env, parameters) = (context.env, context.parameters);
    let maker = RowMaker { target, env, parameters, strict, null_becomes_zero: !strict, null_waits: false };
    let changed = new(&maker).and_then(|new| match new == old {
        true => Ok(None),
        false => maker.check(&new).map(|()| Some(new)),
    });
    let done = changed.map_err(StoreError::Sql).and_then(|changed| match changed {
        Some(new) => {
            let stored = target.stored_row(&new, &env.context.settings.time_zone);
            update.put(context.transaction, chunk, place, &stored)
        }
        None => Ok(()),
    });
    is_passed_over(context, ignore, done)
}

/// Whether a statement goes on after an error of one row, of which it warns.
fn is_passed_over(context: &DmlContext<'_>, ignore: bool, result: StoreResult<()>) -> StoreResult<()> {
    match result {
        Err(error) if ignore && super::super::ignorable(&error) => {
            context.env.context.diagnostics.warn(error.into());
            Ok(())
        }
        other => other,
    }
}
