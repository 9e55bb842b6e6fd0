//! Queries and data changes. The planner binds them, they run on the connection's thread or the query pool, and rows are sent as they
//! come.

mod cached;
pub(crate) mod change;
mod change_env;
mod explain;
mod file_format;
mod filling;
mod for_kinds;
mod found_columns;
mod into;
mod meta;
mod new_file;
mod outfile;
mod resolver;
mod rows_table;
mod select_all;
mod server_file;
mod short_routes;
mod view;
mod virtual_change;

pub(crate) use change_env::ChangeEnv;
pub(crate) use file_format::Format;
pub(crate) use filling::{Filling, later_values};
pub(crate) use resolver::SessionTables;
pub(crate) use rows_table::RowsTable;
pub(crate) use select_all::select_all;
pub(crate) use server_file::server_file;
pub(crate) use view::column_of_output;

use self::cached::CachePlace;
use self::for_kinds::PlannedForKinds;
use crate::plans::cached_query::CachedQuery;
use crate::result::column_meta::columns;
use crate::result::writer::ResultWriter;
use crate::result::{Failure, Outcome, ResultSet};
use crate::session::{Bindable, Session, SessionState, StatementRun};
use crate::statement_programs::tables_of_query;
use datafusion::catalog::TableProvider;
use datafusion::physical_plan::ExecutionPlan;
use squall_accounting::GrowingCharge;
use squall_catalog::{Authorized, Catalog, NameKey};
use squall_executor::StatementEnv;
use squall_executor::env::{LentTransaction, SharedTransaction};
use squall_executor::reusable::ReusablePlan;
use squall_executor::runtime::{QueryStream, write_batch};
use squall_functions::arrow_map::value_at;
use squall_functions::expr::EmptyRow;
use squall_instrumentation::stages;
use squall_parser::ast::{self, Expr, Query, QueryBody, Select, SelectExpr, SelectItem};
use squall_planner::{Binder, BoundQuery, KeptParameters};
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// Rows of a batch that are written between looks at the writer's buffer.
const ROWS_PER_CHECK: usize = 1024;

impl Session {
    /// Binds a query, plans it with DataFusion and sends what the query pool makes of it.
    pub(crate) async fn run_by_full_planner(
        &mut self,
        query: &Query,
        run: &StatementRun<'_>,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        let catalog = self.shared.catalog.load();
        self.instruments().stage(stages::OPTIMIZING);
        let limited;
        let query = match self.with_select_limit(query) {
            Some(with_limit) => {
                limited = with_limit;
                &limited
            }
            None => query,
        };
        let place = self.place_in_plan_cache(run, &catalog);
        if let Some(place) = &place
            && let Some(outcome) = self.run_cached_query(place, run, &catalog, writer).await?
        {
            return Ok(outcome);
        }
        if let Some(place) = &place
            && let Some(for_kinds) = self.plan_for_kinds(place, query, run, &catalog).await?
        {
            return self.run_for_kinds(for_kinds, place, writer).await;
        }
        let noted = run.context.diagnostics.count();
        // With `sql_select_limit` it is not the query that was sent.
        let bound = match self.settings.select_limit {
            u64::MAX => self.bind_sent_query(query, run, &catalog).await?,
            _ => self.bind_query(query, run.request.sql, run.request.parameters, &catalog, &run.context, None)?,
        };
        let bound = self.security().authorize(bound)?;
        if bound.into.is_some() {
            return Ok(self.select_into(bound, &run.context, catalog).await?);
        }
        let planned = self.plan_query(bound.as_ref(), &run.context, catalog).await?;
        let is_silent = run.context.diagnostics.count() == noted;
        let key = place.as_ref().filter(|_| is_silent).and_then(|place| Some((place, place.key_of_literals(&bound)?)));
        let reusable = key.and_then(|(place, key)| Some((place, key, planned.reusable(&bound)?)));
        let outcome = self.run_to_end(&bound, planned, writer).await?;
        if let Some((place, key, plan)) = reusable {
            self.keep_plan(place, key, CachedQuery::new(bound.into_inner(), plan));
        }
        Ok(outcome)
    }

    /// Runs a query whose plan has parameters, and keeps the plan.
    async fn run_for_kinds(
        &mut self,
        for_kinds: PlannedForKinds,
        place: &CachePlace,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        let PlannedForKinds { bound, planned, constants, known } = for_kinds;
        let reusable = planned.reusable(&bound);
        known.attempts.end(reusable.is_some());
        bound.slot.start();
        let outcome = self.run_to_end(&bound, planned, writer).await?;
        if let (Some(plan), Some(with_parameters)) = (reusable, &place.with_parameters) {
            self.keep_plan(place, with_parameters.key(&constants), CachedQuery::new(bound.into_inner(), plan));
        }
        Ok(outcome)
    }

