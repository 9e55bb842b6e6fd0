//! Point statements: making their plans, and answering the ones that need not wait for anything.

use crate::api::{ResultWriter, StatusInfo};
use crate::authorization::Authorized;
use crate::database::now_micros;
use crate::kept_plan::{ChangePlan, ConstantPlan, KeptPlan, Known, PlanVersions, SelectPlan, ShapeEntry, values};
use crate::logging::Logged;
use crate::plan_cache::{CacheEntry, PlanUse};
use crate::prepared::{PreparedEntry, PreparedStatement};
use crate::process::count;
use crate::session::{KnownText, Request, Session};
use squall_catalog::Catalog;
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
    pub(crate) fn plan_versions(&mut self) -> PlanVersions {
        self.refresh_access();
        PlanVersions {
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
                Ok(None) => {
                    let catalog = self.shared.catalog.load();
                    let row = self.constant_row(query, sql, parameters, &catalog, &context);
                    let literals = row.filter(|row| row.is_literal);
                    match literals.and_then(|row| ConstantPlan::new(row, &context).ok()) {
                        Some(plan) if plan.is_the_same_each_time(&context) => KeptPlan::Constant(Arc::new(plan)),
                        _ => self.kept_rows(query, sql, parameters, &context),
                    }
                }
                Err(_) => KeptPlan::General,
            },
            change if point::is_point_change(change) => match self.point_change(change, sql, parameters, &context) {
                Ok(Some(plan)) => KeptPlan::Change(Arc::new(plan)),
                Ok(None) | Err(_) => KeptPlan::General,
            },
            _ => KeptPlan::General,
        }
    }

    /// The base table that a name stands for, if it does; TEMPORARY tables are left to the general way.
    pub(super) fn base_table(&self, catalog: &Catalog, name: &ast::ObjectName) -> point::FoundTable {
        if self.temporary_table_named(name).is_some() {
            return None;
        }
        let (database, table) = self.qualify(name).ok()?;
        let definition = catalog.table(&database, &table)?.clone();
        Some((Arc::from(database), definition))
    }

    /// The plan of a query that is a look-up by key, if the session may read what it reads.
    pub(crate) fn point_select(
        &self,
        query: &Query,
        sql: &[u8],
        context: &StatementContext,
    ) -> SqlResult<Option<Authorized<SelectPlan>>> {
        let catalog = self.shared.catalog.load();
        let table_of = |name: &ast::ObjectName| self.base_table(&catalog, name);
        let registry = &self.shared.registry;
        let Some(plan) = point::recognize(query, sql, context, registry, &self.shared.store, &table_of)? else {
            return Ok(None);
        };
        let columns = super::meta::columns(plan.columns()).into();
        self.authorize(SelectPlan { point: plan, columns }).map(Some)
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
        let request = Request {
            parameters,
            placeholders: parameters.len() as u32,
            ..Request::without_parameters(statement, sql)
        };
        let catalog = self.shared.catalog.load();
        let plan = self.bind_change(request, &catalog, context, true)?;
        let by_key = match &*plan {
            DmlPlan::Insert(insert) => insert.target.view.is_none() && matches!(insert.source, InsertRows::Values(_)),
            DmlPlan::Update(update) => update.selection.key.is_some(),
            DmlPlan::Delete(delete) => delete.selection.key.is_some(),
            DmlPlan::ByQuery(_) => false,
        };
        Ok(by_key.then(|| ChangePlan { plan: Arc::new(plan), kinds }))
    }

    /// The kept plan of a prepared statement.
    pub(crate) fn plan_of_prepared(&mut self, id: u32, parameters: &[Value]) -> Option<KeptPlan> {
        let now = self.plan_versions();
        let PreparedEntry { statement, slot, plan_use, .. } = self.prepared.entry(id)?;
        if parameters.len() != statement.placeholders as usize {
            return None;
        }
        if let Some(plan) = slot.get(now)
            && plan.takes(parameters)
        {
            if !matches!(plan, KeptPlan::General) {
                count(&self.process.status.plan_hits);
                if let Some(plan_use) = plan_use {
                    plan_use.hit(self.command_micros);
                }
            }
            return Some(plan.clone());
        }
        if slot.is_outdated(now)
            && let Some(counted) = statement.counted.get()
        {
            counted.reprepare();
        }
        let (statement, plan_use) = (statement.clone(), plan_use.clone());
        // It was read as the session was then.
        let settings = self.settings.bind.clone();
        let plan_use = plan_use.filter(|plan_use| *plan_use.entry.settings == *settings);
        let plan = self.learn_plan(&statement, parameters, now, plan_use.as_deref());
        if let Some(PreparedEntry { slot, .. }) = self.prepared.entry(id) {
            slot.set(now, plan.clone());
        }
        Some(plan)
    }

    /// The kept plan of a text with its literals, and the statement that its shape is.
    pub(crate) fn plan_of_text(&mut self, sql: &[u8]) -> Option<KnownText> {
        let now = self.plan_versions();
        let (shape, parameters, known) = match self.shapes.find(sql) {
            Known::Nothing => return None,
            Known::Entry(ShapeEntry { statement, slot, plan_use }, parameters) => {
                let statement = statement.as_ref()?;
                if let Some(plan) = slot.get(now)
                    && plan.takes(&parameters)
                {
                    if !matches!(plan, KeptPlan::General) {
                        count(&self.process.status.plan_hits);
                        if let Some(plan_use) = plan_use {
                            plan_use.hit(self.command_micros);
                        }
                    }
                    return Some((statement.clone(), plan.clone(), parameters));
                }
                (statement.sql.to_vec(), parameters, true)
            }
            Known::New(shape, literals) => (shape.to_vec(), values(sql, literals).collect(), false),
        };
        let (statement, plan) = self.learn_shape(shape, &parameters, now, known)?;
        Some((statement, plan, parameters))
    }

    /// Finds out about a shape that the session has no plan of, and keeps it; `None` if it is none that could have one, or
    /// if it is met for the first time and nobody knows it.
    fn learn_shape(
        &mut self,
        shape: Vec<u8>,
        parameters: &[Value],
        now: PlanVersions,
        known: bool,
    ) -> Option<(Arc<PreparedStatement>, KeptPlan)> {
        let (settings, shared) = (self.settings.bind.clone(), self.shared.clone());
        let entry = shared.plans.find(&shape, &settings);
        if entry.is_none() && !known && !shared.plans.met_before(&shape, &settings) {
            return None;
        }
        // A shape that has become another statement under another sql_mode is read anew.
        let statement = match entry.as_ref().and_then(|entry| entry.statement()) {
            Some(statement) => Some(statement).filter(|statement| may_have_plan(statement, parameters.len())),
            None => self.parse_shape(&shape, parameters.len()).map(Arc::new),
        };
        let Some(statement) = statement else {
            self.shapes.learn(shape, ShapeEntry::default());
            return None;
        };
        let plan_use = entry.or_else(|| shared.plans.find_or_insert(&shape, &settings)).map(|entry| {
            entry.set_statement(&statement);
            self.plan_use(entry)
        });
        let plan = self.learn_plan(&statement, parameters, now, plan_use.as_deref());
        let mut entry = ShapeEntry { statement: Some(statement.clone()), slot: Default::default(), plan_use };
        entry.slot.set(now, plan.clone());
        self.shapes.learn(shape, entry);
        Some((statement, plan))
    }

    /// Begins to count what the session does with a statement.
    pub(crate) fn plan_use(&self, entry: Arc<CacheEntry>) -> Arc<PlanUse> {
        let plan_use = Arc::new(PlanUse::new(entry));
        self.process.add_plan_use(&plan_use);
        plan_use
    }

    /// The plan of a statement: another session's, if there is one that this session may use, or a new one.
    fn learn_plan(
        &mut self,
        statement: &PreparedStatement,
        parameters: &[Value],
        now: PlanVersions,
        plan_use: Option<&PlanUse>,
    ) -> KeptPlan {
        if !self.settings.query_shortcuts {
            return KeptPlan::General;
        }
        // Names may mean the session's own tables.
        let shares = self.temporary_tables.is_empty();
        let plan_use = plan_use.filter(|_| shares);
        if let Some(plan_use) = plan_use
            && let Some(plan) = plan_use.entry.select(now.catalog)
            // The session's own, so that no two count references to one.
            && let Ok(plan) = self.authorize((*plan).clone())
        {
            count(&self.process.status.plan_shared_hits);
            plan_use.learned(true, self.command_micros);
            return KeptPlan::Select(Arc::new(plan));
        }
        let plan = self.make_plan(&statement.statement, &statement.sql, parameters);
        count(&self.process.status.plan_misses);
        if let Some(plan_use) = plan_use {
            plan_use.learned(false, self.command_micros);
            plan_use.entry.set_plan(now.catalog, || self.shared.catalog.version(), &plan);
        }
        plan
    }

    /// The row that a text always gives, if that is known.
    pub(crate) fn constant_of_text(&mut self, sql: &[u8]) -> Option<KeptPlan> {
        if !self.shapes.has_constant(sql) {
            return None;
        }
        let now = self.plan_versions();
        self.shapes.constant(sql, now).cloned()
    }

    /// A shape as a statement, if it could have a plan.
    fn parse_shape(&self, shape: &[u8], literals: usize) -> Option<PreparedStatement> {
        let parsed = squall_parser::parse_bytes(shape, &self.parse_options()).ok()?;
        let statement = PreparedStatement {
            sql: shape.into(),
            statement: Arc::new(parsed.statement),
            placeholders: parsed.placeholders,
            columns: Arc::default(),
            options: self.parse_options(),
            reserved: None,
            places: OnceLock::new(),
            digest: OnceLock::new(),
            counted: OnceLock::new(),
        };
        (parsed.rest.is_none() && may_have_plan(&statement, literals)).then_some(statement)
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

    /// A statement begins that may be answered on this thread.
    pub(crate) fn begin_at_once(&mut self) {
        self.command_micros = now_micros();
        self.command_thread_nanos = self.begin_thread_time();
        self.log.rows_examined = 0;
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
                self.note_counts(plan.point.counts(rows.len() as u64));
                writer.begin_kept_result_set(&plan.columns);
                self.write_rows(&plan.point, rows, lookup.limit, None, writer)
            }
            Err(error) => Err(error),
        };
        self.end_at_once(written, writer);
        true
    }

    fn answer_constant(&mut self, plan: &ConstantPlan, writer: &mut dyn ResultWriter) -> bool {
        if !self.may_answer_at_once() {
            return false;
        }
        writer.begin_kept_result_set(&plan.columns);
        plan.row.write(&plan.values, writer);
        self.end_at_once(Ok(1), writer);
        true
    }

    /// Ends a query that was answered on this thread: with the number of its rows, or its error.
    pub(crate) fn end_at_once(&mut self, written: SqlResult<u64>, writer: &mut dyn ResultWriter) {
        self.transaction.query_has_ended();
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
                // Nothing was locked or changed.
                drop(self.transaction.statement_failed());
                if !self.transaction.is_open() {
                    self.count_rollback();
                }
                self.finish_with_error(&error, None);
                writer.error(&error);
            }
        }
        self.process.rest(self.command_micros);
    }

    /// Answers a query by its kept plan on this thread without waiting. `false`: nothing has happened, the statement has to
    /// go the general way.
    pub(crate) fn answer_kept(&mut self, plan: &KeptPlan, parameters: &[Value], writer: &mut dyn ResultWriter) -> bool {
        match plan {
            KeptPlan::Select(plan) => self.answer_select(plan, parameters, writer),
            KeptPlan::Rows(plan) => self.answer_rows(plan, parameters, writer),
            KeptPlan::Constant(plan) => self.answer_constant(plan, writer),
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
        let start = self.command_micros;
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
        plan.write(&rows, limit, || context.unwrap_or_default(), &self.settings.bind.time_zone, writer)
    }
}

impl KeptPlan {
    /// Whether the plan holds for these values.
    fn takes(&self, parameters: &[Value]) -> bool {
        match self {
            KeptPlan::General | KeptPlan::Select(_) | KeptPlan::Constant(_) => true,
            KeptPlan::Rows(rows) => rows.takes(parameters),
            KeptPlan::Change(change) => change.takes(parameters),
        }
    }
}

/// Whether a statement with so many literals could have a plan.
fn may_have_plan(statement: &PreparedStatement, literals: usize) -> bool {
    statement.placeholders as usize == literals
        && (matches!(*statement.statement, Statement::Query(_)) || point::is_point_change(&statement.statement))
}
