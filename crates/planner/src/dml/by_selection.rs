//! UPDATE and DELETE of one table, whose rows a condition selects.

use super::change::{delete_row, update_result, update_selected};
use super::find::{RowChange, change_keys, choose_path, find_by_columns, for_each_selected, note_use, push_returned};
use super::plan::{DeletePlan, Selection, UpdatePlan};
use super::query::{OnLastAttempt, with_newer_rows};
use super::segment_rows::{self, BulkDone, FoundRows};
use super::target::Target;
use super::ways::RowEvent;
use super::{DmlContext, DmlResult};
use squall_catalog::IndexId;
use squall_row_store::StoreResult;
use squall_statement_context::TableOperation;

/// Carries an UPDATE out.
pub(super) fn execute_update(context: &mut DmlContext<'_>, plan: &UpdatePlan) -> StoreResult<DmlResult> {
    change_selected(context, &plan.selection, |context| {
        let (mut matched, mut changed) = (0u64, 0u64);
        let assigned: Vec<usize> = plan.assignments.iter().map(|assignment| assignment.column).collect();
        let event = RowEvent::Update(&assigned);
        let found = match find_in_segments(context, &plan.target, &plan.selection, (event, false))? {
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

/// Carries a DELETE out.
pub(super) fn execute_delete(context: &mut DmlContext<'_>, plan: &DeletePlan) -> StoreResult<DmlResult> {
    change_selected(context, &plan.selection, |context| {
        let mut result = DmlResult::default();
        let event = (RowEvent::Delete, !plan.returning.is_empty());
        let found = match find_in_segments(context, &plan.target, &plan.selection, event)? {
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

/// Changes the selected rows, all or none. One row is found when it is locked; where several are looked for, the statement begins again if one
/// of them has changed meanwhile.
fn change_selected<T>(
    context: &mut DmlContext<'_>,
    selection: &Selection,
    attempt: impl FnMut(&mut DmlContext<'_>) -> StoreResult<T>,
) -> StoreResult<T> {
    match selection.key.is_some() {
        true => context.atomically(attempt),
        false => with_newer_rows(context, OnLastAttempt::TakeNewest, attempt),
    }
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

/// Looks for the rows of a column table by columns, if the statement has neither ORDER BY nor LIMIT. `one_by_one` says that the result of
/// each row is needed.
fn find_in_segments(
    context: &mut DmlContext<'_>,
    target: &Target,
    selection: &Selection,
    (event, one_by_one): (RowEvent<'_>, bool),
) -> StoreResult<Found> {
    if !target.table.traits().changes_at_once
        || context.env.context.programs.are_called()
        || selection.limit.is_some()
        || selection.key.is_some()
    {
        return Ok(Found::Other);
    }
    let (path, _) = choose_path(context, target, selection)?;
    let Some(found) = find_by_columns(context, target, selection, &path)? else { return Ok(Found::Other) };
    if !found.are_many() {
        return Ok(Found::Few(found));
    }
    let moves = matches!(event, RowEvent::Update(assigned) if !target.rules.keeps_primary_key(assigned));
    Ok(match context.ways(target, event, one_by_one)?.at_once {
        true => Found::Many(found),
        // Keys of all rows would be kept.
        false if moves || one_by_one => Found::Other,
        false => Found::Few(found),
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
