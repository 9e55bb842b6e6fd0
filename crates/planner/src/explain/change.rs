//! EXPLAIN of a data change.

use super::table::{ExplainRow, explain_table, path_row};
use crate::access::path::AccessPath;
use crate::dml::DmlContext;
use crate::dml::find::choose_path;
use crate::dml::plan::{DmlPlan, InsertRows, Selection};
use crate::dml::target::Target;
use squall_row_store::StoreResult;

/// The lines of a data change; those of a query inside of it follow its own.
pub fn explain_change(context: &mut DmlContext<'_>, plan: &DmlPlan) -> StoreResult<Vec<ExplainRow>> {
    let mut rows = Vec::new();
    let query = match plan {
        DmlPlan::Insert(insert) => {
            let select_type = match insert.on_duplicate {
                crate::dml::plan::OnDuplicate::Replace => "REPLACE",
                _ => "INSERT",
            };
            rows.push(ExplainRow {
                id: Some(1),
                select_type: select_type.into(),
                table: Some(insert.target.alias.to_string()),
                access_type: Some("ALL".into()),
                ..ExplainRow::default()
            });
            match &insert.source {
                InsertRows::Query(query) => Some(query),
                InsertRows::Values(_) => None,
            }
        }
        DmlPlan::Update(update) => {
            rows.push(selected(context, &update.target, &update.selection, "UPDATE")?);
            None
        }
        DmlPlan::Delete(delete) => {
            rows.push(selected(context, &delete.target, &delete.selection, "DELETE")?);
            None
        }
        DmlPlan::ByQuery(change) => Some(&change.query),
    };
    if let Some(query) = query {
        let env = crate::dml::find::with_parameters(context);
        let plan = futures::executor::block_on(context.runtime.plan_on_pool(&env, query.plan.clone()))?;
        rows.extend(explain_table(&plan));
    }
    Ok(rows)
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
