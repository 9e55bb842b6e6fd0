//! Answers statements on the connection's own thread, without parsing them.

use crate::plans::{Answered, AtOnce, ConstantPlan, Found, Route, RowsPlan, SelectPlan, Unanswered};
use crate::result::Outcome;
use crate::result::writer::ResultWriter;
use crate::session::{Begun, DigestOf, Ended, Session};
use crate::state::log::Logged;
use squall_catalog::Authorized;
use squall_instrumentation::prepared::PreparedUse;
use squall_instrumentation::process::count;
use squall_parser::ast::StatementKind;
use squall_planner::rowwise::RowPlan;
use squall_server_state::now_micros;
use squall_types::{SqlResult, Value};
use std::sync::Arc;

/// An attempt to answer.
enum Attempt {
    /// With this many rows, or an error. Only the end of the result is not written.
    Answered(Answered, SqlResult<u64>),
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
        let begun = self.begin_at_once();
        let (statement, route, parameters) = match self.constant_of_text(sql) {
            Some(route) => (None, route, Vec::new()),
            None => match self.route_of_text(sql) {
                Some(Found { statement, route, parameters }) => (statement, route, parameters),
                None => return AtOnce::Left(Unanswered::default()),
            },
        };
        // A constant that is found by its normalized statement has another column name.
        let is_wanted = statement.is_none() || !matches!(route, Route::Constant(_)) && wants(&route);
        if matches!(route, Route::FullPlanner) {
            // It is parsed all the same: names of columns and messages have its literals.
            self.session_plans.give_back(parameters);
            return AtOnce::Left(Unanswered(Some(Found { statement, route, parameters: Vec::new() })));
        }
        if !is_wanted || !self.may_answer_by(&route) {
            return AtOnce::Left(Unanswered(Some(Found { statement, route, parameters })));
        }
        match self.answer(&route, &parameters, writer) {
            Attempt::Answered(answered, written) => {
                self.session_plans.give_back(parameters);
                let digest = match (&statement, &route) {
                    (Some(statement), _) => DigestOf::Prepared(statement),
                    (None, Route::Constant(constant)) => DigestOf::Kept(&constant.digest),
                    (None, _) => DigestOf::Text,
                };
                self.end_at_once((begun, &answered), (Logged { sql, executed: None }, digest, None), written, writer);
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
        let begun = self.begin_at_once();
        let Some(route) = self.route_of_prepared(id, parameters) else { return AtOnce::Left(Unanswered::default()) };
        let Some(prepared) = self.prepared.get(id) else { return AtOnce::Left(Unanswered::default()) };
        let found = |route| Unanswered(Some(Found { statement: None, route, parameters: Vec::new() }));
        if !self.may_answer_by(&route) {
            return AtOnce::Left(found(route));
        }
        match self.answer(&route, parameters, writer) {
            Attempt::Answered(answered, written) => {
                count(&self.process.status.stmt_execute);
                self.prepared.set_cursor(id, None);
                // Only logs ask for the places of the values.
                let places = if begun.logs.any() { prepared.places() } else { &[] };
                let logged = Logged { sql: &prepared.sql, executed: Some((places, parameters)) };
                let digest = DigestOf::Prepared(&prepared);
                self.end_at_once((begun, &answered), (logged, digest, prepared.counted.get()), written, writer);
                AtOnce::Answered
            }
            Attempt::Left(route) => AtOnce::Left(route.map(found).unwrap_or_default()),
        }
    }

    /// Answers a text with a value for each `?` of it; what was found out if it was not answered.
    pub(crate) fn answer_with_values(&mut self, sql: &[u8], values: &[Value], writer: &mut dyn ResultWriter) -> AtOnce {
        let begun = self.begin_at_once();
        let Some(Found { statement: Some(statement), route, .. }) = self.route_of_values(sql, values) else {
            return AtOnce::Left(Unanswered::default());
        };
        let left = |statement, route| {
            AtOnce::Left(Unanswered(Some(Found { statement: Some(statement), route, parameters: Vec::new() })))
        };
        if !self.may_answer_by(&route) {
            return left(statement, route);
        }
        match self.answer(&route, values, writer) {
            Attempt::Answered(answered, written) => {
                // Only logs ask for the places of the values.
                let places = if begun.logs.any() { statement.places() } else { &[] };
                let logged = Logged { sql, executed: Some((places, values)) };
                let digest = DigestOf::Prepared(&statement);
                self.end_at_once((begun, &answered), (logged, digest, None), written, writer);
                AtOnce::Answered
            }
            Attempt::Left(Some(route)) => left(statement, route),
            Attempt::Left(None) => AtOnce::Left(Unanswered::default()),
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
            && !self.shared.write_locked.any()
            && self.xa.is_none()
            && self.held_locks.backup_stage.is_none()
            && !self.identity.password_expired
            && self.identity.hourly_use.is_none();
        if plain {
            self.process.kill.reset();
        }
        plain && self.process.kill.check().is_ok()
    }

    /// A command begins that may be answered on this thread.
    fn begin_at_once(&mut self) -> Begun {
        let begun = Begun::at_once(self);
        self.command.start_micros = begun.start_micros;
        begun
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
        let mut answered =
            Answered { looked_up: Some((plan.point.table().def().id, plan.point.index())), ..Answered::default() };
        let written = match self.read_rows(plan.part(|plan| &plan.point), &lookup) {
            Ok(None) => return Attempt::Left(None),
            Ok(Some(rows)) => {
                answered.rows_examined = rows.len() as u64;
                answered.counts = plan.point.counts(rows.len() as u64);
                writer.begin_kept_result_set(&plan.columns);
                self.write_rows(&plan.point, rows, lookup.limit, None, writer)
            }
            Err(error) => Err(error),
        };
        Attempt::Answered(answered, written)
    }

    fn answer_rows(&mut self, rows: &RowsPlan, parameters: &[Value], writer: &mut dyn ResultWriter) -> Attempt {
        if rows.plan.is_retired() || !self.may_answer_at_once() {
            return Attempt::Left(None);
        }
        let view = self.view();
        let context = Arc::new(self.query_context());
        let answer = RowPlan::run(rows.plan.shared(), (&view, &*self.shared.store), parameters, &context);
        drop(view);
        rows.attempts.end(answer.is_some());
        let Some(answer) = answer else { return Attempt::Left(Some(Route::FullPlanner)) };
        count(&self.process.status.rowwise);
        let answered = Answered {
            uses: if self.instruments().counts_statements() { context.table_uses.take() } else { Vec::new() },
            looked_up: None,
            rows_examined: answer.rows_read(),
            counts: *context.plan_counts.lock(),
        };
        writer.begin_kept_result_set(&rows.columns);
        let written = answer.write(&rows.plan, &self.settings.bind.time_zone, writer);
        Attempt::Answered(answered, written.map(|()| answer.found_rows()))
    }

    fn answer_constant(&mut self, plan: &ConstantPlan, writer: &mut dyn ResultWriter) -> Attempt {
        let Some(values) = plan.values.as_ref().filter(|_| self.may_answer_at_once()) else {
            return Attempt::Left(None);
        };
        writer.begin_kept_result_set(&plan.columns);
        plan.row.write(values, writer);
        Attempt::Answered(Answered::default(), Ok(1))
    }

    /// Ends a query that was answered on this thread: with the number of its rows, or its error. Does what the end of
    /// [`Session::run`] does, without waiting.
    fn end_at_once(
        &mut self,
        (begun, answered): (Begun, &Answered),
        (logged, digest, executed): (Logged<'_>, DigestOf<'_>, Option<&Arc<PreparedUse>>),
        written: SqlResult<u64>,
        writer: &mut dyn ResultWriter,
    ) {
        self.transaction.query_has_ended();
        let status = &self.process.status;
        count(&status.questions);
        count(&status.queries);
        status.statements.count(StatementKind::Select);
        let error = match written {
            Ok(rows) => {
                self.finish(&Outcome::Streamed { rows }, None);
                writer.end_result_set(&self.status_info(false));
                0
            }
            Err(error) => {
                // Nothing was locked or changed.
                drop(self.transaction.statement_failed());
                if !self.transaction.is_open() {
                    self.instruments().count_rollback();
                }
                self.finish_with_error(&error, None);
                writer.error(&error);
                error.code
            }
        };
        self.process.rest(begun.start_micros);
        let ended = Ended {
            begun,
            logged,
            kind: StatementKind::Select,
            statement: None,
            database: None,
            digest,
            executed,
            error,
            answered,
            memory_bytes: 0,
        };
        let now = now_micros();
        if begun.logs.any() {
            self.log_answered(&ended, now);
        }
        self.record(&ended, now);
    }
}
