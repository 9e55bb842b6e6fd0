//! The physical operator of [`Apply`].

use crate::access::table::RowTable;
use crate::env::StatementEnv;
use crate::operator::{Operator, execution_plan, only_input};
use crate::operators::answers::Answers;
use crate::operators::apply::{Apply, ApplyKind, substitute};
use crate::operators::in_order::in_order;
use crate::operators::quantified::{Quantifier, Summary};
use crate::operators::subquery_result::{SubqueryCache, SubqueryResult};
use crate::operators::unnest::unnest;
use crate::operators::wider_rows::known_of_wider_rows;
use crate::runtime_filters::scalar_bound::ScalarBound;
use arrow::array::{ArrayRef, Int64Array, UInt64Array};
use arrow::compute::{concat_batches, take};
use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use arrow::row::{RowConverter, SortField};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, ScalarValue, Statistics, internal_err};
use datafusion::datasource::source_as_provider;
use datafusion::execution::context::SessionState;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::metrics::{BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, PlanProperties, execute_stream};
use futures::future::BoxFuture;
use futures::{StreamExt, TryStreamExt};
use squall_parser::ast::with_stack;
use squall_types::{ErrorCode, SqlError};
use std::collections::HashMap;
use std::fmt;
use std::future::Future;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A subquery is run for this many rows before it is for all.
const RUNS_MIN: usize = 8;
/// What it takes to plan a subquery for all rows.
const COST_OF_ALL: Duration = Duration::from_millis(3);
/// What it takes to read a row of a row table for all rows, and to find it again.
const COST_OF_ROW: Duration = Duration::from_nanos(150);
/// The same of a column table.
const COST_OF_COLUMN_ROW: Duration = Duration::from_nanos(15);

/// Who reserves the memory of values that all rows are compared with.
const VALUES: &str = "Apply's values";

/// How many rows a lateral join gathers before it hands them on.
const OUTPUT_ROWS: usize = 8192;

/// The subquery that [`ApplyExec`] runs for each row.
#[derive(Debug)]
pub(crate) struct ApplySpec {
    /// The subquery, optimized, with placeholders.
    pub subquery: Arc<LogicalPlan>,
    /// The same as it was bound, if it reads values of the row.
    pub written: Option<Arc<LogicalPlan>>,
    /// Schema of its rows.
    pub subquery_schema: SchemaRef,
    /// Its result.
    pub kind: ApplyKind,
    /// Placeholders and their values over the input.
    pub outer_values: Vec<(String, Arc<dyn PhysicalExpr>)>,
    /// Their types.
    pub outer_fields: Vec<Field>,
    /// Left operands of ANY and ALL over the input.
    pub operands: Vec<Arc<dyn PhysicalExpr>>,
    /// Comparison of ANY and ALL over operands and the subquery's columns.
    pub comparison: Option<Arc<dyn PhysicalExpr>>,
    /// Schema that the comparison is over.
    pub comparison_schema: SchemaRef,
    /// The planner for the subquery, outside of any statement: it plans in the one that runs.
    pub session: Arc<SessionState>,
    /// The same for a subquery that is run once for all rows.
    pub session_of_all: Arc<SessionState>,
    /// How that is planned.
    pub plan_for_all: PlanForAll,
}

/// Plans a query as a statement is planned.
pub(crate) type PlanForAll =
    for<'a> fn(&'a LogicalPlan, &'a SessionState) -> BoxFuture<'a, Result<Arc<dyn ExecutionPlan>>>;

/// Answers that were made at once, or that they cannot be.
type SharedAnswers = Arc<tokio::sync::OnceCell<Option<Arc<Answers>>>>;

