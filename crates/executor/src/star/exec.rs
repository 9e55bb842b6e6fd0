//! The physical operator that runs a star query, or DataFusion's plan if the kernel cannot.

use super::answer::rows_of;
use super::dimension::DimensionRows;
use super::estimate::estimate;
use super::list::listed;
use super::spec::{GroupPart, StarSpec};
use crate::access::column_scan::{ROWS_SKIPPED_BY_BITMAPS, ROWS_SKIPPED_BY_ZONE_MAPS};
use crate::access::scan::make_batch;
use crate::env::StatementEnv;
use crate::operator::{Operator, execution_plan};
use crate::runtime_filters::JoinKeys;
use crate::runtime_filters::join_keys::is_key_type;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::context::SessionState;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, Partitioning, PlanProperties, collect, execute_stream};
use futures::{StreamExt, TryStreamExt};
use squall_column_store::Error;
use squall_column_store::predicate::{ColumnSource, Condition};
use squall_column_store::star::{GroupBy, StarAnswer, StarJoin, StarOptions, StarQuery, StarSource, run_star_query};
use squall_column_tables::{TableColumns, VisibleSegment};
use squall_functions::expr::datafusion_error;
use squall_statement_context::TableOperation;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Counters of the kernel: zones of 65,536 rows that it has read, and that zone maps answered.
pub const ZONES_READ: &str = "zones_read";
/// See [`ZONES_READ`].
pub const ZONES_ANSWERED: &str = "zones_answered";
/// Segments whose distinct values are those of a dictionary or an index.
pub const SEGMENTS_OF_DICTIONARIES: &str = "segments_of_dictionaries";

/// Segments of which the condition leaves no row, as zone maps and bitmaps tell.
pub const SEGMENTS_SKIPPED: &str = "segments_skipped";

/// Groups that each thread may have; more are DataFusion's, which can spill.
const GROUPS_MAX: usize = 1 << 20;

/// Runs a star query by the kernel, or the plan beside it.
#[derive(Debug)]
pub struct StarExec {
    /// What it does.
    pub spec: Arc<StarSpec>,
    /// The condition on rows of the column table, which EXPLAIN shows.
    pub filter: Option<Arc<dyn PhysicalExpr>>,
    beside: Beside,
    dimensions: Vec<Arc<dyn ExecutionPlan>>,
    join_keys: Vec<ColumnKeys>,
    statistics: Arc<Statistics>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

/// A column of the column table, by its ordinal, whose values have to be among the keys of a join.
type ColumnKeys = (usize, Arc<JoinKeys>);

impl StarExec {
    /// Of the plan beside it, whose columns it has, and those of the dimensions in the order of the joins; `filter` is the
    /// condition on the column table for people.
    pub fn new(
        spec: Arc<StarSpec>,
        filter: Option<Arc<dyn PhysicalExpr>>,
        beside: Beside,
        dimensions: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<StarExec> {
        if dimensions.len() != spec.joins.len() {
            return internal_err!("a star query has one plan for each table");
        }
        let properties = PlanProperties::new(
            EquivalenceProperties::new(beside.schema.clone()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Final,
            Boundedness::Bounded,
        );
        let metrics = ExecutionPlanMetricsSet::new();
        let (join_keys, statistics) = (Vec::new(), Arc::new(Statistics::new_unknown(&beside.schema)));
        let properties = Arc::new(properties);
        Ok(StarExec { spec, filter, beside, dimensions, join_keys, statistics, properties, metrics })
    }

    /// The same, with an estimate of its rows as a statement sees the column table.
    pub fn with_estimate(mut self, env: &StatementEnv) -> StarExec {
        self.statistics = Arc::new(estimate(&self.spec, &self.beside.schema, env));
        self
    }

    /// The same for groups of which a column is among the keys of a join; `None` if that is no column of the column table.
    pub fn with_join_keys(&self, column: usize, keys: &Arc<JoinKeys>) -> Result<Option<Arc<StarExec>>> {
        let Some(GroupPart::Column { ordinal, sql_type }) = self.spec.groups.get(column) else { return Ok(None) };
        if self.spec.counts_groups || self.spec.list.is_some() || !is_key_type(sql_type) {
            return Ok(None);
        }
        let (spec, filter, beside) = (self.spec.clone(), self.filter.clone(), self.beside.clone());
        let mut star = StarExec::new(spec, filter, beside, self.dimensions.clone())?;
        star.statistics = self.statistics.clone();
        star.join_keys = self.join_keys.iter().cloned().chain([(*ordinal, keys.clone())]).collect();
        Ok(Some(Arc::new(star)))
    }

    /// Rows of the column table, nearly.
    pub fn rows_of_fact(&self) -> u64 {
        self.spec.fact.store.table_stats(&self.spec.fact.table).row_count
    }

    /// Names of the columns that have to be among keys of joins.
    pub fn join_key_columns(&self) -> impl Iterator<Item = &str> {
        let column = |(ordinal, _): &ColumnKeys| self.spec.fact.def.columns.get(*ordinal);
        self.join_keys.iter().filter_map(column).map(|column| column.name.as_str())
    }

    /// The dimensions' plans.
    pub fn dimensions(&self) -> &[Arc<dyn ExecutionPlan>] {
        &self.dimensions
    }

    /// Its inputs for EXPLAIN: the dimensions, or the plan beside it once the kernel has given up.
    pub fn shown_children(&self) -> &[Arc<dyn ExecutionPlan>] {
        match self.beside.planned.get() {
            Some(plan) => std::slice::from_ref(plan),
            None => &self.dimensions,
        }
    }
}

impl Operator for StarExec {
    fn label(&self) -> &str {
        "StarExec"
    }

    fn output(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ": table={}, joins={}", self.spec.fact.def.name, self.spec.joins.len())
    }

    fn inputs(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.dimensions.iter().collect()
    }

    fn over(self: Arc<Self>, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<Self>> {
        let mut star = StarExec::new(self.spec.clone(), self.filter.clone(), self.beside.clone(), inputs)?;
        star.join_keys.clone_from(&self.join_keys);
        star.statistics = self.statistics.clone();
        Ok(Arc::new(star))
    }

    fn stream(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition > 0 {
            return internal_err!("a star query has one partition");
        }
        let env = StatementEnv::of(context.session_config())?;
        let run = Run {
            spec: self.spec.clone(),
            beside: self.beside.clone(),
            dimensions: self.dimensions.clone(),
            join_keys: self.join_keys.clone(),
            schema: self.schema(),
            metrics: BaselineMetrics::new(&self.metrics, 0),
            counters: Counters::new(&self.metrics),
            env,
        };
        let stream = futures::stream::once(run.start(context)).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream)))
    }

