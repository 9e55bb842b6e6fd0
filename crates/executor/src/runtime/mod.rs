//! Runs query plans: one memory pool, one folder for spilled data and one pool of threads for all statements.

mod counted_pool;
pub mod output;
mod plan_counts;
mod query_memory;
mod work_meters;

pub use output::write_batch;
pub use plan_counts::is_hashed;

use crate::access::ColumnScanExec;
use crate::access::fulltext::SnapshotWords;
use crate::access::scan::RowScanExec;
use crate::engine::{EngineOptions, physical_plan, session_state};
use crate::env::StatementEnv;
use crate::nearest::NearestRule;
use crate::rules::join_graph::JoinGraphRule;
use crate::rules::join_keys::JoinKeysRule;
use crate::rules::locked_limit::LockedLimitRule;
use crate::rules::lookup_join::IndexLookupJoinRule;
use crate::rules::order::OrderedScanRule;
use crate::rules::seek_parts::SeekPartsRule;
use crate::rules::seek_range::SeekRangeRule;
use crate::runtime::counted_pool::{CountedPool, PoolBudget};
use crate::runtime::plan_counts::CountedPlan;
use crate::runtime::query_memory::QueryMemoryPool;
use crate::stopping::{planning_for, stoppable_physical};
use arc_swap::ArcSwap;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::execution::{SessionState, SessionStateBuilder, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_optimizer::PhysicalOptimizerRule as _;
use datafusion::physical_optimizer::join_selection::JoinSelection;
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, execute_stream};
use futures::StreamExt;
use squall_accounting::work_meter::{carried, carried_future};
use squall_accounting::{MemoryBudget, SessionMemory};
use squall_catalog::Authorized;
use squall_functions::expr::sql_error_from;
use squall_statement_context::{KillState, WaitingPlace, WaitingThreads};
use squall_types::durable_files::create_own_folder;
use squall_types::{SqlError, SqlResult};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;

/// Most threads on which statements wait; see [`WaitingThreads`]. They are made only when they are needed.
const WAITING_THREADS_MAX: usize = 64 << 10;
/// Threads for work that waits for no other statement, beside those: it is never refused, and takes them in turn.
const WORKING_THREADS_MAX: usize = 512;
/// Batches that wait for a slow client before the query is held up.
const BATCHES_AHEAD: usize = 2;
/// How often a query that gives no batch is checked for KILL and time-outs.
const KILL_CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// The pool has at least this much for each row of a batch, unless that made batches very small.
const ROW_SHARE_BYTES: usize = 64 << 10;
/// The memory for the operators of one partition. Sorts of several partitions, and merges of their spilled runs, share the pool; in
/// a small pool they would take memory from each other.
const PARTITION_SHARE_BYTES: usize = 256 << 20;
/// Rows of a batch in the smallest of pools.
const BATCH_ROWS_MIN: usize = 256;
/// Rows of a batch.
const BATCH_ROWS_MAX: usize = 8192;
/// Rows of a batch that goes to the client as it was read: many clients may be slow to take theirs, and for each of them
/// several batches are under way.
const STREAMED_BATCH_ROWS: usize = 256;
/// The number of rows that a filter collects from small batches before it passes them on.
const STREAMED_FILTER_ROWS: usize = 8;
/// Stack of the pool's threads: a plan is as deep as its statement is nested.
pub const STACK_BYTES: usize = 8 << 20;

/// How the runtime is set up.
#[derive(Clone, Debug)]
pub struct RuntimeOptions {
    /// Memory of all queries together; operators spill before they go beyond it. See [`QueryRuntime::set_memory_limit`].
    pub memory_bytes_max: usize,
    /// Where operators spill to; emptied when the runtime is made.
    pub spill_directory: PathBuf,
    /// Bytes of spilled data at once.
    pub spill_bytes_max: u64,
    /// Threads of the query pool, and partitions that a big plan is split into.
    pub threads: usize,
    /// Most threads on which statements wait, up to 65,536; see [`QueryRuntime::set_waiting_threads`].
    pub waiting_threads_max: usize,
}

/// Plans and runs queries. One per database directory.
pub struct QueryRuntime {
    /// What plans are made with. Another one when the memory of queries changes.
    state: ArcSwap<SessionState>,
    memory: Arc<QueryMemoryPool>,
    /// Threads of the query pool.
    pool_threads: usize,
    resources: Arc<RuntimeEnv>,
    budget: Arc<dyn MemoryBudget>,
    handle: tokio::runtime::Handle,
    waiting_threads: Arc<WaitingThreads>,
    /// Taken by drop: a runtime may not be waited for where blocking is forbidden.
    pool: Option<tokio::runtime::Runtime>,
}

