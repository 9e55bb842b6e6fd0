//! Answers statements on the connection's own thread, without parsing them.

use crate::plans::{Answered, AtOnce, ConstantPlan, Found, Route, RowsPlan, SelectPlan, Unanswered};
use crate::result::writer::{ResultWriter, StatusInfo};
use crate::session::Session;
use crate::state::log::Logged;
use squall_accounting::PlanCounts;
use squall_catalog::Authorized;
use squall_instrumentation::process::count;
use squall_parser::ast::StatementKind;
use squall_planner::rowwise::RowPlan;
use squall_server_state::now_micros;
use squall_types::{SqlResult, Value};
use std::sync::Arc;

/// An attempt to answer.
pub(crate) enum Attempt {
    Answered(Answered),
    /// Nothing has happened; the statement can be run by this route.
    Left(Option<Route>),
}

impl Session {
    /// [`Connection::query_at_once`](crate::api::Connection::query_at_once), by the routes that are wanted.
    pub(crate) fn answer_text(
        &mut self,
        sql: &[u8],
        wants: impl Fn(&Route) -> bool,
        writer: &mut dyn ResultWriter,
    ) -> AtOnce {
        self.begin_at_once();
        let (statement, route, parameters) = match self.constant_of_text(sql) {
            Some(route) => (None, route, Vec::new()),
            None => match self.route_of_text(sql) {
                Some(Found { statement, route, parameters }) => (statement, route, parameters),
                None => return AtOnce::Left(Unanswered::default()),
            },
        };
        // A constant that is found by its normalized statement has another column name.
        let is_wanted = statement.is_none() || !matches!(route, Route::Constant(_)) && wants(&route);
        if !is_wanted || !self.may_answer_by(&route) {
            return AtOnce::Left(Unanswered(Some(Found { statement, route, parameters })));
        }
        match self.answer(&route, &parameters, writer) {
            Attempt::Answered(answered) => {
                self.session_plans.give_back(parameters);
                self.log_answered(Logged { sql, executed: None });
                self.tell_of_answer(sql);
                if self.instruments().counts_statements() {
                    match &statement {
                        Some(statement) => self.count_answered(statement.digest(), &route, answered, sql, None),
                        None => self.count_constant(&route, sql),
                    }
                }
                AtOnce::Answered
            }
            Attempt::Left(Some(route)) => AtOnce::Left(Unanswered(Some(Found { statement, route, parameters }))),
            Attempt::Left(None) => {
                self.session_plans.give_back(parameters);
                AtOnce::Left(Unanswered::default())
            }
        }
    }

    /// [`Connection::execute_at_once`](crate::api::Connection::execute_at_once).
    pub(crate) fn answer_prepared(&mut self, id: u32, parameters: &[Value], writer: &mut dyn ResultWriter) -> AtOnce {
        self.begin_at_once();
        let Some(route) = self.route_of_prepared(id, parameters) else { return AtOnce::Left(Unanswered::default()) };
        let Some(prepared) = self.prepared.get(id) else { return AtOnce::Left(Unanswered::default()) };
        let found = |route| Unanswered(Some(Found { statement: None, route, parameters: Vec::new() }));
        if !self.may_answer_by(&route) {
            return AtOnce::Left(found(route));
        }
        match self.answer(&route, parameters, writer) {
            Attempt::Answered(answered) => {
                count(&self.process.status.stmt_execute);
                self.prepared.set_cursor(id, None);
                if self.shared.logs.active().any() {
                    self.log_answered(Logged { sql: &prepared.sql, executed: Some((prepared.places(), parameters)) });
                }
                self.tell_of_answer(&prepared.sql);
                if self.instruments().counts_statements() {
                    let counted = prepared.counted.get();
                    self.count_answered(prepared.digest(), &route, answered, &prepared.sql, counted);
                }
                AtOnce::Answered
            }
            Attempt::Left(route) => AtOnce::Left(route.map(found).unwrap_or_default()),
        }
    }

    /// Tells listeners of a query that was answered on this thread.
    fn tell_of_answer(&self, sql: &[u8]) {
        if !self.shared.listeners.is_empty() {
            let micros = u64::try_from(now_micros() - self.command.start_micros).unwrap_or(0);
            let error = self.diagnostics.rows().last().filter(|_| self.diagnostics.errors() > 0);
            self.tell_of_statement(sql, micros, error.map(|error| error.error.code));
        }
    }

    /// Whether a statement of this route may be answered before it is logged: an audited one has to be in the log before it runs.
    fn may_answer_by(&self, route: &Route) -> bool {
        route.is_short() && !self.shared.logs.active().audit()
    }