/// The operator.
#[derive(Debug)]
pub struct ApplyExec {
    input: Arc<dyn ExecutionPlan>,
    spec: Arc<ApplySpec>,
    /// The answer of a subquery that reads nothing of the row; all partitions share it.
    constant: Arc<tokio::sync::OnceCell<SubqueryResult>>,
    /// The answers of one that does, if they were made at once; all partitions share them.
    answers: SharedAnswers,
    /// Operators below that want to know that answer before they give their first row.
    published: Arc<[Arc<ScalarBound>]>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl ApplyExec {
    pub(crate) fn new(input: Arc<dyn ExecutionPlan>, spec: Arc<ApplySpec>, schema: SchemaRef) -> Self {
        let properties = Arc::new(PlanProperties::new(
            known_of_wider_rows(&input, schema),
            input.output_partitioning().clone(),
            EmissionType::Incremental,
            input.boundedness(),
        ));
        let (constant, answers, published) = (Arc::default(), Arc::default(), Arc::default());
        Self { input, spec, constant, answers, published, properties, metrics: ExecutionPlanMetricsSet::new() }
    }

    /// The same over another input with the same columns, to parts of which more bounds are told.
    pub(crate) fn publishing(
        &self,
        input: Arc<dyn ExecutionPlan>,
        bounds: impl Iterator<Item = Arc<ScalarBound>>,
    ) -> Self {
        let published = self.published.iter().cloned().chain(bounds).collect();
        Self { published, ..Self::new(input, Arc::clone(&self.spec), self.schema()) }
    }

    /// Where the rows come from.
    pub(crate) fn input(&self) -> &Arc<dyn ExecutionPlan> {
        &self.input
    }

    /// The subquery's logical plan, for EXPLAIN.
    pub fn subquery(&self) -> &LogicalPlan {
        &self.spec.subquery
    }

    /// Whether another execution may run it: nothing below waits for the subquery's answer.
    pub(crate) fn runs_again(&self) -> bool {
        self.published.is_empty()
    }

    /// The result of the subquery.
    pub fn kind(&self) -> &ApplyKind {
        &self.spec.kind
    }

    /// Whether the subquery reads values of the row.
    pub fn is_correlated(&self) -> bool {
        !self.spec.outer_values.is_empty()
    }
}

impl Operator for ApplyExec {
    fn label(&self) -> &str {
        "ApplyExec"
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn asks_inputs(&self) -> bool {
        true
    }

    fn output(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ": kind={:?}, correlated={}", self.spec.kind, self.is_correlated())
    }

    fn inputs(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn expressions(&self) -> impl Iterator<Item = &Arc<dyn PhysicalExpr>> {
        self.spec.outer_values.iter().map(|(_, value)| value).chain(&self.spec.operands)
    }

    fn over(self: Arc<Self>, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<Self>> {
        Ok(Arc::new(self.publishing(only_input(inputs)?, std::iter::empty())))
    }

    fn stream(&self, partition: usize, task: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&task))?;
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        // The work of a batch is large, and copied with the stream if it is not apart.
        let runner = Box::new(Runner::new(self, partition, task)?);
        let stream = futures::stream::try_unfold(
            (input, runner, self.published.clone()),
            |(mut input, mut runner, published)| async move {
                if !published.is_empty() {
                    let result = runner.constant().await?;
                    published.iter().for_each(|bound| bound.publish(result.rows(), &runner.env.context));
                }
                match input.next().await {
                    None => Ok(None),
                    Some(batch) => {
                        let batches = Box::pin(runner.apply(&batch?)).await?;
                        Ok::<_, DataFusionError>(Some((batches, (input, runner, Arc::default()))))
                    }
                }
            },
        )
        .map_ok(|batches| futures::stream::iter(batches.into_iter().map(Ok)))
        .try_flatten()
        .inspect_ok(move |batch: &RecordBatch| metrics.record_output(batch.num_rows()));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream)))
    }

    fn counters(&self) -> Option<&ExecutionPlanMetricsSet> {
        Some(&self.metrics)
    }

    fn estimate(&self, inputs: &[Arc<Statistics>], _: Option<usize>) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema());
        // A lateral join multiplies rows; every other kind keeps their number.
        if !matches!(self.spec.kind, ApplyKind::Lateral | ApplyKind::LeftLateral)
            && let Some(input) = inputs.first()
        {
            statistics.num_rows = input.num_rows;
        }
        Ok(Arc::new(statistics))
    }
}

execution_plan!(ApplyExec);

/// Answers of a subquery that reads values of the rows.
enum Correlated {
    /// One for each row.
    Results(Vec<SubqueryResult>),
    /// Those of all rows.
    All(Arc<Answers>),
}

/// One partition's work.
struct Runner {
    spec: Arc<ApplySpec>,
    env: Arc<StatementEnv>,
    /// The planner for the subquery.
    session: Arc<SessionState>,
    constant: Arc<tokio::sync::OnceCell<SubqueryResult>>,
    schema: SchemaRef,
    task: Arc<TaskContext>,
    cache: SubqueryCache,
    answers: SharedAnswers,
    /// How often the subquery was run for some row.
    runs: Count,
    /// 1 if it was run for all rows.
    runs_for_all: Count,
    /// The time of the runs.
    spent: Duration,
    /// Rows that were answered by them.
    rows_answered: usize,
    /// The time that one for all rows takes.
    cost_of_all: Option<Duration>,
    /// The values of a subquery that all rows are compared with.
    summary: Option<Summary>,
    keys: Option<RowConverter>,
    /// Rows of lateral joins that were made of one batch.
    output: MemoryReservation,
}