/// A share of the memory pool, released when this goes.
#[derive(Debug)]
pub struct ReservedMemory(#[expect(dead_code, reason = "it is held, not read")] MemoryReservation);

impl std::fmt::Debug for QueryRuntime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueryRuntime").finish_non_exhaustive()
    }
}

impl Drop for QueryRuntime {
    fn drop(&mut self) {
        if let Some(pool) = self.pool.take() {
            pool.shutdown_background();
        }
    }
}

/// The state for plans of queries that have so much memory together, bytes.
fn state_for_memory(resources: &Arc<RuntimeEnv>, threads: usize, bytes_max: usize) -> SessionState {
    let mut state = session_state(&EngineOptions {
        target_partitions: threads.min(bytes_max / PARTITION_SHARE_BYTES).max(1),
        runtime: resources.clone(),
        physical_rules: Vec::new(),
    });
    state = with_row_table_rules(state);
    // Sorts merge what they have spilled a batch of each run at a time: in a small pool batches must be small too.
    let batch_rows = (bytes_max / ROW_SHARE_BYTES).clamp(BATCH_ROWS_MIN, BATCH_ROWS_MAX);
    *state.config_mut() = state.config().clone().with_batch_size(batch_rows);
    // One sort may not keep a large part of the pool to itself while many statements run.
    state.config_mut().options_mut().execution.sort_spill_reservation_bytes =
        (bytes_max / 16).clamp(64 << 10, 10 << 20);
    state
}

impl QueryRuntime {
    /// Clears what an earlier process spilled and starts the query pool.
    pub fn open(options: &RuntimeOptions) -> SqlResult<QueryRuntime> {
        let failed = |error: std::io::Error| SqlError::internal(format_args!("temporary files: {error}"));
        if options.spill_directory.exists() {
            std::fs::remove_dir_all(&options.spill_directory).map_err(failed)?;
        }
        create_own_folder(&options.spill_directory).map_err(failed)?;
        work_meters::carry_on();
        let memory = Arc::new(QueryMemoryPool::new(options.memory_bytes_max));
        let disk = DiskManagerBuilder::default()
            .with_mode(DiskManagerMode::Directories(vec![options.spill_directory.clone()]))
            .with_max_temp_directory_size(options.spill_bytes_max);
        let resources = RuntimeEnvBuilder::new()
            .with_memory_pool(memory.clone())
            .with_disk_manager_builder(disk)
            .build_arc()
            .map_err(sql_error_from)?;
        let waiting_threads = WaitingThreads::new(options.waiting_threads_max.min(WAITING_THREADS_MAX));
        let counted = waiting_threads.clone();
        let pool = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(options.threads.max(1))
            .max_blocking_threads(WAITING_THREADS_MAX + WORKING_THREADS_MAX)
            .on_thread_start(move || counted.count_this_thread())
            .thread_name("query")
            .thread_stack_size(STACK_BYTES)
            .enable_time()
            .build()
            .map_err(failed)?;
        let state = state_for_memory(&resources, options.threads, options.memory_bytes_max);
        let budget = Arc::new(PoolBudget::new(&resources.memory_pool));
        Ok(QueryRuntime {
            state: ArcSwap::from_pointee(state),
            memory,
            pool_threads: options.threads,
            resources,
            budget,
            handle: pool.handle().clone(),
            waiting_threads,
            pool: Some(pool),
        })
    }

    /// Changes the memory of all queries together, bytes. Queries that run keep the batches and partitions that they have begun with.
    pub fn set_memory_limit(&self, bytes_max: usize) {
        if self.memory.limit() != bytes_max {
            self.memory.set_limit(bytes_max);
            self.state.store(Arc::new(state_for_memory(&self.resources, self.pool_threads, bytes_max)));
        }
    }

    /// The memory of all queries together, bytes.
    pub fn memory_limit(&self) -> usize {
        self.memory.limit()
    }

    /// The places for threads that wait.
    pub fn waiting_threads(&self) -> &Arc<WaitingThreads> {
        &self.waiting_threads
    }

    /// Changes the most threads on which statements wait, up to 65,536.
    pub fn set_waiting_threads(&self, max: usize) {
        self.waiting_threads.set_max(max.min(WAITING_THREADS_MAX));
    }

    /// Begins work that waits for others (locks, other statements, clients) on a thread of its own, for which there is a place.
    pub fn spawn_waiting<T: Send + 'static>(
        &self,
        place: WaitingPlace,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> tokio::task::JoinHandle<T> {
        self.pool().spawn_blocking(carried(move || place.run(work)))
    }

    /// The query pool, for work that may not run on a connection's thread and waits for no other statement: that is for
    /// [`QueryRuntime::spawn_waiting`].
    pub fn pool(&self) -> &tokio::runtime::Handle {
        &self.handle
    }

    /// Partitions that a big plan is split into, and threads for other work of one statement.
    pub fn threads(&self) -> usize {
        self.state.load().config().target_partitions()
    }

