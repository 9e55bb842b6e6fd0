//! Which changes are short for any data, so that the connection's own thread carries them out.

use super::plan::{DmlPlan, InsertRows, NewValue, OnDuplicate, Selection};
use super::rules::are_brief;
use super::target::Target;
use super::ways::{RowEvent, WayOptions};
use squall_functions::expr::{BoundExpr, CompareOp};

/// Rows that an INSERT may have to be carried out on the connection's own thread.
const INLINE_ROWS_MAX: usize = 64;

impl DmlPlan {
    /// Whether a change is short for any data: literal rows, or one row by its primary key, without a part that waits or makes long
    /// strings, and nothing that follows from it in other rows.
    pub fn runs_inline(&self, foreign_key_checks: bool) -> bool {
        let options = WayOptions { foreign_key_checks, ..WayOptions::default() };
        match self {
            DmlPlan::Insert(insert) => match &insert.source {
                InsertRows::Values(rows) => {
                    let on_duplicate = match &insert.on_duplicate {
                        OnDuplicate::Update(assignments) => assignments.as_slice(),
                        OnDuplicate::Fail | OnDuplicate::Replace => &[],
                    };
                    rows.len() <= INLINE_ROWS_MAX
                        && insert.target.ways(insert.event(&insert.assigned()), options).inline
                        && rows.values().all(|value| is_brief(value, &insert.target))
                        && on_duplicate.iter().all(|assignment| is_brief(&assignment.value, &insert.target))
                }
                InsertRows::Query(_) => false,
            },
            DmlPlan::Update(update) => {
                let assigned = || update.assignments.iter().map(|assignment| assignment.column).collect::<Vec<_>>();
                is_of_one_row(&update.target, &update.selection)
                    && update.target.ways(RowEvent::Update(&assigned()), options).inline
                    && update.assignments.iter().all(|assignment| is_brief(&assignment.value, &update.target))
            }
            DmlPlan::Delete(delete) => {
                is_of_one_row(&delete.target, &delete.selection) && delete.target.ways(RowEvent::Delete, options).inline
            }
            DmlPlan::ByQuery(_) => false,
        }
    }
}

fn is_brief(value: &NewValue, target: &Target) -> bool {
    match value {
        NewValue::Default => are_brief(&target.rules.defaults),
        NewValue::Expr(expr) => expr.is_brief(),
    }
}

/// Whether a condition gives every column of the primary key a constant, alone or joined by AND.
fn is_of_one_row(target: &Target, selection: &Selection) -> bool {
    let names_key = || {
        let (Some(condition), Some(key)) = (&selection.condition, target.rules.unique.iter().find(|key| key.primary))
        else {
            return false;
        };
        let mut equal = Vec::new();
        equal_columns(condition, &mut equal);
        key.columns.iter().all(|ordinal| equal.contains(ordinal))
    };
    (selection.key.is_some() || names_key()) && selection.exprs().all(BoundExpr::is_brief)
}

fn equal_columns(condition: &BoundExpr, found: &mut Vec<usize>) {
    match condition {
        BoundExpr::And(parts) => parts.iter().for_each(|part| equal_columns(part, found)),
        BoundExpr::Compare { op: CompareOp::Equal, left, right, .. } => {
            for (column, other) in [(left, right), (right, left)] {
                if let BoundExpr::Column(column) = &**column
                    && other.is_constant()
                {
                    found.push(column.ordinal);
                }
            }
        }
        _ => {}
    }
}