impl Runner {
    fn new(exec: &ApplyExec, partition: usize, task: Arc<TaskContext>) -> Result<Self> {
        let env = StatementEnv::of(task.session_config())?;
        let spec = Arc::clone(&exec.spec);
        let session = session_in(&spec.session, &env);
        let cost_of_all = match &spec.written {
            Some(written) => Some(COST_OF_ALL + cost_of_rows(written)?),
            None => None,
        };
        let cache = SubqueryCache::new(&task);
        let output = MemoryConsumer::new("Apply's rows").register(task.memory_pool());
        Ok(Self {
            spec,
            env,
            session,
            constant: Arc::clone(&exec.constant),
            schema: exec.schema(),
            task,
            cache,
            answers: Arc::clone(&exec.answers),
            runs: MetricBuilder::new(&exec.metrics).counter("subquery_runs", partition),
            runs_for_all: MetricBuilder::new(&exec.metrics).counter("subquery_runs_for_all", partition),
            spent: Duration::ZERO,
            rows_answered: 0,
            cost_of_all,
            summary: None,
            keys: None,
            output,
        })
    }

    async fn apply(&mut self, batch: &RecordBatch) -> Result<Vec<RecordBatch>> {
        let outer = evaluate(self.spec.outer_values.iter().map(|(_, value)| value), batch)?;
        let operands = evaluate(&self.spec.operands, batch)?;
        let rows = batch.num_rows();
        let results = if self.spec.outer_values.is_empty() {
            let result = match rows {
                0 => SubqueryResult::empty(&self.spec.subquery_schema),
                _ => self.constant().await?,
            };
            match self.spec.kind {
                ApplyKind::Exists => {
                    return self.append_exists(batch, std::iter::repeat_n(result.row_count() > 0, rows));
                }
                ApplyKind::Any | ApplyKind::All => {
                    let column = self.compare_with_one(&operands, &result, rows)?;
                    return self.append(batch, vec![column]);
                }
                ApplyKind::Scalar | ApplyKind::Lateral | ApplyKind::LeftLateral => vec![result; rows],
            }
        } else {
            match self.correlated(&outer, rows).await? {
                Correlated::Results(results) => results,
                Correlated::All(answers) => {
                    let ranges = answers.of(&outer, rows)?;
                    match self.spec.kind {
                        ApplyKind::Scalar => return self.append_single_rows(batch, answers.rows(), &ranges),
                        ApplyKind::Exists => {
                            return self.append_exists(batch, ranges.iter().map(|range| !range.is_empty()));
                        }
                        _ => answers.results(&ranges),
                    }
                }
            }
        };
        match self.spec.kind {
            ApplyKind::Scalar => self.append_scalars(batch, &results),
            ApplyKind::Exists => self.append_exists(batch, results.iter().map(|result| result.row_count() > 0)),
            ApplyKind::Any | ApplyKind::All => {
                let column = self.compare(&operands, &results)?;
                self.append(batch, vec![column])
            }
            ApplyKind::Lateral | ApplyKind::LeftLateral => self.expand(batch, &results),
        }
    }

    /// Whether runs for each row have taken as long as one for all rows would, or would with the rows that are at hand, or that has
    /// been tried.
    fn is_worth_all(&self, rows_left: usize) -> bool {
        let is_worth = |cost: Duration| {
            let of_row = self.spent.as_secs_f64() / self.rows_answered.max(1) as f64;
            self.runs.value() >= RUNS_MIN && self.spent.as_secs_f64() + of_row * rows_left as f64 >= cost.as_secs_f64()
        };
        self.answers.initialized() || self.cost_of_all.is_some_and(is_worth)
    }

    /// The answers for all rows; `None` if they cannot be made.
    async fn answers(&self) -> Result<Option<Arc<Answers>>> {
        let Some(written) = &self.spec.written else { return Ok(None) };
        let answers = self.answers.get_or_init(|| async {
            let diagnostics = &self.env.context.diagnostics;
            let noted = diagnostics.count();
            let made = on_enough_stack(self.run_for_all(written)).await;
            // Rows that no outer row asks for may have an error or a warning, or take too much memory: then each row is answered by
            // itself.
            let is_quiet = diagnostics.count() == noted;
            diagnostics.truncate(noted);
            made.ok().flatten().filter(|_| is_quiet).map(Arc::new)
        });
        let answers = answers.await.clone();
        self.env.context.kill.check().map_err(|error| DataFusionError::External(Box::new(error)))?;
        Ok(answers)
    }