    /// Runs a planned query, and sends its rows.
    async fn run_to_end(
        &mut self,
        bound: &BoundQuery,
        planned: PlannedQuery,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        let mut running = self.run_planned(planned);
        self.instruments().stage(stages::EXECUTING);
        let result = self.send_rows(bound, &mut running, writer).await;
        let ended = self.end_query(running).await;
        let outcome = result?;
        ended?;
        Ok(outcome)
    }

    /// Binds the query that a request is, where a long statement belongs.
    pub(crate) async fn bind_sent_query(
        &self,
        query: &Query,
        run: &Bindable<'_>,
        catalog: &Arc<Catalog>,
    ) -> SqlResult<BoundQuery> {
        let bind = |binder: &Binder<'_>, statement: &ast::Statement, _: &crate::database::Shared| match statement {
            ast::Statement::Query(query) => binder.bind_query(query),
            _ => Err(SqlError::internal("a query is another statement")),
        };
        match self.bind_long(run, catalog, bind).await? {
            Some(bound) => Ok(bound),
            None => self.bind_query(query, run.request.sql, run.request.parameters, catalog, &run.context, None),
        }
    }

    /// Binds a query with this session's settings.
    pub(crate) fn bind_query(
        &self,
        query: &Query,
        text: &[u8],
        parameters: &[Value],
        catalog: &Arc<Catalog>,
        context: &Arc<StatementContext>,
        rows: Option<Arc<dyn TableProvider>>,
    ) -> SqlResult<BoundQuery> {
        let tables = SessionTables::new(self, context, rows);
        self.binder(text, parameters, catalog, context, &tables).bind_query(query)
    }

    pub(crate) fn binder<'a>(
        &'a self,
        text: &'a [u8],
        parameters: &'a [Value],
        catalog: &'a Catalog,
        context: &'a Arc<StatementContext>,
        tables: &'a SessionTables,
    ) -> Binder<'a> {
        Binder {
            catalog,
            default_database: self.default_database().map(|name| &**name),
            registry: &self.shared.registry,
            context,
            tables,
            params: parameters,
            text,
            kept_parameters: KeptParameters::None,
            insert_values: None,
            source_subqueries: &[],
            row_keys_of_views: false,
            change_locks: Default::default(),
        }
    }

    /// Begins to run a bound query on the pool.
    pub(crate) async fn start_query(
        &mut self,
        bound: &Authorized<BoundQuery>,
        context: &Arc<StatementContext>,
        catalog: Arc<Catalog>,
    ) -> SqlResult<RunningQuery> {
        let planned = self.plan_query(bound.as_ref(), context, catalog).await?;
        Ok(self.run_planned(planned))
    }

    /// Begins to run a planned query on the pool.
    fn run_planned(&self, planned: PlannedQuery) -> RunningQuery {
        let PlannedQuery { env, plan, lent } = planned;
        RunningQuery { stream: self.shared.runtime.run(&env, plan), lent, context: env.context.clone() }
    }

    /// Plans a bound query, on the pool.
    async fn plan_query(
        &mut self,
        bound: Authorized<&BoundQuery>,
        context: &Arc<StatementContext>,
        catalog: Arc<Catalog>,
    ) -> SqlResult<PlannedQuery> {
        let (env, lent) = self.query_env(bound.get(), context, catalog)?;
        match self.shared.runtime.plan_on_pool(&env, bound.part(|bound| &bound.plan)).await {
            Ok(plan) => Ok(PlannedQuery { env, plan, lent }),
            Err(error) => {
                drop(env);
                self.take_back(lent, context).await?;
                Err(error)
            }
        }
    }

    /// The environment of a bound query, and the transaction that is lent to it.
    fn query_env(
        &mut self,
        bound: &BoundQuery,
        context: &Arc<StatementContext>,
        catalog: Arc<Catalog>,
    ) -> SqlResult<(Arc<StatementEnv>, Option<Lent>)> {
        let locks = bound.locks();
        // Others would wait for what must change nothing.
        if locks && self.nesting.is_within_read_only {
            return Err(SqlError::new(ErrorCode::ReadOnlyTransaction, &[]));
        }
        let calls = context.programs.are_called();
        if locks || calls {
            self.begin_statement_transaction();
        }
        if calls {
            self.transaction.make_undoable();
            self.open_programs(context, tables_of_query(bound))?;
        }
        if locks && let Some(transaction) = self.transaction.current() {
            transaction.lock_searched();
        }
        let view = match self.transaction.current() {
            // Locked rows are the newest: a transaction that has read nothing else has no snapshot yet that they could be newer than.
            Some(transaction) if locks && bound.tables.iter().all(|table| table.lock.is_some()) => {
                transaction.change_view()
            }
            Some(transaction) if locks || calls => transaction.read_view(),
            _ => self.view(),
        };
        let store = self.shared.store.clone();
        let mut env = StatementEnv::new(context.clone(), catalog, store, Some(view)).with_slot(bound.slot.clone());
        let mut lent = None;
        if (locks || calls)
            && let Some(transaction) = self.transaction.take()
        {
            let (shared, back) = SharedTransaction::lend(transaction);
            shared.lend_to_programs(context);
            env.transaction = Some(shared.clone());
            lent = Some((shared, back));
            self.lend_state(context);
        }
        Ok((Arc::new(env), lent))
    }

    /// Ends a query and takes its transaction back. One that was killed and has none is not waited for: whatever its operators
    /// are at, they look at the kill flag when they have made a value.
    pub(crate) async fn end_query(&mut self, running: RunningQuery) -> SqlResult<()> {
        if running.lent.is_none() && running.stream.is_killed() {
            return Ok(());
        }
        running.stream.stop().await;
        self.take_back(running.lent, &running.context).await
    }

    async fn take_back(&mut self, lent: Option<Lent>, context: &StatementContext) -> SqlResult<()> {
        let Some((shared, lent)) = lent else { return Ok(()) };
        drop(shared);
        let returned = lent.returned().await;
        // From here on no program runs any more.
        self.take_state_back(context).await?;
        self.transaction.put_back(returned?);
        Ok(())
    }

    async fn send_rows(
        &mut self,
        bound: &BoundQuery,
        running: &mut RunningQuery,
        writer: &mut dyn ResultWriter,
    ) -> Result<Outcome, Failure> {
        let types: Vec<SqlType> = bound.columns.iter().map(|column| column.expr_type.sql_type.clone()).collect();
        let limit = bound.calc_found_rows.unwrap_or_default();
        let (first, count) = (limit.offset, limit.count.unwrap_or(u64::MAX));
        let (mut seen, mut begun) = (0u64, false);
        // What locks rows or calls programs runs to its end, even if its rows are not read.
        let mut may_stop = running.lent.is_none() && bound.calc_found_rows.is_none();
        while let Some(batch) = running.stream.next().await {
            let batch = batch?;
            if !begun {
                // Column definitions wait for the first rows, so that an error before them is an error and nothing else.
                writer.begin_result_set(&columns(&bound.columns));
                begun = true;
            }
            let rows = batch.num_rows() as u64;
            let start = first.saturating_sub(seen).min(rows);
            let end = first.saturating_add(count).saturating_sub(seen).min(rows);
            let mut at = start as usize;
            while at < end as usize {
                let next = (at + ROWS_PER_CHECK).min(end as usize);
                write_batch(&batch, &types, at..next, writer)?;
                at = next;
                if writer.needs_flush() {
                    writer.flush().await?;
                }
            }
            seen += rows;
            if may_stop && writer.is_satisfied() {
                may_stop = !bound.has_effects();
                if may_stop {
                    break;
                }
            }
        }
        if !begun {
            writer.begin_result_set(&columns(&bound.columns));
        }
        Ok(Outcome::Streamed { rows: seen })
    }

    /// The rows of a query, for what needs them as values; no more than `rows_max`. They are charged to the session while they
    /// are gathered.
    pub(crate) async fn collect_rows(
        &mut self,
        bound: &Authorized<BoundQuery>,
        context: &Arc<StatementContext>,
        catalog: Arc<Catalog>,
        rows_max: usize,
    ) -> SqlResult<Vec<Vec<Value>>> {
        let mut running = self.start_query(bound, context, catalog).await?;
        let mut rows = Rows { rows: Vec::new(), rows_max, charge: GrowingCharge::new(&context.memory) };
        let mut failed = None;
        while rows.rows.len() < rows_max
            && let Some(batch) = running.stream.next().await
        {
            match batch.and_then(|batch| rows.take(&batch, bound)) {
                Ok(()) => {}
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        self.end_query(running).await?;
        match failed {
            Some(error) => Err(error),
            None => Ok(rows.rows),
        }
    }

    /// The value of an expression outside of any query, with its type; `sql` is the text that its spans refer to.
    pub(crate) async fn evaluate(
        &mut self,
        expr: &Expr,
        sql: &[u8],
        parameters: &[Value],
        context: &Arc<StatementContext>,
    ) -> SqlResult<(Value, SqlType)> {
        // A character set that is said is the value's, which has no part in its type otherwise.
        if let Some(value) = squall_definitions::constant::literal_value(expr)
            && !squall_definitions::constant::has_introducer(expr)
        {
            let ty = squall_functions::build::literal_type(&value, context.settings.collation);
            return Ok((value, ty.sql_type));
        }
        if let Expr::UserVariable(name) = expr {
            let known = self.user_variables.lock().get(&NameKey::new(name)).cloned();
            return Ok(known.unwrap_or((Value::Null, SqlType::Null)));
        }
        let catalog = self.shared.catalog.load();
        if let Some(constant) = self.constant_value(expr, sql, parameters, context) {
            return Ok((constant.eval(&EmptyRow, context)?, constant.sql_type()));
        }
        // Subqueries and functions that wait are planned: the expression is the list of a SELECT.
        let query = select_of(std::slice::from_ref(expr));
        let bound = self.bind_query(&query, sql, parameters, &catalog, context, None)?;
        let bound = self.security().authorize(bound)?;
        let sql_type = bound.columns.first().map_or(SqlType::Null, |column| column.expr_type.sql_type.clone());
        let rows = self.collect_rows(&bound, context, catalog, 1).await?;
        let value = rows.into_iter().next().and_then(|row| row.into_iter().next()).unwrap_or_default();
        Ok((value, sql_type))
    }

    /// Whether the computation of an expression does more than that (takes locks, waits, assigns variables), or gives another value each time.
    pub(crate) fn has_effects(&self, expr: &Expr, run: &StatementRun<'_>) -> SqlResult<bool> {
        let request = &run.request;
        if let Some(constant) = self.constant_value(expr, request.sql, request.parameters, &run.context) {
            return Ok(constant.is_volatile());
        }
        let query = select_of(std::slice::from_ref(expr));
        let catalog = self.shared.catalog.load();
        let bound = self.bind_query(&query, request.sql, request.parameters, &catalog, &run.context, None)?;
        Ok(bound.has_effects() || bound.locks())
    }

    /// Rows of SHOW that WHERE lets through.
    pub(crate) async fn filter_rows(
        &mut self,
        result: ResultSet,
        condition: &Expr,
        context: &Arc<StatementContext>,
    ) -> SqlResult<ResultSet> {
        let columns = result.columns.clone();
        let rows = RowsTable::provider(result);
        let query = RowsTable::select_all(Some(condition.clone()));
        let catalog = self.shared.catalog.load();
        let bound = self.security().authorize(self.bind_query(&query, b"", &[], &catalog, context, Some(rows))?)?;
        let rows = self.collect_rows(&bound, context, catalog, usize::MAX).await?;
        Ok(ResultSet { columns, rows })
    }
}

impl SessionState {
    /// `sql_select_limit` for a query without a LIMIT.
    fn with_select_limit(&self, query: &Query) -> Option<Query> {
        if self.settings.select_limit == u64::MAX || query.limit.is_some() {
            return None;
        }
        let digits = self.settings.select_limit.to_string();
        let count = Some(Expr::Literal(ast::Literal::Integer(digits.into())));
        Some(Query { limit: Some(ast::Limit { count, offset: None, with_ties: false }), ..query.clone() })
    }
}

/// The transaction of a query that has it until it ends: what its operators do not need is its programs'.
type Lent = (SharedTransaction, LentTransaction);

/// A query that is ready to run.
struct PlannedQuery {
    env: Arc<StatementEnv>,
    plan: Arc<dyn ExecutionPlan>,
    lent: Option<Lent>,
}

impl PlannedQuery {
    /// The plan for other executions, if it may be kept.
    fn reusable(&self, bound: &BoundQuery) -> Option<ReusablePlan> {
        ReusablePlan::new(&bound.plan, &self.plan, &bound.slot, &self.env)
    }
}

/// A query on its way.
pub(crate) struct RunningQuery {
    stream: QueryStream,
    lent: Option<Lent>,
    context: Arc<StatementContext>,
}

/// Rows that are gathered.
struct Rows {
    rows: Vec<Vec<Value>>,
    rows_max: usize,
    charge: GrowingCharge,
}

impl Rows {
    fn take(&mut self, batch: &arrow::record_batch::RecordBatch, bound: &BoundQuery) -> SqlResult<()> {
        for row in 0..batch.num_rows().min(self.rows_max - self.rows.len()) {
            let mut values = Vec::with_capacity(batch.num_columns());
            let mut bytes = size_of::<Vec<Value>>();
            for (array, column) in batch.columns().iter().zip(&bound.columns) {
                let value = value_at(array.as_ref(), row, &column.expr_type.sql_type)?;
                bytes += size_of::<Value>() + value.heap_bytes();
                values.push(value);
            }
            self.charge.grow(bytes)?;
            self.rows.push(values);
        }
        Ok(())
    }
}

/// A query of one row with the values of expressions.
pub(crate) fn select_of(exprs: &[Expr]) -> Query {
    let item = |expr: &Expr| {
        SelectItem::Expr(Box::new(SelectExpr { expr: expr.clone(), alias: None, span: Default::default() }))
    };
    let select = Select { items: exprs.iter().map(item).collect(), ..Default::default() };
    Query::new(QueryBody::Select(squall_parser::ast::Deep::new(select)))
}