    /// Memory that queries have reserved now, bytes.
    pub fn reserved_bytes(&self) -> usize {
        self.resources.memory_pool.reserved()
    }

    /// The pool for what a session gathers outside of operators.
    pub fn budget(&self) -> Arc<dyn MemoryBudget> {
        self.budget.clone()
    }

    /// A share of the memory pool for something of a session that cannot spill; growing it beyond the pool is an error.
    pub fn reserve(&self, session: &Arc<SessionMemory>, what: &str) -> MemoryReservation {
        MemoryConsumer::new(what).register(&self.pool_of(session))
    }

    /// A share of the memory pool, bytes, for what a long statement takes while it is read, bound and planned.
    pub fn reserve_for_statement(&self, session: &Arc<SessionMemory>, bytes: u64) -> SqlResult<ReservedMemory> {
        let reserved = self.reserve(session, "a long statement");
        reserved.try_grow(usize::try_from(bytes).unwrap_or(usize::MAX)).map_err(sql_error_from)?;
        Ok(ReservedMemory(reserved))
    }

    /// The memory pool with what a session reserves of it counted.
    fn pool_of(&self, session: &Arc<SessionMemory>) -> Arc<dyn MemoryPool> {
        Arc::new(CountedPool { pool: self.resources.memory_pool.clone(), session: session.clone() })
    }

    fn resources_of(&self, session: &Arc<SessionMemory>) -> Arc<RuntimeEnv> {
        Arc::new(RuntimeEnv { memory_pool: self.pool_of(session), ..(*self.resources).clone() })
    }

    /// DataFusion's session with a statement's environment, where scans find it.
    pub fn state_for(&self, env: &Arc<StatementEnv>) -> SessionState {
        let mut state = SessionState::clone(&self.state.load());
        state.config_mut().set_extension(env.clone());
        // Programs have one transaction, and are called in the order of the rows.
        if env.context.programs.are_called() {
            *state.config_mut() = state.config().clone().with_target_partitions(1);
        }
        state
    }

    /// Optimises a logical plan and makes it executable.
    async fn plan(
        &self,
        env: &Arc<StatementEnv>,
        logical: Authorized<&LogicalPlan>,
    ) -> SqlResult<Arc<dyn ExecutionPlan>> {
        let state = self.state_for(env);
        let plan = planning_for(env.context.kill.clone(), physical_plan(logical, &state)).await?;
        if !streams(&plan) {
            return Ok(plan);
        }
        let small = plan.transform_up(|node| match node.downcast_ref::<FilterExec>() {
            Some(filter) => Ok(Transformed::yes(Arc::new(filter.with_batch_size(STREAMED_FILTER_ROWS)?))),
            None => Ok(Transformed::no(node)),
        });
        small.map(|small| small.data).map_err(sql_error_from)
    }

    /// Optimises a logical plan and makes it executable, on the query pool: that takes up to milliseconds, and deep plans need
    /// its stack.
    pub async fn plan_on_pool(
        self: &Arc<Self>,
        env: &Arc<StatementEnv>,
        logical: Authorized<&LogicalPlan>,
    ) -> SqlResult<Arc<dyn ExecutionPlan>> {
        let (runtime, env, logical) = (self.clone(), env.clone(), logical.cloned());
        let kill = env.context.kill.clone();
        let task = self.pool().spawn(carried_future(async move { runtime.plan(&env, logical.as_ref()).await }));
        tokio::select! {
            biased;
            plan = task => match plan {
                Ok(plan) => plan,
                Err(error) => Err(SqlError::internal(format_args!("planning failed: {error}"))),
            },
            // The client does not wait until the rule at work looks.
            stopped = kill.stopped() => Err(stopped),
        }
    }

    /// Plans and runs a logical plan, all on the query pool.
    pub async fn query(
        self: &Arc<Self>,
        env: &Arc<StatementEnv>,
        logical: Authorized<&LogicalPlan>,
    ) -> SqlResult<QueryStream> {
        let plan = self.plan_on_pool(env, logical).await?;
        Ok(self.run(env, plan))
    }

