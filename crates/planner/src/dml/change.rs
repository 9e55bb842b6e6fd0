//! UPDATE and DELETE of one table, and the changes of single rows that all statements use.

use super::find::{RowChange, change_keys, choose_path, find_by_columns, for_each_selected, note_use, push_returned};
use super::foreign_key::{self, Cause};
use super::plan::{ColumnAssignment, DeletePlan, NewValue, Selection, UpdatePlan};
use super::segment_rows::{self, BulkDone, FoundRows};
use super::target::{RowMaker, Target};
use super::{DmlContext, DmlResult};
use squall_catalog::{IndexId, TriggerEvent};
use squall_row_store::{Row, StoreResult};
use squall_statement_context::TableOperation;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};

/// Carries an UPDATE out.
pub(super) fn execute_update(context: &mut DmlContext<'_>, plan: &UpdatePlan) -> StoreResult<DmlResult> {
    context.atomically(|context| {
        let (mut matched, mut changed) = (0u64, 0u64);
        let found = match find_in_segments(context, &plan.target, &plan.selection)? {
            Found::Many(found) => segment_rows::update(context, plan, found)?.map_or(Found::Other, Found::Changed),
            found => found,
        };
        if let Found::Changed(done) = &found {
            (matched, changed) = (done.matched, done.changed);
        }
        let index = for_each_found(context, &plan.target, &plan.selection, found, &mut |context, row, old| {
            matched += 1;
            changed += u64::from(update_selected(context, plan, row, &old, matched)?);
            Ok(true)
        })?;
        note_use(context, &plan.target, index, TableOperation::Update, changed);
        Ok(update_result(matched, changed, context.options.found_rows))
    })
}

/// Gives a row that was read under a lock its new values; tells whether anything changed.
pub fn update_selected(
    context: &mut DmlContext<'_>,
    plan: &UpdatePlan,
    row: &Row,
    old: &[Value],
    row_number: u64,
) -> StoreResult<bool> {
    let strict = context.env.context.settings.sql_mode.is_strict() && !plan.ignore;
    let maker = update_maker(context, &plan.target, strict);
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

/// How the new values of the rows of an UPDATE are made.
pub fn update_maker<'a>(context: &DmlContext<'a>, target: &'a Target, strict: bool) -> RowMaker<'a> {
    let null_waits = target.before(TriggerEvent::Update).is_some();
    let (env, parameters) = (context.env, context.parameters);
    RowMaker { target, env, parameters, strict, null_becomes_zero: !strict, null_waits }
}

/// How a statement's rows were found.
enum Found {
    /// Some of a column table, one by one to be changed.
    Few(FoundRows),
    /// Many of a column table.
    Many(FoundRows),
    /// Those were changed, but for some.
    Changed(BulkDone),
    /// Nothing yet: they are found along an access path.
    Other,
}

/// Looks for the rows of a column table by columns, if the statement has neither ORDER BY nor LIMIT.
fn find_in_segments(context: &mut DmlContext<'_>, target: &Target, selection: &Selection) -> StoreResult<Found> {
    if !target.table.traits().changes_at_once
        || context.env.context.programs.are_called()
        || selection.limit.is_some()
        || selection.key.is_some()
    {
        return Ok(Found::Other);
    }
    let (path, _) = choose_path(context, target, selection)?;
    Ok(match find_by_columns(context, target, selection, &path)? {
        Some(found) if found.are_many() && context.may_change_at_once(target) => Found::Many(found),
        Some(found) => Found::Few(found),
        None => Found::Other,
    })
}

/// Calls `change` for the selected rows that are not changed yet; gives the index by which they were found.
fn for_each_found(
    context: &mut DmlContext<'_>,
    target: &Target,
    selection: &Selection,
    found: Found,
    change: &mut RowChange<'_>,
) -> StoreResult<Option<IndexId>> {
    let keys = match found {
        Found::Changed(done) => done.left,
        Found::Few(found) => found.keys(context, target, selection)?,
        Found::Many(_) | Found::Other => return for_each_selected(context, target, selection, change),
    };
    change_keys(context, target, selection, (keys, u64::MAX), change)?;
    Ok(None)
}

/// The result of an UPDATE.
pub fn update_result(matched: u64, changed: u64, found_rows: bool) -> DmlResult {
    DmlResult {
        affected_rows: if found_rows { matched } else { changed },
        info: format!("Rows matched: {matched}  Changed: {changed}"),
        ..DmlResult::default()
    }
}

/// Carries a DELETE out.
pub(super) fn execute_delete(context: &mut DmlContext<'_>, plan: &DeletePlan) -> StoreResult<DmlResult> {
    context.atomically(|context| {
        let mut result = DmlResult::default();
        let found = match find_in_segments(context, &plan.target, &plan.selection)? {
            Found::Many(found) => segment_rows::delete(context, plan, found)?.map_or(Found::Other, Found::Changed),
            found => found,
        };
        if let Found::Changed(done) = &found {
            result.affected_rows = done.changed;
        }
        let index = for_each_found(context, &plan.target, &plan.selection, found, &mut |context, row, old| {
            if context.one_row(plan.ignore, |context| delete_row(context, &plan.target, row))?.is_none() {
                return Ok(false);
            }
            result.affected_rows += 1;
            push_returned(&mut result, context, &plan.target, &plan.returning, &old)?;
            Ok(true)
        })?;
        note_use(context, &plan.target, index, TableOperation::Delete, result.affected_rows);
        Ok(result)
    })
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

/// [`update_row`] because of something.
pub(super) fn update_row_as(
    context: &mut DmlContext<'_>,
    target: &Target,
    row: &Row,
    (old, updated): (&[Value], &[Value]),
    strict: bool,
    cause: &Cause<'_>,
) -> StoreResult<bool> {
    if updated == old {
        return Ok(false);
    }
    update_maker(context, target, strict).check(updated)?;
    let stored = target.stored_row(updated, &context.env.context.settings.time_zone);
    context.transaction.update(&target.table, row, &stored)?;
    if context.options.foreign_key_checks {
        foreign_key::check_parents(context, target, updated, Some(old))?;
        let children = context.children(target);
        foreign_key::parent_updated(context, target, &children, (old, updated), cause)?;
    }
    Ok(true)
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

/// [`delete_row`] because of something.
pub(super) fn delete_row_as(
    context: &mut DmlContext<'_>,
    target: &Target,
    row: &Row,
    cause: &Cause<'_>,
) -> StoreResult<()> {
    context.transaction.delete(&target.table, row)?;
    let children = context.children(target);
    if children.is_empty() {
        return Ok(());
    }
    let old = target.read_row(row, &context.env.context.settings.time_zone)?;
    foreign_key::parent_deleted(context, target, &children, &old, cause)
}