    async fn run_for_all(&self, written: &LogicalPlan) -> Result<Option<Answers>> {
        let Some(unnested) = unnest(written, &self.spec.kind)? else { return Ok(None) };
        let session = session_in(&self.spec.session_of_all, &self.env);
        let plan = (self.spec.plan_for_all)(&unnested.plan, &session).await?;
        self.runs_for_all.add(1);
        let schema = nullable_schema(&plan.schema());
        let reservation = MemoryConsumer::new("Apply's answers").register(self.task.memory_pool());
        let task = session.task_ctx();
        let rows = self.collect(execute_stream(in_order(plan)?, task)?, &schema, &reservation, usize::MAX).await?;
        let outer = self.spec.outer_values.iter().zip(&self.spec.outer_fields);
        let outer: Vec<_> = outer.map(|((name, _), field)| (name.clone(), field.clone())).collect();
        let none = RecordBatch::new_empty(Arc::clone(&self.spec.subquery_schema));
        let of_none = match unnested.has_rows_of_none {
            true => {
                let nulls = outer.iter().map(|(name, field)| Ok((name.clone(), field.data_type().try_into()?)));
                self.run(&nulls.collect::<Result<_>>()?).await?.rows().clone()
            }
            false => none,
        };
        Answers::new(&unnested, rows, &of_none, &outer, &session, &self.env.context, reservation)
    }

    async fn constant(&self) -> Result<SubqueryResult> {
        let values = HashMap::new();
        self.constant.get_or_try_init(|| self.run(&values)).await.cloned()
    }

    /// The result for each row, run once for equal outer values, or at once for all.
    async fn correlated(&mut self, outer: &[ArrayRef], rows: usize) -> Result<Correlated> {
        let mut results = Vec::with_capacity(rows);
        if self.keys.is_none() {
            let fields = outer.iter().map(|array| SortField::new(array.data_type().clone())).collect();
            self.keys = Some(RowConverter::new(fields)?);
        }
        let Some(converter) = &self.keys else { return internal_err!("the key converter was just made") };
        let keys = converter_rows(converter, outer)?;
        for row in 0..rows {
            if self.is_worth_all(rows - row)
                && let Some(answers) = self.answers().await?
            {
                return Ok(Correlated::All(answers));
            }
            self.rows_answered += 1;
            let key = keys.row(row).data().to_vec();
            if let Some(result) = self.cache.get(&key) {
                results.push(result);
                continue;
            }
            self.env.context.kill.check().map_err(|error| DataFusionError::External(Box::new(error)))?;
            let values = self
                .spec
                .outer_values
                .iter()
                .zip(outer)
                .map(|((placeholder, _), array)| Ok((placeholder.clone(), ScalarValue::try_from_array(array, row)?)))
                .collect::<Result<HashMap<_, _>>>()?;
            let begun = Instant::now();
            let result = match self.run(&values).await {
                // The cache may take the missing memory.
                Err(error) if is_exhausted(&error) && self.cache.clear() => self.run(&values).await?,
                result => result?,
            };
            self.spent += begun.elapsed();
            self.cache.insert(key, result.clone());
            results.push(result);
        }
        Ok(Correlated::Results(results))
    }

    /// Runs the subquery with literals in place of its placeholders: on enough stack, as it may have subqueries in it that have
    /// others in them.
    async fn run(&self, values: &HashMap<String, ScalarValue>) -> Result<SubqueryResult> {
        on_enough_stack(self.run_here(values)).await
    }

    async fn run_here(&self, values: &HashMap<String, ScalarValue>) -> Result<SubqueryResult> {
        self.runs.add(1);
        let plan = substitute(self.spec.subquery.as_ref().clone(), values)?;
        let physical = self.session.query_planner().create_physical_plan(&plan, &*self.session).await?;
        let stream = execute_stream(in_order(physical)?, Arc::clone(&self.task))?;
        let reservation = MemoryConsumer::new("Apply").register(self.task.memory_pool());
        let rows_max = if self.spec.kind == ApplyKind::Scalar { 1 } else { usize::MAX };
        let rows = self.collect(stream, &self.spec.subquery_schema, &reservation, rows_max).await?;
        Ok(SubqueryResult::new(rows, reservation))
    }

