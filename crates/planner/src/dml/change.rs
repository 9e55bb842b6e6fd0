//! Changes of single rows, which all statements use.

use super::foreign_key::{Cause, delete_row_as, update_row_as};
use super::plan::{ColumnAssignment, NewValue, TableChange, UpdatePlan};
use super::target::{RowMaker, Target};
use super::{DmlContext, DmlResult};
use squall_catalog::TriggerEvent;
use squall_row_store::{Row, StoreResult};
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};

/// Gives a row that was read under a lock its new values; tells whether anything changed.
pub(super) fn update_selected(
    context: &mut DmlContext<'_>,
    plan: &UpdatePlan,
    row: &Row,
    old: &[Value],
    row_number: u64,
) -> StoreResult<bool> {
    let strict = context.env.context.settings.sql_mode.is_strict() && !plan.ignore;
    let maker = RowMaker::of_update(context, &plan.target, strict);
    let evaluate = |_: &DmlContext<'_>| {
        let updated = assign(&maker, &plan.assignments, old, &[], row_number)?;
        maker.before_update(old, updated, row_number)
    };
    // What stored programs have changed stays also where the row does.
    let Some(updated) = context.one_row(plan.ignore, |context| Ok(context.evaluate(evaluate)?))? else {
        return Ok(false);
    };
    let done = context.one_row(plan.ignore, |context| update_row(context, &maker, row, old, &updated))?;
    Ok(done.unwrap_or(false))
}

/// The result of an UPDATE.
pub fn update_result(matched: u64, changed: u64, found_rows: bool) -> DmlResult {
    DmlResult {
        affected_rows: if found_rows { matched } else { changed },
        info: format!("Rows matched: {matched}  Changed: {changed}"),
        ..DmlResult::default()
    }
}

/// The row after the assignments, each seeing those before it; `second` is the other row in scope.
pub fn assign(
    maker: &RowMaker<'_>,
    assignments: &[ColumnAssignment],
    old: &[Value],
    second: &[Value],
    row_number: u64,
) -> SqlResult<Vec<Value>> {
    let def = maker.target.def();
    let mut scope = Vec::with_capacity(old.len() + second.len());
    scope.extend_from_slice(old);
    scope.extend_from_slice(second);
    for assignment in assignments {
        let column = &def.columns[assignment.column];
        if column.generated.is_some() && !matches!(assignment.value, NewValue::Default) {
            return Err(SqlError::new(ErrorCode::BadValueForGeneratedColumn, &[&column.name, &def.name]));
        }
        scope[assignment.column] = match &assignment.value {
            NewValue::Default => maker.default_value(assignment.column, &scope)?,
            NewValue::Expr(expr) => {
                let value = maker.eval(expr, &scope)?;
                maker.convert(column, value, &expr.sql_type(), row_number)?
            }
        };
    }
    scope.truncate(old.len());
    finish_update(maker, &mut scope, old, row_number, &|column| {
        assignments.iter().any(|assignment| assignment.column == column)
    })?;
    Ok(scope)
}

/// ON UPDATE CURRENT_TIMESTAMP and generated columns of a row that has its new values.
pub fn finish_update(
    maker: &RowMaker<'_>,
    row: &mut [Value],
    old: &[Value],
    row_number: u64,
    is_assigned: &dyn Fn(usize) -> bool,
) -> SqlResult<()> {
    maker.generate(row, row_number)?;
    if row != old {
        let mut stamped = false;
        for ordinal in &maker.target.rules.on_update_now {
            if !is_assigned(*ordinal) {
                row[*ordinal] = maker.now_value(&maker.target.def().columns[*ordinal])?;
                stamped = true;
            }
        }
        if stamped {
            maker.generate(row, row_number)?;
        }
    }
    Ok(())
}

/// Writes a row's new values, as the triggers before it have left them, with all checks; runs those behind it, also where nothing changes. Tells
/// whether anything changed.
pub fn update_row(
    context: &mut DmlContext<'_>,
    maker: &RowMaker<'_>,
    row: &Row,
    old: &[Value],
    updated: &[Value],
) -> StoreResult<bool> {
    let changed = update_row_as(context, maker.target, row, (old, updated), maker.strict, &Cause::STATEMENT)?;
    if let Some(triggers) = maker.target.after(TriggerEvent::Update) {
        context.evaluate(|context| triggers.after(TriggerEvent::Update, old, updated, &context.env.context))?;
    }
    Ok(changed)
}

/// Deletes a row with all checks, and the statement's triggers around it.
pub fn delete_row(context: &mut DmlContext<'_>, target: &Target, row: &Row) -> StoreResult<()> {
    let event = TriggerEvent::Delete;
    let (before, after) = (target.before(event), target.after(event));
    if before.is_none() && after.is_none() {
        return delete_row_as(context, target, row, &Cause::STATEMENT);
    }
    let old = target.read_row(row, &context.env.context.settings.time_zone)?;
    if let Some(triggers) = before {
        context.evaluate(|context| triggers.before(event, &old, &mut [], &context.env.context))?;
    }
    delete_row_as(context, target, row, &Cause::STATEMENT)?;
    if let Some(triggers) = after {
        context.evaluate(|context| triggers.after(event, &old, &[], &context.env.context))?;
    }
    Ok(())
}

/// A row with the values that the query gives it; `types` are those of the query's columns.
pub(super) fn new_values(
    maker: &RowMaker<'_>,
    change: &TableChange,
    types: &[SqlType],
    old: &[Value],
    values: &[Value],
    row_number: u64,
) -> SqlResult<Vec<Value>> {
    let def = maker.target.def();
    let mut updated = old.to_vec();
    for (column, source) in &change.values {
        let definition = &def.columns[*column];
        if definition.generated.is_some() && source.is_some() {
            return Err(SqlError::new(ErrorCode::BadValueForGeneratedColumn, &[&definition.name, &def.name]));
        }
        updated[*column] = match source {
            None => maker.default_value(*column, &updated)?,
            Some(source) => maker.convert(definition, values[*source].clone(), &types[*source], row_number)?,
        };
    }
    finish_update(maker, &mut updated, old, row_number, &|column| {
        change.values.iter().any(|(assigned, _)| *assigned == column)
    })?;
    Ok(updated)
}