    /// Answers a query by its short route without waiting for anything.
    fn answer(&mut self, route: &Route, parameters: &[Value], writer: &mut dyn ResultWriter) -> Attempt {
        match route {
            Route::PointLookup(plan) => self.answer_lookup((**plan).as_ref(), parameters, writer),
            Route::RowByRow(plan) => self.answer_rows(plan, parameters, writer),
            Route::Constant(plan) => self.answer_constant(plan, writer),
            _ => Attempt::Left(None),
        }
    }

    /// Whether a query may be answered on this thread, without the care that [`Session::run`] takes.
    fn may_answer_at_once(&mut self) -> bool {
        let plain = self.settings.select_limit == u64::MAX
            && self.held_locks.tables.is_none()
            && self.xa.is_none()
            && self.held_locks.backup_stage.is_none()
            && self.command.pending_notes.is_empty()
            && !self.identity.password_expired;
        if plain {
            self.process.kill.reset();
        }
        plain && self.process.kill.check().is_ok()
    }

    /// A statement begins that may be answered on this thread.
    fn begin_at_once(&mut self) {
        self.command.start_micros = now_micros();
        self.command.start_thread_nanos = self.instruments().begin_thread_time();
        self.log.rows_examined = 0;
    }

    fn answer_lookup(
        &mut self,
        plan: Authorized<&SelectPlan>,
        parameters: &[Value],
        writer: &mut dyn ResultWriter,
    ) -> Attempt {
        if plan.point.table().is_retired() || !self.may_answer_at_once() {
            return Attempt::Left(None);
        }
        let Some(lookup) = plan.point.prepare(parameters).ok().flatten() else { return Attempt::Left(None) };
        let mut counts = PlanCounts::default();
        let written = match self.read_rows(plan.part(|plan| &plan.point), &lookup) {
            Ok(None) => return Attempt::Left(None),
            Ok(Some(rows)) => {
                counts = plan.point.counts(rows.len() as u64);
                self.process.status.add_plan(&counts);
                writer.begin_kept_result_set(&plan.columns);
                self.write_rows(&plan.point, rows, lookup.limit, None, writer)
            }
            Err(error) => Err(error),
        };
        self.end_at_once(written, writer);
        Attempt::Answered(Answered { uses: Vec::new(), counts })
    }

    fn answer_rows(&mut self, rows: &RowsPlan, parameters: &[Value], writer: &mut dyn ResultWriter) -> Attempt {
        if rows.plan.is_retired() || !self.may_answer_at_once() {
            return Attempt::Left(None);
        }
        let view = self.view_at_once();
        let context = Arc::new(self.query_context());
        let answer = RowPlan::run(rows.plan.shared(), (&view, &*self.shared.store), parameters, &context);
        drop(view);
        rows.attempts.end(answer.is_some());
        let Some(answer) = answer else { return Attempt::Left(Some(Route::FullPlanner)) };
        self.note_rowwise(&answer);
        let uses = if self.instruments().counts_statements() { context.table_uses.take() } else { Vec::new() };
        let counts = *context.plan_counts.lock();
        self.process.status.add_plan(&counts);
        writer.begin_kept_result_set(&rows.columns);
        let written = answer.write(&rows.plan, &self.settings.bind.time_zone, writer);
        self.end_at_once(written.map(|()| answer.found_rows()), writer);
        Attempt::Answered(Answered { uses, counts })
    }

    fn answer_constant(&mut self, plan: &ConstantPlan, writer: &mut dyn ResultWriter) -> Attempt {
        let Some(values) = plan.values.as_ref().filter(|_| self.may_answer_at_once()) else {
            return Attempt::Left(None);
        };
        writer.begin_kept_result_set(&plan.columns);
        plan.row.write(values, writer);
        self.end_at_once(Ok(1), writer);
        Attempt::Answered(Answered::default())
    }

    /// Ends a query that was answered on this thread: with the number of its rows, or its error.
    fn end_at_once(&mut self, written: SqlResult<u64>, writer: &mut dyn ResultWriter) {
        self.transaction.query_has_ended();
        let status = &self.process.status;
        count(&status.questions);
        count(&status.queries);
        status.statements.count(StatementKind::Select);
        match written {
            Ok(rows) => {
                self.diagnostics.clear();
                self.previous.row_count = -1;
                self.previous.found_rows = rows;
                self.publish_counts();
                let status: StatusInfo = self.status_info(false);
                writer.end_result_set(&status);
            }
            Err(error) => {
                // Nothing was locked or changed.
                drop(self.transaction.statement_failed());
                if !self.transaction.is_open() {
                    self.instruments().count_rollback();
                }
                self.finish_with_error(&error, None);
                writer.error(&error);
            }
        }
        self.process.rest(self.command.start_micros);
    }
}
