//! The columns of a result, as a client is told of them before it runs the statement.

use crate::connection::CursorBuffer;
use crate::query::select_all::select_all;
use crate::query::select_of;
use crate::query::virtual_change::changed_virtual_table;
use crate::result::column_meta::columns;
use crate::result::writer::ColumnMeta;
use crate::session::{Request, Session, StatementRun};
use squall_catalog::{Need, Touches};
use squall_parser::ast::{ExplainTarget, ObjectName, Statement};
use squall_planner::BoundQuery;
use squall_planner::dml::DmlPlan;
use squall_planner::dml::plan::InsertRows;
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult};
use std::sync::Arc;

impl Session {
    /// Columns of a statement's result, empty if it has none, and its needs if the columns are the same for every session that may
    /// run it.
    pub(crate) async fn result_columns(
        &mut self,
        request: Request<'_>,
    ) -> SqlResult<(Vec<ColumnMeta>, Option<Vec<Need>>)> {
        match self.columns_without_values(request).await {
            // They depend on the values of parameters, and are told when it is executed.
            Err(error) if error.is(ErrorCode::NeedReprepare) => Ok((Vec::new(), None)),
            known => known,
        }
    }

    async fn columns_without_values(
        &mut self,
        request: Request<'_>,
    ) -> SqlResult<(Vec<ColumnMeta>, Option<Vec<Need>>)> {
        let statement = request.statement;
        if let Err(error) = self.check_names(statement)
            && error.is(ErrorCode::NoDatabase)
        {
            return Err(error);
        }
        let run = self.bindable(request);
        let catalog = self.shared.catalog.load();
        match statement {
            // Their names are checked as if they were queries of their own.
            Statement::Explain(explain) => {
                if let ExplainTarget::Statement(explained) = &explain.target {
                    let request = Request { statement: explained, route: None, long: None, ..run.request };
                    let known = Box::pin(self.columns_without_values(request)).await;
                    names_are_known(known.map(|_| ()))?;
                }
                Ok((Vec::new(), None))
            }
            Statement::CreateView(_) if run.request.placeholders > 0 => {
                Err(SqlError::new(ErrorCode::ViewSelectVariable, &[]))
            }
            Statement::CreateView(view) => {
                let bound = self.bind_query(&view.query, run.request.sql, &[], &catalog, &run.context, None);
                names_are_known(bound.map(|_| ()))?;
                Ok((Vec::new(), None))
            }
            Statement::Query(query) => {
                let bound = self.bind_sent_query(query, &run, &catalog).await?;
                let bound = self.security().authorize(bound)?;
                let columns = if bound.into.is_some() { Vec::new() } else { columns(&bound.columns) };
                Ok((columns, reads_base_tables(&bound).then(|| bound.needs())))
            }
            // Its values are looked at when it is executed.
            Statement::Insert(insert) if self.sequence_of(&insert.table).is_some() => Ok((Vec::new(), None)),
            Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => {
                if let Some(table) = changed_virtual_table(&self.security(), statement) {
                    self.check_virtual_change(&*table, statement)?;
                    return Ok((Vec::new(), None));
                }
                let plan = self.bind_change_of(&run, &catalog).await?;
                Ok((super::change::returned_columns(&plan), changes_base_tables(&plan).then(|| plan.needs())))
            }
            Statement::Do(exprs) => {
                let query = select_of(exprs);
                let bound = self.bind_query(&query, run.request.sql, &[], &catalog, &run.context, None);
                names_are_known(bound.map(|_| ()))?;
                Ok((Vec::new(), None))
            }
            Statement::TableMaintenance(maintenance) => {
                Ok((crate::commands::maintenance_result(maintenance.kind).columns, None))
            }
            // What these show does not depend on parameters: they are run once for their columns.
            Statement::Show(_) | Statement::DescribeTable(_) => {
                let mut buffer = CursorBuffer::new(&self.process.memory);
                let run = StatementRun::begin(self, request);
                match Box::pin(self.dispatch(&run, &mut buffer)).await {
                    Ok(crate::result::Outcome::Rows(result)) => Ok((result.columns, None)),
                    Ok(_) | Err(crate::result::Failure::Client(_)) => Ok((Vec::new(), None)),
                    Err(crate::result::Failure::Sql(error)) => Err(error),
                }
            }
            _ => Ok((Vec::new(), None)),
        }
    }

    /// COM_FIELD_LIST.
    pub(crate) fn columns_matching(&mut self, table: &str, wildcard: &str) -> SqlResult<Vec<ColumnMeta>> {
        let name = ObjectName::new(table);
        let context = Arc::new(self.query_context());
        let catalog = self.shared.catalog.load();
        let bound = self.bind_query(&select_all(name), b"", &[], &catalog, &context, None)?;
        let bound = self.security().authorize(bound)?;
        let mut list = columns(&bound.columns);
        if !wildcard.is_empty() {
            let collation = CollationId::UTF8MB3_GENERAL_CI;
            list.retain(|column| squall_types::collation::like_match(collation, &column.name, wildcard, Some('\\')));
        }
        Ok(list)
    }
}

/// Of the query of a view, or of what EXPLAIN explains, PREPARE tells only that a name is not there. All else is told in its order when
/// the statement is executed.
fn names_are_known(bound: SqlResult<()>) -> SqlResult<()> {
    const OF_NAMES: [ErrorCode; 3] = [ErrorCode::NoDatabase, ErrorCode::NoSuchTable, ErrorCode::BadField];
    bound.or_else(|error| if OF_NAMES.iter().any(|code| error.is(*code)) { Err(error) } else { Ok(()) })
}

/// Whether a query reads base tables only: what views are made of, and what other tables hold, depends on the
/// account.
fn reads_base_tables(query: &BoundQuery) -> bool {
    query.is_told_by_text && query.tables.iter().all(|table| table.definition.is_some() && table.inside_view.is_none())
}

/// The same of a change.
fn changes_base_tables(plan: &DmlPlan) -> bool {
    match plan {
        DmlPlan::Insert(insert) => {
            insert.target.view.is_none()
                && match &insert.source {
                    InsertRows::Query(query) => reads_base_tables(query),
                    InsertRows::Values(_) => true,
                }
        }
        DmlPlan::Update(update) => update.target.view.is_none(),
        DmlPlan::Delete(delete) => delete.target.view.is_none(),
        DmlPlan::ByQuery(change) => {
            change.changes.iter().all(|change| change.target.view.is_none()) && reads_base_tables(&change.query)
        }
    }
}