    fn counters(&self) -> Option<&ExecutionPlanMetricsSet> {
        Some(&self.metrics)
    }

    fn estimate(&self, _: &[Arc<Statistics>], _: Option<usize>) -> Result<Arc<Statistics>> {
        Ok(self.statistics.clone())
    }
}

execution_plan!(StarExec);

/// The aggregation that the kernel replaces, planned by DataFusion once the kernel cannot run it.
#[derive(Clone, Debug)]
pub struct Beside {
    plan: Arc<LogicalPlan>,
    session: Arc<SessionState>,
    schema: SchemaRef,
    planned: Arc<OnceLock<Arc<dyn ExecutionPlan>>>,
}

impl Beside {
    /// An optimized plan, and its planner.
    pub fn new(plan: Arc<LogicalPlan>, session: SessionState) -> Beside {
        let schema = plan.schema().inner().clone();
        Beside { plan, session: Arc::new(session), schema, planned: Arc::default() }
    }

    async fn run(&self, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let plan = self.session.query_planner().create_physical_plan(&self.plan, self.session.as_ref()).await?;
        // The first one is shown; each run has one of its own, as operators remember what they have done.
        let _ = self.planned.set(plan.clone());
        execute_stream(plan, context)
    }
}

struct Run {
    spec: Arc<StarSpec>,
    beside: Beside,
    dimensions: Vec<Arc<dyn ExecutionPlan>>,
    join_keys: Vec<ColumnKeys>,
    schema: SchemaRef,
    metrics: BaselineMetrics,
    counters: Counters,
    env: Arc<StatementEnv>,
}

/// The kernel's counts for EXPLAIN ANALYZE.
struct Counters {
    zones_read: Count,
    zones_answered: Count,
    dictionaries: Count,
    skipped_by_zone_maps: Count,
    skipped_by_bitmaps: Count,
    segments_skipped: Count,
}

impl Counters {
    fn new(metrics: &ExecutionPlanMetricsSet) -> Counters {
        let counter = |name: &'static str| MetricBuilder::new(metrics).counter(name, 0);
        Counters {
            zones_read: counter(ZONES_READ),
            zones_answered: counter(ZONES_ANSWERED),
            dictionaries: counter(SEGMENTS_OF_DICTIONARIES),
            skipped_by_zone_maps: counter(ROWS_SKIPPED_BY_ZONE_MAPS),
            skipped_by_bitmaps: counter(ROWS_SKIPPED_BY_BITMAPS),
            segments_skipped: counter(SEGMENTS_SKIPPED),
        }
    }

    fn count(&self, answer: &StarAnswer) {
        self.zones_read.add(answer.zones_read);
        self.zones_answered.add(answer.zones_known);
        self.dictionaries.add(answer.dictionaries);
        self.skipped_by_zone_maps.add(answer.skipped.by_zone_maps as usize);
        self.skipped_by_bitmaps.add(answer.skipped.by_bitmaps as usize);
        self.segments_skipped.add(answer.segments_skipped);
    }
}