    /// All rows, as one batch of a schema.
    async fn collect(
        &self,
        mut stream: SendableRecordBatchStream,
        schema: &SchemaRef,
        reservation: &MemoryReservation,
        rows_max: usize,
    ) -> Result<RecordBatch> {
        let (mut batches, mut count) = (Vec::new(), 0);
        while let Some(batch) = stream.next().await {
            let batch = batch?;
            reservation.try_grow(batch.get_array_memory_size())?;
            count += batch.num_rows();
            batches.push(batch);
            if count > rows_max {
                return Err(more_rows());
            }
        }
        Ok(concat_batches(schema, &conform(batches, schema)?)?)
    }

    fn append(&self, batch: &RecordBatch, added: Vec<ArrayRef>) -> Result<Vec<RecordBatch>> {
        let columns = batch.columns().iter().cloned().chain(added).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(vec![RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?])
    }

    /// One column per column of the subquery: its only row's value, NULL without a row.
    fn append_scalars(&self, batch: &RecordBatch, results: &[SubqueryResult]) -> Result<Vec<RecordBatch>> {
        // Equal keys share one result, so gather each distinct one once.
        let mut distinct: Vec<&SubqueryResult> = Vec::new();
        let mut seen: HashMap<usize, Option<u64>> = HashMap::new();
        let mut next = 0_u64;
        let indices: UInt64Array = results
            .iter()
            .map(|result| {
                *seen.entry(result.id()).or_insert_with(|| {
                    if result.row_count() == 0 {
                        return None;
                    }
                    distinct.push(result);
                    next += 1;
                    Some(next - 1)
                })
            })
            .collect();
        let rows = concat_batches(&self.spec.subquery_schema, distinct.iter().map(|result| result.rows()))?;
        let added =
            rows.columns().iter().map(|column| Ok(take(column, &indices, None)?)).collect::<Result<Vec<_>>>()?;
        self.append(batch, added)
    }

    /// The same of answers that were made at once.
    fn append_single_rows(
        &self,
        batch: &RecordBatch,
        rows: &RecordBatch,
        ranges: &[Range<usize>],
    ) -> Result<Vec<RecordBatch>> {
        if ranges.iter().any(|range| range.len() > 1) {
            return Err(more_rows());
        }
        let indices: UInt64Array =
            ranges.iter().map(|range| (!range.is_empty()).then_some(range.start as u64)).collect();
        let added = rows.columns().iter().map(|column| Ok(take(column, &indices, None)?));
        self.append(batch, added.collect::<Result<_>>()?)
    }

    fn append_exists(&self, batch: &RecordBatch, exists: impl Iterator<Item = bool>) -> Result<Vec<RecordBatch>> {
        let column: Int64Array = exists.map(|exists| Some(i64::from(exists))).collect();
        self.append(batch, vec![Arc::new(column)])
    }

    /// ANY and ALL with three-valued logic.
    fn compare(&mut self, operands: &[ArrayRef], results: &[SubqueryResult]) -> Result<ArrayRef> {
        let reservation = || MemoryConsumer::new(VALUES).register(self.task.memory_pool());
        quantifier(&self.spec)?.truths(operands, results, &mut self.summary, reservation)
    }

    /// The same where the rows of one subquery are beside all rows.
    fn compare_with_one(&mut self, operands: &[ArrayRef], result: &SubqueryResult, rows: usize) -> Result<ArrayRef> {
        let reservation = || MemoryConsumer::new(VALUES).register(self.task.memory_pool());
        quantifier(&self.spec)?.truths_of_one(operands, result, rows, &mut self.summary, reservation)
    }