    /// Runs a physical plan on the query pool; batches come back through the stream.
    pub fn run(&self, env: &Arc<StatementEnv>, plan: Arc<dyn ExecutionPlan>) -> QueryStream {
        let (sender, receiver) = mpsc::channel(BATCHES_AHEAD);
        let schema = plan.schema();
        let mut state = self.state_for(env);
        if streams(&plan) {
            let rows = STREAMED_BATCH_ROWS.min(state.config().batch_size());
            *state.config_mut() = state.config().clone().with_batch_size(rows);
        }
        let task_context = TaskContext::from(&state).with_runtime(self.resources_of(&env.context.memory));
        let task_context = Arc::new(task_context);
        let kill = env.context.kill.clone();
        let counted = CountedPlan { plan: plan.clone(), context: env.context.clone() };
        let words = env.view.as_ref().map(|view| SnapshotWords::read_by(&env.context, view, env.store.clone()));
        let task = self.pool().spawn(carried_future(async move {
            let _counted = counted;
            let _words = words;
            let mut stream = match execute_stream(plan, task_context) {
                Ok(stream) => stream,
                Err(error) => {
                    // The receiver may be gone: then the error is not wanted.
                    let _ = sender.send(Err(sql_error_from(error))).await;
                    return;
                }
            };
            loop {
                let next = tokio::time::timeout(KILL_CHECK_INTERVAL, stream.next()).await;
                let item = match (kill.check(), next) {
                    (Err(error), _) => Err(error),
                    (Ok(()), Err(_elapsed)) => continue,
                    (Ok(()), Ok(None)) => return,
                    (Ok(()), Ok(Some(batch))) => batch.map_err(sql_error_from),
                };
                let failed = item.is_err();
                if sender.send(item).await.is_err() || failed {
                    return;
                }
            }
        }));
        QueryStream { schema, receiver, task: Some(task), kill: env.context.kill.clone(), handle: self.handle.clone() }
    }
}

/// Adds the rules for row tables where DataFusion has chosen its joins and not yet seen to the order and distribution of
/// their inputs.
fn with_row_table_rules(state: SessionState) -> SessionState {
    let mut rules = state.physical_optimizers().to_vec();
    let joins = JoinSelection::new();
    let after = rules.iter().position(|rule| rule.name() == joins.name()).map_or(0, |at| at + 1);
    rules.insert(after, Arc::new(IndexLookupJoinRule));
    rules.insert(after + 1, Arc::new(OrderedScanRule));
    rules.insert(after + 2, Arc::new(SeekPartsRule));
    rules.insert(after + 3, Arc::new(SeekRangeRule));
    rules.insert(after + 4, Arc::new(JoinKeysRule));
    rules.insert(after.saturating_sub(1), Arc::new(JoinGraphRule));
    rules.push(Arc::new(LockedLimitRule));
    rules.push(Arc::new(NearestRule));
    let rules = stoppable_physical(rules);
    SessionStateBuilder::new_from_existing(state).with_physical_optimizer_rules(rules).build()
}

/// Whether a plan does nothing but pass on what it reads: nothing in it collects rows, or gains from many at once.
fn streams(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let mut node = plan;
    loop {
        match node.children().as_slice() {
            [] => return node.is::<RowScanExec>() || node.is::<ColumnScanExec>(),
            [child] if node.pipeline_behavior() == EmissionType::Incremental && !node.is::<RepartitionExec>() => {
                node = child
            }
            _ => return false,
        }
    }
}

/// Batches of a running query. Dropping it stops the query.
#[derive(Debug)]
pub struct QueryStream {
    schema: SchemaRef,
    receiver: mpsc::Receiver<SqlResult<RecordBatch>>,
    task: Option<tokio::task::JoinHandle<()>>,
    kill: Arc<KillState>,
    handle: tokio::runtime::Handle,
}

impl QueryStream {
    /// Columns of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The next batch; `None` at the end.
    pub async fn next(&mut self) -> Option<SqlResult<RecordBatch>> {
        loop {
            let next = {
                // The timer is the pool's: the caller may stand anywhere.
                let _pool = self.handle.enter();
                tokio::time::timeout(KILL_CHECK_INTERVAL, self.receiver.recv())
            };
            match next.await {
                Ok(Some(item)) => return Some(item),
                Ok(None) => break,
                // An operator may work for long without giving its thread back.
                Err(_elapsed) => {
                    if let Err(error) = self.kill.check() {
                        self.abort();
                        return Some(Err(error));
                    }
                }
            }
        }
        match self.task.take()?.await {
            Ok(()) => None,
            // A panic ends the statement and nothing else.
            Err(error) => Some(Err(SqlError::internal(format_args!("query execution failed: {error}")))),
        }
    }

    /// Waits for the next batch on a thread that may block: for callers that are not asynchronous.
    pub fn next_blocking(&mut self) -> Option<SqlResult<RecordBatch>> {
        futures::executor::block_on(self.next())
    }

    fn abort(&mut self) {
        self.receiver.close();
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }

    /// Whether its statement has to stop.
    pub fn is_killed(&self) -> bool {
        self.kill.check().is_err()
    }

    /// Stops the query and waits until its task has left its transaction.
    pub async fn stop(mut self) {
        self.receiver.close();
        if let Some(task) = self.task.take() {
            task.abort();
            // A cancelled task reports that it was; there is nothing left to do either way.
            let _ = task.await;
        }
    }
}

impl Drop for QueryStream {
    fn drop(&mut self) {
        self.abort();
    }
}
