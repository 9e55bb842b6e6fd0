//! Small queries that run row by row: see [`squall_planner::rowwise`].

use crate::api::ResultWriter;
use crate::authorization::Authorized;
use crate::kept_plan::{KeptPlan, RowsPlan};
use crate::process::count;
use crate::result::Outcome;
use crate::session::{Request, Session};
use squall_catalog::Catalog;
use squall_parser::ast::{self, Query, Statement};
use squall_planner::rowwise::{self, Answer, RowPlan};
use squall_planner::{Binder, ParameterKind};
use squall_registry::{PlanCounts, StatementContext};
use squall_row_store::ReadView;
use squall_types::{SqlResult, Value};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use super::resolver::SessionTables;

impl Session {
    /// The plan of a small query with parameters in it, to be kept.
    pub(crate) fn kept_rows(
        &mut self,
        query: &Query,
        sql: &[u8],
        parameters: &[Value],
        context: &Arc<StatementContext>,
    ) -> KeptPlan {
        let Some(kinds) = parameters.iter().map(ParameterKind::of).collect::<Option<Box<[_]>>>() else {
            return KeptPlan::General;
        };
        // Variables are bound with the values and types that they have.
        if sql.contains(&b'@') || !rowwise::may_be_small(query) {
            return KeptPlan::General;
        }
        let view = self.view_at_once();
        match self.row_plan(query, sql, parameters, context, &view, true) {
            Some(plan) if plan.keeps_meaning() => {
                let columns = super::meta::columns(plan.columns()).into();
                KeptPlan::Rows(Arc::new(RowsPlan { plan, columns, kinds, given_up: AtomicU32::new(0) }))
            }
            _ => KeptPlan::General,
        }
    }

    /// The plan of a small query, if the session may read what it reads.
    fn row_plan(
        &self,
        query: &Query,
        sql: &[u8],
        parameters: &[Value],
        context: &Arc<StatementContext>,
        view: &ReadView,
        keeps_parameters: bool,
    ) -> Option<Authorized<RowPlan>> {
        let catalog: Arc<Catalog> = self.shared.catalog.load();
        let table_of = |name: &ast::ObjectName| self.base_table(&catalog, name);
        let tables = SessionTables::new(self, context, None);
        let binder = Binder { keeps_parameters, ..self.binder(sql, parameters, &catalog, context, &tables) };
        let plan = rowwise::plan(query, &binder, &self.shared.store, view, &table_of)?;
        self.authorize(plan).ok()
    }

    /// What a statement reads that is answered on this thread.
    fn view_at_once(&mut self) -> ReadView {
        if !self.reads_committed_now() {
            self.begin_statement_transaction();
        }
        match self.transaction.current() {
            Some(transaction) => transaction.read_view(),
            None => self.shared.store.read_view(),
        }
    }

    /// Answers a small query; see [`Session::answer_kept`].
    pub(super) fn answer_rows(&mut self, rows: &RowsPlan, parameters: &[Value], writer: &mut dyn ResultWriter) -> bool {
        if rows.plan.is_retired() || !rows.takes(parameters) || !self.may_answer_at_once() {
            return false;
        }
        let view = self.view_at_once();
        let context = Arc::new(self.statement_context(&Statement::UnlockTables));
        let answer = rows.plan.run(&view, parameters, &context);
        drop(view);
        rows.note(answer.is_some());
        let Some(answer) = answer else {
            self.not_small = true;
            return false;
        };
        self.note_rowwise(&answer);
        if self.counts_statements() {
            self.answered_uses = context.table_uses.take();
        }
        self.note_counts(*context.plan_counts.lock());
        writer.begin_kept_result_set(&rows.columns);
        let written = answer.write(&rows.plan, &self.settings.bind.time_zone, writer);
        self.end_at_once(written.map(|()| answer.found_rows()), writer);
        true
    }

    /// Runs a query row by row, if it is small; nothing has happened if it is not.
    pub(super) fn run_rowwise(
        &mut self,
        query: &Query,
        request: Request<'_>,
        context: &Arc<StatementContext>,
        writer: &mut dyn ResultWriter,
    ) -> SqlResult<Option<Outcome>> {
        let tried = std::mem::take(&mut self.not_small);
        // A view may begin a transaction: not for what cannot be small.
        if tried
            || self.settings.select_limit != u64::MAX
            || self.table_locks.is_some()
            || !rowwise::may_be_small(query)
        {
            return Ok(None);
        }
        let view = self.view_at_once();
        let Some(plan) = self.row_plan(query, request.sql, request.parameters, context, &view, false) else {
            return Ok(None);
        };
        let Some(answer) = plan.run(&view, request.parameters, context) else { return Ok(None) };
        self.note_rowwise(&answer);
        writer.begin_result_set(&super::meta::columns(plan.columns()));
        answer.write(&plan, &self.settings.bind.time_zone, writer)?;
        Ok(Some(Outcome::Streamed { rows: answer.found_rows() }))
    }

    /// How a query that is answered on this thread read and sorted.
    pub(super) fn note_counts(&mut self, counts: PlanCounts) {
        self.process.status.add_plan(&counts);
        self.answered_counts = counts;
    }

    fn note_rowwise(&mut self, answer: &Answer) {
        count(&self.process.status.rowwise);
        self.log.rows_examined = answer.rows_read();
    }
}
