//! What a statement reads, so that another session that takes it over can be held to its own privileges.

use crate::session::Session;
use squall_catalog::TableDef;
use squall_planner::bind::{BoundQuery, TableUse, columns_read};
use squall_planner::dml::DmlPlan;
use squall_planner::dml::plan::{InsertRows, NewValue};
use squall_planner::dml::target::Target;
use squall_types::SqlResult;
use std::sync::Arc;

/// What a statement reads.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    /// Tables of a query.
    tables: Vec<TableUse>,
    /// The database and the definition of a table whose single rows are changed, and the columns that are read of it.
    target: Option<(Arc<str>, Arc<TableDef>, Vec<usize>)>,
    /// Whether a view is changed.
    changes_view: bool,
}

impl Reads {
    /// Of a query.
    pub fn of_query(query: &BoundQuery) -> Reads {
        Reads { tables: query.tables.clone(), ..Reads::default() }
    }

    /// Of a change.
    pub fn of_change(plan: &DmlPlan) -> Reads {
        let of_rows = |target: &Target, columns: Vec<usize>| Reads {
            target: Some((target.database.clone(), target.def().clone(), columns)),
            changes_view: target.view.is_some(),
            ..Reads::default()
        };
        match plan {
            DmlPlan::Insert(insert) => match &insert.source {
                InsertRows::Query(query) => {
                    Reads { changes_view: insert.target.view.is_some(), ..Reads::of_query(query) }
                }
                InsertRows::Values(_) => of_rows(&insert.target, Vec::new()),
            },
            DmlPlan::ByQuery(change) => {
                let changes_view = change.changes.iter().any(|change| change.target.view.is_some());
                Reads { changes_view, ..Reads::of_query(&change.query) }
            }
            DmlPlan::Update(update) => {
                let values = update.assignments.iter().filter_map(|assignment| match &assignment.value {
                    NewValue::Expr(value) => Some(value),
                    NewValue::Default => None,
                });
                of_rows(&update.target, update.selection.exprs().chain(values).flat_map(columns_read).collect())
            }
            DmlPlan::Delete(delete) => {
                of_rows(&delete.target, delete.selection.exprs().flat_map(columns_read).collect())
            }
        }
    }

    /// Whether these are base tables only: privileges on what is inside of a view are found while it is bound, and what
    /// other tables hold depends on who reads.
    pub fn only_base_tables(&self) -> bool {
        let base = |table: &TableUse| table.definition.is_some() && table.inside_view.is_none() && !table.is_view;
        !self.changes_view && self.tables.iter().all(base)
    }
}

impl Session {
    /// SELECT of what a statement reads (1142, 1143), and LOCK TABLES (1099, 1100).
    pub(crate) fn check_read(&self, reads: &Reads) -> SqlResult<()> {
        self.check_tables_read(&reads.tables)?;
        match &reads.target {
            Some((database, definition, columns)) if !columns.is_empty() => {
                self.check_columns(database, &definition.name, Some(definition), columns)
            }
            _ => Ok(()),
        }
    }
}
