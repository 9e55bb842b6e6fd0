//! Point statements: making their plans, and answering the ones that need not wait for anything.

use crate::api::{ResultWriter, StatusInfo};
use crate::database::now_micros;
use crate::kept_plan::{ChangePlan, KeptPlan, Known, SelectPlan, ShapeEntry, Surroundings};
use crate::logging::Logged;
use crate::prepared::PreparedStatement;
use crate::process::count;
use crate::session::{Request, Session};
use squall_logs::Active;
use squall_parser::ast::{self, Query, Statement};
use squall_planner::ParameterKind;
use squall_planner::dml::DmlPlan;
use squall_planner::dml::plan::InsertRows;
use squall_planner::point::{self, PointSelect, PointSource, PreparedLookup};
use squall_registry::StatementContext;
use squall_row_store::Row;
use squall_types::{SqlResult, Value};
use std::sync::{Arc, OnceLock};

impl Session {
    /// What kept plans depend on, as it is now.
    pub(crate) fn surroundings(&mut self) -> Surroundings {
        self.refresh_access();
        Surroundings {
            catalog: self.shared.catalog.version(),
            accounts: self.access.version,
            session: self.settings_version,
        }
    }

    /// The plan of a statement with these parameters, if it is a point statement. What goes wrong here is left to the
    /// general way to report.
    pub(crate) fn make_plan(&mut self, statement: &Statement, sql: &[u8], parameters: &[Value]) -> KeptPlan {
        let context = Arc::new(self.statement_context(statement));
        match statement {
            Statement::Query(query) => match self.point_select(query, sql, &context) {
                Ok(Some(plan)) => KeptPlan::Select(Arc::new(plan)),
                Ok(None) => self.kept_rows(query, sql, parameters, &context),
                Err(_) => KeptPlan::General,
            },
            change if point::is_point_change(change) => match self.point_change(change, sql, parameters, &context) {
                Ok(Some(plan)) => KeptPlan::Change(Arc::new(plan)),
                Ok(None) | Err(_) => KeptPlan::General,
            },
            _ => KeptPlan::General,
        }
    }

    /// The plan of a query that is a look-up by key, if the session may read what it reads.
    pub(crate) fn point_select(
        &self,
        query: &Query,
        sql: &[u8],
        context: &StatementContext,
    ) -> SqlResult<Option<SelectPlan>> {
        let catalog = self.shared.catalog.load();
        let table_of = |name: &ast::ObjectName| {
            if self.temporary_table_named(name).is_some() {
                return None;
            }
            let (database, table) = self.qualify(name).ok()?;
            let definition = catalog.table(&database, &table)?.clone();
            Some((Arc::from(database), definition))
        };
        let registry = &self.shared.registry;
        let Some(plan) = point::recognize(query, sql, context, registry, &self.shared.store, &table_of)? else {
            return Ok(None);
        };
        let definition = plan.table().def();
        self.check_columns(plan.database(), &definition.name, Some(definition), &plan.columns_read())?;
        let columns = super::meta::columns(plan.columns()).into();
        Ok(Some(SelectPlan { point: plan, columns }))
    }

    fn point_change(
        &self,
        statement: &Statement,
        sql: &[u8],
        parameters: &[Value],
        context: &Arc<StatementContext>,
    ) -> SqlResult<Option<ChangePlan>> {
        let Some(kinds) = parameters.iter().map(ParameterKind::of).collect::<Option<Box<[_]>>>() else {
            return Ok(None);
        };
        let request =
            Request { statement, sql, parameters, placeholders: parameters.len() as u32, plan: None, prepared: None };
        let catalog = self.shared.catalog.load();
        let plan = self.bind_change(request, &catalog, context, true)?;
        let by_key = match &plan {
            DmlPlan::Insert(insert) => insert.target.view.is_none() && matches!(insert.source, InsertRows::Values(_)),
            DmlPlan::Update(update) => update.selection.key.is_some(),
            DmlPlan::Delete(delete) => delete.selection.key.is_some(),
            DmlPlan::ByQuery(_) => false,
        };
        Ok(by_key.then(|| ChangePlan { plan: Arc::new(plan), kinds }))
    }

    /// The kept plan of a prepared statement.
    pub(crate) fn plan_of_prepared(&mut self, id: u32, parameters: &[Value]) -> Option<KeptPlan> {
        let now = self.surroundings();
        let (statement, slot) = self.prepared.entry(id)?;
        if parameters.len() != statement.placeholders as usize {
            return None;
        }
        if let Some(plan) = slot.get(now)
            && plan.takes(parameters)
        {
            return Some(plan.clone());
        }
        let statement = statement.clone();
        let plan = self.make_plan(&statement.statement, &statement.sql, parameters);
        if let Some((_, slot)) = self.prepared.entry(id) {
            slot.set(now, plan.clone());
        }
        Some(plan)
    }

    /// The kept plan of a text with its literals, and the statement that its shape is.
    pub(crate) fn plan_of_text(&mut self, sql: &[u8]) -> Option<(Arc<PreparedStatement>, KeptPlan, Vec<Value>)> {
        let now = self.surroundings();
        let (shape, parameters) = match self.shapes.find(sql) {
            Known::Nothing => return None,
            Known::Entry(ShapeEntry { statement: Some(statement), slot }, parameters) => {
                if let Some(plan) = slot.get(now)
                    && plan.takes(&parameters)
                {
                    return Some((statement.clone(), plan.clone(), parameters));
                }
                (statement.sql.to_vec(), parameters)
            }
            Known::Entry(..) => return None,
            Known::Again(shape, parameters) => (shape, parameters),
        };
        // A shape that has become another statement under another sql_mode is read anew.
        let statement = self.parse_shape(&shape, parameters.len()).map(Arc::new);
        let plan = match &statement {
            Some(statement) => self.make_plan(&statement.statement, &statement.sql, &parameters),
            None => KeptPlan::General,
        };
        let mut entry = ShapeEntry { statement: statement.clone(), slot: Default::default() };
        entry.slot.set(now, plan.clone());
        self.shapes.learn(shape, entry);
        Some((statement?, plan, parameters))
    }

