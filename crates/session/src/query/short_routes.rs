//! Queries that run on the connection's thread: point lookups, constants, and small queries row by row.

use crate::plans::{ConstantPlan, RowsPlan, SelectPlan};
use crate::result::Outcome;
use crate::result::writer::ResultWriter;
use crate::session::{Session, StatementRun};
use squall_catalog::Authorized;
use squall_instrumentation::process::count;
use squall_planner::point::{PointSelect, PointSource, PreparedLookup};
use squall_planner::rowwise::RowPlan;
use squall_row_store::Row;
use squall_statement_context::{StatementContext, TableOperation};
use squall_types::SqlResult;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Session {
    /// Reads rows by a key; `None` if they are too many.
    pub(crate) fn run_point_lookup(
        &mut self,
        plan: Authorized<&SelectPlan>,
        run: &StatementRun<'_>,
        writer: &mut dyn ResultWriter,
    ) -> SqlResult<Option<Outcome>> {
        let Some(lookup) = plan.point.prepare(run.request.parameters)? else { return Ok(None) };
        let Some(rows) = self.read_rows(plan.part(|plan| &plan.point), &lookup)? else { return Ok(None) };
        run.context.planned(&plan.point.counts(rows.len() as u64));
        run.context.rows_examined.fetch_add(rows.len() as u64, Ordering::Relaxed);
        let (table, found) = (plan.point.table().def().id, rows.len().max(1) as u64);
        run.context.table_uses.note(table, plan.point.index(), TableOperation::Fetch, found, None);
        writer.begin_result_set(&plan.columns);
        let rows = self.write_rows(&plan.point, rows, lookup.limit, Some(&run.context), writer)?;
        Ok(Some(Outcome::Streamed { rows }))
    }

    /// Computes one row, and keeps it if it is the same each time.
    pub(crate) fn run_constant(
        &mut self,
        plan: Arc<ConstantPlan>,
        run: &StatementRun<'_>,
        writer: &mut dyn ResultWriter,
    ) -> SqlResult<Outcome> {
        let values = plan.row.values(&run.context)?;
        writer.begin_result_set(&plan.columns);
        plan.row.write(&values, writer);
        if run.request.parameters.is_empty()
            && plan.row.is_literal
            && run.context.diagnostics.count() == 0
            && let Ok(plan) = Arc::try_unwrap(plan)
        {
            let now = self.plan_versions();
            self.session_plans.insert_constant(run.request.sql, now, ConstantPlan { values: Some(values), ..plan });
        }
        Ok(Outcome::Streamed { rows: 1 })
    }

    /// Runs a query row by row; `None` if it is not small; nothing has happened then.
    pub(crate) fn run_row_by_row(
        &mut self,
        rows: &RowsPlan,
        run: &StatementRun<'_>,
        writer: &mut dyn ResultWriter,
    ) -> SqlResult<Option<Outcome>> {
        let view = self.view();
        let read = (&view, &*self.shared.store);
        let Some(answer) = RowPlan::run(rows.plan.shared(), read, run.request.parameters, &run.context) else {
            return Ok(None);
        };
        count(&self.process.status.rowwise);
        run.context.rows_examined.fetch_add(answer.rows_read(), Ordering::Relaxed);
        writer.begin_result_set(&rows.columns);
        answer.write(&rows.plan, &self.settings.bind.time_zone, writer)?;
        Ok(Some(Outcome::Streamed { rows: answer.found_rows() }))
    }

    /// Reads the rows of a look-up, in the open transaction if there is one; `None` if they are too many.
    pub(crate) fn read_rows(
        &mut self,
        plan: Authorized<&PointSelect>,
        lookup: &PreparedLookup,
    ) -> SqlResult<Option<Vec<Row>>> {
        self.begin_read();
        match self.transaction.current() {
            Some(transaction) => PointSelect::read(plan, lookup, PointSource::Transaction(transaction)),
            None => PointSelect::read(plan, lookup, PointSource::Committed(&*self.shared.store)),
        }
    }

    /// Writes what a look-up makes of its rows.
    pub(crate) fn write_rows(
        &mut self,
        plan: &PointSelect,
        rows: Vec<Row>,
        limit: usize,
        context: Option<&Arc<StatementContext>>,
        writer: &mut dyn ResultWriter,
    ) -> SqlResult<u64> {
        // An aggregate asks for it.
        let context = match context {
            None if plan.is_aggregate() => Some(Arc::new(self.query_context())),
            known => known.cloned(),
        };
        plan.write(&rows, limit, || context.unwrap_or_default(), &self.settings.bind.time_zone, writer)
    }
}