    /// Each row beside the rows of its subquery.
    fn expand(&mut self, batch: &RecordBatch, results: &[SubqueryResult]) -> Result<Vec<RecordBatch>> {
        let keep_unmatched = self.spec.kind == ApplyKind::LeftLateral;
        let nulls = RecordBatch::try_new(
            Arc::clone(&self.spec.subquery_schema),
            self.spec
                .subquery_schema
                .fields()
                .iter()
                .map(|field| arrow::array::new_null_array(field.data_type(), 1))
                .collect(),
        )?;
        // What was given before has been taken.
        self.output.free();
        let mut output = Vec::new();
        let mut indices: Vec<u64> = Vec::new();
        let mut parts: Vec<&RecordBatch> = Vec::new();
        for (row, result) in results.iter().enumerate() {
            let part = match result.row_count() {
                0 if keep_unmatched => &nulls,
                0 => continue,
                _ => result.rows(),
            };
            indices.extend(std::iter::repeat_n(row as u64, part.num_rows()));
            parts.push(part);
            if indices.len() >= OUTPUT_ROWS {
                let made = self.beside(batch, std::mem::take(&mut indices), std::mem::take(&mut parts))?;
                self.output.try_grow(made.get_array_memory_size())?;
                output.push(made);
            }
        }
        if !indices.is_empty() {
            output.push(self.beside(batch, indices, parts)?);
        }
        Ok(output)
    }

    fn beside(&self, batch: &RecordBatch, indices: Vec<u64>, parts: Vec<&RecordBatch>) -> Result<RecordBatch> {
        let indices = UInt64Array::from(indices);
        let mut columns =
            batch.columns().iter().map(|column| Ok(take(column, &indices, None)?)).collect::<Result<Vec<_>>>()?;
        columns.extend(concat_batches(&self.spec.subquery_schema, parts)?.columns().iter().cloned());
        let options = RecordBatchOptions::new().with_row_count(Some(indices.len()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

/// A session that plans in a statement. It is large, and lies on no stack.
fn session_in(session: &SessionState, env: &Arc<StatementEnv>) -> Arc<SessionState> {
    let mut session = Arc::new(session.clone());
    if let Some(session) = Arc::get_mut(&mut session) {
        session.config_mut().set_extension(env.clone());
    }
    session
}

/// The comparison of ANY and ALL.
fn quantifier(spec: &ApplySpec) -> Result<Quantifier<'_>> {
    let Some(comparison) = &spec.comparison else { return internal_err!("ANY and ALL have a comparison") };
    Ok(Quantifier { is_any: spec.kind == ApplyKind::Any, comparison, schema: &spec.comparison_schema })
}

/// Gives batches the schema that was promised: plans may differ in NULL-ability and metadata of fields.
pub(crate) fn conform(batches: Vec<RecordBatch>, schema: &SchemaRef) -> Result<Vec<RecordBatch>> {
    batches
        .into_iter()
        .map(|batch| {
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            Ok(RecordBatch::try_new_with_options(Arc::clone(schema), batch.columns().to_vec(), &options)?)
        })
        .collect()
}

/// A schema whose columns may all be NULL, which any batch of its types fits.
pub(crate) fn nullable_schema(schema: &Schema) -> SchemaRef {
    let fields: Vec<_> = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true)).collect();
    Arc::new(Schema::new(fields))
}

/// Error 1242.
fn more_rows() -> DataFusionError {
    DataFusionError::External(Box::new(SqlError::new(ErrorCode::SubqueryReturnsMoreRows, &[])))
}

/// Work on enough stack, as it may have subqueries in it that have others in them.
async fn on_enough_stack<T>(work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    std::future::poll_fn(|context| with_stack(|| work.as_mut().poll(context))).await
}

/// What it takes to read the tables of a plan.
fn cost_of_rows(plan: &LogicalPlan) -> Result<Duration> {
    let mut cost = Duration::ZERO;
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            let provider = source_as_provider(&scan.source)?;
            let rows = provider.statistics().and_then(|statistics| statistics.num_rows.get_value().copied());
            let rows = u32::try_from(rows.unwrap_or_default()).unwrap_or(u32::MAX);
            let by_column = RowTable::of(provider.as_ref()).is_some_and(|table| table.table.traits().reads_by_column);
            cost += if by_column { COST_OF_COLUMN_ROW } else { COST_OF_ROW } * rows;
        }
        if let Some(apply) = Apply::of(node) {
            cost += with_stack(|| cost_of_rows(&apply.subquery))?;
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(cost)
}

/// Whether there was no memory left.
fn is_exhausted(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::ResourcesExhausted(_))
}

fn evaluate<'a>(
    exprs: impl IntoIterator<Item = &'a Arc<dyn PhysicalExpr>>,
    batch: &RecordBatch,
) -> Result<Vec<ArrayRef>> {
    exprs.into_iter().map(|expr| expr.evaluate(batch)?.into_array(batch.num_rows())).collect()
}

fn converter_rows(converter: &RowConverter, arrays: &[ArrayRef]) -> Result<arrow::row::Rows> {
    Ok(converter.convert_columns(arrays)?)
}