    /// A shape as a statement, if it could have a plan.
    fn parse_shape(&self, shape: &[u8], literals: usize) -> Option<PreparedStatement> {
        let parsed = squall_parser::parse_bytes(shape, &self.parse_options()).ok()?;
        let whole = parsed.rest.is_none() && parsed.placeholders as usize == literals;
        let possible = matches!(parsed.statement, Statement::Query(_)) || point::is_point_change(&parsed.statement);
        (whole && possible).then(|| PreparedStatement {
            sql: shape.into(),
            statement: parsed.statement,
            placeholders: parsed.placeholders,
            columns: Arc::default(),
            options: self.parse_options(),
            places: OnceLock::new(),
        })
    }

    /// Whether a query may be answered on this thread, without the general way's care.
    pub(crate) fn may_answer_at_once(&mut self) -> bool {
        let plain = self.settings.select_limit == u64::MAX
            && self.table_locks.is_none()
            && self.pending_notes.is_empty()
            && !self.password_expired;
        if plain {
            self.process.kill.reset();
        }
        plain && self.process.kill.check().is_ok()
    }

    /// Answers a look-up; see [`Session::answer_kept`].
    fn answer_select(&mut self, plan: &SelectPlan, parameters: &[Value], writer: &mut dyn ResultWriter) -> bool {
        if plan.point.table().is_retired() || !self.may_answer_at_once() {
            return false;
        }
        let Some(lookup) = plan.point.prepare(parameters).ok().flatten() else { return false };
        let written = match self.read_rows(&plan.point, &lookup) {
            Ok(None) => return false,
            Ok(Some(rows)) => {
                writer.begin_kept_result_set(&plan.columns);
                self.write_rows(&plan.point, rows, lookup.limit, None, writer)
            }
            Err(error) => Err(error),
        };
        self.end_at_once(written, writer);
        true
    }

    /// Ends a query that was answered on this thread: with the number of its rows, or its error.
    pub(crate) fn end_at_once(&mut self, written: SqlResult<u64>, writer: &mut dyn ResultWriter) {
        let status = &self.process.status;
        count(&status.questions);
        count(&status.queries);
        count(&status.select);
        match written {
            Ok(rows) => {
                self.diagnostics.clear();
                self.row_count = -1;
                self.found_rows = rows;
                self.publish_counts();
                let status: StatusInfo = self.status_info(false);
                writer.end_result_set(&status);
            }
            Err(error) => {
                self.transaction.statement_failed();
                self.finish_with_error(&error, None);
                writer.error(&error);
            }
        }
        self.process.rest(now_micros());
    }

    /// Answers a query by its kept plan on this thread without waiting. `false`: nothing has happened, the statement has to
    /// go the general way.
    pub(crate) fn answer_kept(&mut self, plan: &KeptPlan, parameters: &[Value], writer: &mut dyn ResultWriter) -> bool {
        match plan {
            KeptPlan::Select(plan) => self.answer_select(plan, parameters, writer),
            KeptPlan::Rows(plan) => self.answer_rows(plan, parameters, writer),
            KeptPlan::General | KeptPlan::Change(_) => false,
        }
    }

    /// As [`Session::answer_kept`] where some log is on.
    pub(crate) fn answer_kept_logged(
        &mut self,
        plan: &KeptPlan,
        parameters: &[Value],
        writer: &mut dyn ResultWriter,
        active: Active,
        logged: Logged<'_>,
    ) -> bool {
        // An audited statement has to be in the log before it runs.
        if active.audit() {
            return false;
        }
        let start = now_micros();
        let answered = self.answer_kept(plan, parameters, writer);
        if answered {
            self.log_answered(active, logged, start);
        }
        answered
    }

    /// Reads the rows of a look-up, in the open transaction if there is one; `None` if they are too many.
    pub(crate) fn read_rows(&mut self, plan: &PointSelect, lookup: &PreparedLookup) -> SqlResult<Option<Vec<Row>>> {
        if !self.reads_committed_now() {
            self.begin_statement_transaction();
        }
        let rows = match self.transaction.current() {
            Some(transaction) => plan.read(lookup, PointSource::Transaction(transaction)),
            None => plan.read(lookup, PointSource::Committed(&self.shared.store)),
        };
        if let Ok(Some(rows)) = &rows {
            self.log.rows_examined = rows.len() as u64;
        }
        rows
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
            None if plan.is_aggregate() => Some(Arc::new(self.statement_context(&Statement::UnlockTables))),
            known => known.cloned(),
        };
        plan.write(rows, limit, || context.unwrap_or_default(), &self.settings.time_zone, writer)
    }
}

impl KeptPlan {
    /// Whether the plan holds for these values.
    fn takes(&self, parameters: &[Value]) -> bool {
        match self {
            KeptPlan::General | KeptPlan::Select(_) => true,
            KeptPlan::Rows(rows) => rows.takes(parameters),
            KeptPlan::Change(change) => change.takes(parameters),
        }
    }
}