impl Run {
    async fn start(self, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let mut dimensions = Vec::with_capacity(self.spec.joins.len());
        for (join, plan) in self.spec.joins.iter().zip(&self.dimensions) {
            let batches = collect(plan.clone(), context.clone()).await?;
            match DimensionRows::new(&plan.schema(), &batches, join.groups)? {
                Some(dimension) => dimensions.push(dimension),
                None => return self.beside.run(context).await,
            }
        }
        let timer = self.metrics.elapsed_compute().timer();
        if let Some(list) = &self.spec.list {
            let Some(snapshot) = self.spec.fact.column_snapshot(&self.env).map_err(datafusion_error)? else {
                drop(timer);
                return self.beside.run(context).await;
            };
            let threads = self.beside.session.config().target_partitions();
            let listed = listed(&self.spec, list, &snapshot, threads, &self.env)?;
            self.counters.zones_read.add(listed.zones_read);
            let batch = make_batch(self.schema.clone(), vec![listed.text], 1).map_err(datafusion_error)?;
            timer.done();
            return Ok(self.one_batch(batch));
        }
        let answer = match self.run_kernel(&dimensions) {
            Ok(answer) => answer,
            // The kernel has found something that it cannot do.
            Err(Failure::Kernel(Error::Invalid(_))) => {
                drop(timer);
                return self.beside.run(context).await;
            }
            Err(Failure::Kernel(Error::Cancelled)) => {
                self.env.context.kill.check().map_err(datafusion_error)?;
                return internal_err!("a star query was given up");
            }
            Err(Failure::Kernel(error)) => {
                return Err(datafusion_error(squall_column_tables::sql_error(&self.spec.fact.def.name, error)));
            }
            Err(Failure::Sql(error)) => return Err(datafusion_error(error)),
        };
        self.counters.count(&answer);
        let batch = rows_of(&self.spec, &dimensions, answer, &self.schema, &self.env.context)?;
        timer.done();
        let Some(batch) = batch else { return self.beside.run(context).await };
        Ok(self.one_batch(batch))
    }

    fn one_batch(&self, batch: RecordBatch) -> SendableRecordBatchStream {
        self.metrics.record_output(batch.num_rows());
        let stream = futures::stream::iter([Ok(batch)]).boxed();
        Box::pin(RecordBatchStreamAdapter::new(self.schema.clone(), stream))
    }

    /// The condition on the column table, with the keys of joins, which are known when the first row is asked for.
    fn condition(&self) -> Condition {
        let own = Condition::from(&self.spec.condition);
        let mut parts: Vec<Condition> =
            self.join_keys.iter().filter_map(|(ordinal, keys)| keys.condition(*ordinal)).collect();
        if parts.is_empty() {
            return own;
        }
        if !matches!(own, Condition::Constant(true)) {
            parts.insert(0, own);
        }
        Condition::And(parts)
    }

    fn run_kernel(&self, dimensions: &[DimensionRows]) -> std::result::Result<StarAnswer, Failure> {
        let spec = &self.spec;
        let fact = &spec.fact;
        let Some(snapshot) = fact.column_snapshot(&self.env).map_err(Failure::Sql)? else {
            return Err(Failure::Kernel(Error::Invalid("no column table".into())));
        };
        let joins = spec.joins.iter().zip(dimensions);
        let group = |part: &GroupPart| match part {
            GroupPart::Dimension { join, .. } => GroupBy::Join(*join),
            GroupPart::Column { ordinal, .. } | GroupPart::Text { ordinal, .. } => GroupBy::Column(*ordinal),
        };
        let query = StarQuery {
            condition: self.condition(),
            joins: joins.map(|(join, rows)| StarJoin { column: join.column, keys: rows.keys.clone() }).collect(),
            groups: spec.groups.iter().map(group).collect(),
            aggregates: spec.kernel.clone(),
        };
        let sealed: Vec<TableColumns<'_>> = snapshot
            .segments
            .iter()
            .map(|visible| TableColumns::new(&fact.table, &visible.segment, &snapshot.cache))
            .collect();
        let delta = snapshot.delta_columns(&fact.table, &query.columns()).map_err(Failure::Sql)?;
        let mut sources: Vec<StarSource<'_>> = sealed
            .iter()
            .zip(&snapshot.segments)
            .map(|(columns, visible)| StarSource { columns, deleted: Some(&visible.hidden) })
            .collect();
        if delta.rows() > 0 {
            sources.push(StarSource { columns: &delta, deleted: None });
        }
        let options = StarOptions {
            threads: self.beside.session.config().target_partitions(),
            groups_max: GROUPS_MAX,
            arguments_of_64_bits: true,
            cancelled: Some(&|| self.env.context.kill.check().is_err()),
        };
        let started = Instant::now();
        let answer = run_star_query(&query, &sources, options).map_err(Failure::Kernel)?;
        let sealed: u64 = snapshot.segments.iter().map(VisibleSegment::visible_rows).sum();
        let skipped = answer.skipped.by_zone_maps + answer.skipped.by_bitmaps;
        let (rows, time) = ((sealed + delta.rows() as u64).saturating_sub(skipped), started.elapsed());
        self.env.context.table_uses.note(fact.def.id, None, TableOperation::Fetch, rows.max(1), Some(time));
        Ok(answer)
    }
}

enum Failure {
    Kernel(Error),
    Sql(squall_types::SqlError),
}
