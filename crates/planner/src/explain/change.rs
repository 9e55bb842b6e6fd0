//! EXPLAIN of a data change.

use super::table::{ExplainRow, explain_table, path_row};
use super::tree::explain_tree_below;
use crate::dml::DmlContext;
use crate::dml::find::choose_path;
use crate::dml::plan::{DmlPlan, OnDuplicate, QueryChangePlan, Selection, TableChange};
use crate::dml::target::Target;
use squall_catalog::Authorized;
use squall_executor::access::path::AccessPath;
use squall_row_store::StoreResult;
use squall_types::SqlError;

/// The lines of a data change; those of a query inside of it follow its own.
pub fn explain_change(context: &mut DmlContext<'_>, plan: Authorized<&DmlPlan>) -> StoreResult<Vec<ExplainRow>> {
    let mut rows = Vec::new();
    match plan.get() {
        DmlPlan::Insert(insert) => {
            let select_type = match insert.on_duplicate {
                OnDuplicate::Replace => "REPLACE",
                _ => "INSERT",
            };
            rows.push(ExplainRow {
                id: Some(1),
                select_type: select_type.into(),
                table: Some(insert.target.alias.to_string()),
                access_type: Some("ALL".into()),
                ..ExplainRow::default()
            });
        }
        DmlPlan::Update(update) => {
            rows.push(selected(context, &update.target, &update.selection, "UPDATE")?);
        }
        DmlPlan::Delete(delete) => {
            rows.push(selected(context, &delete.target, &delete.selection, "DELETE")?);
        }
        DmlPlan::ByQuery(_) => {}
    }
    if let Some(query) = plan.optional_part(DmlPlan::query) {
        let env = crate::dml::find::with_parameters(context);
        let plan = futures::executor::block_on(context.runtime.plan_on_pool(&env, query.part(|query| &query.plan)))?;
        rows.extend(explain_table(&plan));
    }
    Ok(rows)
}

/// The tree of a data change, whose rows are found by a query if they are not given: [`crate::dml::DmlBinder::by_query`].
pub fn explain_change_tree(context: &mut DmlContext<'_>, plan: Authorized<&DmlPlan>) -> StoreResult<String> {
    let label = match plan.get() {
        DmlPlan::Insert(insert) => {
            let word = if matches!(insert.on_duplicate, OnDuplicate::Replace) { "Replace" } else { "Insert" };
            format!("{word} into {}", insert.target.alias)
        }
        DmlPlan::ByQuery(change) => changed_tables(change),
        DmlPlan::Update(_) | DmlPlan::Delete(_) => return Err(SqlError::internal("a change without a query").into()),
    };
    let Some(query) = plan.optional_part(DmlPlan::query) else { return Ok(explain_tree_below(&label, None)) };
    let env = crate::dml::find::with_parameters(context);
    let plan = futures::executor::block_on(context.runtime.plan_on_pool(&env, query.part(|query| &query.plan)))?;
    Ok(explain_tree_below(&label, Some(&plan)))
}

/// The change of the tables, and whether each row is changed as soon as it is found.
fn changed_tables(change: &QueryChangePlan) -> String {
    let table = |table: &TableChange| {
        // Rows that can be changed at once wait until it is known whether they are many.
        let when = if table.target.table.traits().changes_at_once { "buffered" } else { "immediate" };
        format!("{} ({when})", table.target.alias)
    };
    let tables: Vec<String> = change.changes.iter().map(table).collect();
    format!("{} {}", if change.delete { "Delete from" } else { "Update" }, tables.join(", "))
}

fn selected(
    context: &mut DmlContext<'_>,
    target: &Target,
    selection: &Selection,
    select_type: &str,
) -> StoreResult<ExplainRow> {
    let (path, ordered): (AccessPath, _) = choose_path(context, target, selection)?;
    let mut row = ExplainRow {
        id: Some(1),
        select_type: select_type.into(),
        table: Some(target.alias.to_string()),
        filtered: Some(100.0),
        ..ExplainRow::default()
    };
    row = path_row(target.def(), &path, row);
    if selection.condition.is_some() {
        row.extra.insert(0, "Using where");
    }
    if ordered.is_none() {
        row.extra.push("Using filesort");
    }
    Ok(row)
}
