//! The physical operator of [`RecursiveUnion`](crate::operators::recursive::RecursiveUnion) and the table it works on.

use crate::operator::{Operator, execution_plan};
use crate::operators::apply_exec::conform;
use crate::rewrite::replace_each;
use arrow::array::{ArrayRef, BooleanArray};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use arrow::row::{RowConverter, SortField};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DataFusionError, Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, reset_plan_states};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, PlanProperties};
use futures::{StreamExt, TryStreamExt};
use parking_lot::Mutex;
use squall_statement_context::StatementContext;
use squall_types::{ErrorCode, SqlError};
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

/// Rows of the round before, read by the recursive part.
type WorkRows = Arc<Mutex<Vec<RecordBatch>>>;

/// The table that a recursive reference reads.
#[derive(Debug)]
pub struct WorkTable {
    /// Number of the table expression.
    pub id: u32,
    /// Its columns.
    pub schema: SchemaRef,
}

#[async_trait]
impl TableProvider for WorkTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = match projection {
            Some(projection) => Arc::new(self.schema.project(projection)?),
            None => Arc::clone(&self.schema),
        };
        Ok(Arc::new(WorkTableExec::new(self.id, schema, projection.cloned(), None)))
    }
}

/// Scan of a [`WorkTable`]; [`RecursiveUnionExec`] gives it its rows.
#[derive(Debug)]
pub struct WorkTableExec {
    id: u32,
    projection: Option<Vec<usize>>,
    rows: Option<WorkRows>,
    properties: Arc<PlanProperties>,
}

impl WorkTableExec {
    fn new(id: u32, schema: SchemaRef, projection: Option<Vec<usize>>, rows: Option<WorkRows>) -> Self {
        let properties = single_partition(schema);
        Self { id, projection, rows, properties }
    }
}

impl Operator for WorkTableExec {
    fn label(&self) -> &str {
        "WorkTableExec"
    }

    fn output(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ": id={}", self.id)
    }

    fn stream(&self, _partition: usize, _task: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let Some(rows) = &self.rows else { return internal_err!("a work table outside of its recursion") };
        let schema = self.schema();
        let batches = rows
            .lock()
            .iter()
            .map(|batch| match &self.projection {
                Some(projection) => Ok(batch.project(projection)?),
                None => Ok(batch.clone()),
            })
            .collect::<Result<Vec<_>>>()?;
        let batches = conform(batches, &schema)?;
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::iter(batches.into_iter().map(Ok)))))
    }
}

execution_plan!(WorkTableExec);

/// The operator.
#[derive(Debug)]
pub struct RecursiveUnionExec {
    name: String,
    work_table: u32,
    seed: Arc<dyn ExecutionPlan>,
    recursive: Arc<dyn ExecutionPlan>,
    distinct_keys: Option<Vec<Arc<dyn PhysicalExpr>>>,
    context: Arc<StatementContext>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl RecursiveUnionExec {
    pub(crate) fn new(
        name: String,
        work_table: u32,
        seed: Arc<dyn ExecutionPlan>,
        recursive: Arc<dyn ExecutionPlan>,
        distinct_keys: Option<Vec<Arc<dyn PhysicalExpr>>>,
        context: Arc<StatementContext>,
        schema: SchemaRef,
    ) -> Self {
        let properties = single_partition(schema);
        let metrics = ExecutionPlanMetricsSet::new();
        Self { name, work_table, seed, recursive, distinct_keys, context, properties, metrics }
    }
}

impl Operator for RecursiveUnionExec {
    fn label(&self) -> &str {
        "RecursiveUnionExec"
    }

    fn takes_partitions(&self) -> bool {
        false
    }

    fn output(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ": name={}, distinct={}", self.name, self.distinct_keys.is_some())
    }

    fn inputs(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.seed, &self.recursive]
    }

    // The keys are no expressions over an input: a rewrite by an input's columns must not see them.

    fn over(self: Arc<Self>, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<Self>> {
        let Ok([seed, recursive]) = <[_; 2]>::try_from(inputs) else {
            return internal_err!("a recursive union has two inputs");
        };
        Ok(Arc::new(Self::new(
            self.name.clone(),
            self.work_table,
            seed,
            recursive,
            self.distinct_keys.clone(),
            Arc::clone(&self.context),
            self.schema(),
        )))
    }

    fn stream(&self, _partition: usize, task: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        // The same plan may run at the same time for several outer rows: each run has a work table of its own.
        let rows: WorkRows = Arc::default();
        let recursive = assign_rows(Arc::clone(&self.recursive), self.work_table, &rows)?;
        let recursion = Recursion {
            schema: self.schema(),
            stream: self.seed.execute(0, Arc::clone(&task))?,
            recursive,
            rows,
            next: Vec::new(),
            distinct: self.distinct_keys.clone().map(|keys| Distinct { keys, converter: None, seen: HashSet::new() }),
            reservation: MemoryConsumer::new("RecursiveUnion").register(task.memory_pool()),
            rounds: 0,
            context: Arc::clone(&self.context),
            task,
        };
        let metrics = BaselineMetrics::new(&self.metrics, 0);
        let stream = futures::stream::try_unfold(recursion, |mut recursion| async move {
            Ok::<_, DataFusionError>(recursion.next().await?.map(|batch| (batch, recursion)))
        })
        .inspect_ok(move |batch: &RecordBatch| metrics.record_output(batch.num_rows()));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream)))
    }

    fn counters(&self) -> Option<&ExecutionPlanMetricsSet> {
        Some(&self.metrics)
    }
}

execution_plan!(RecursiveUnionExec);

struct Recursion {
    schema: SchemaRef,
    /// The current input: the seed, then a round of the recursive part.
    stream: SendableRecordBatchStream,
    recursive: Arc<dyn ExecutionPlan>,
    /// The round before, as the recursive part sees it.
    rows: WorkRows,
    /// The rows of this round so far.
    next: Vec<RecordBatch>,
    distinct: Option<Distinct>,
    reservation: MemoryReservation,
    rounds: u64,
    context: Arc<StatementContext>,
    task: Arc<TaskContext>,
}

impl Recursion {
    async fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.stream.next().await {
                let batch = batch?;
                let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
                let mut batch =
                    RecordBatch::try_new_with_options(Arc::clone(&self.schema), batch.columns().to_vec(), &options)?;
                if let Some(distinct) = &mut self.distinct {
                    batch = distinct.filter(&batch, &mut self.reservation)?;
                }
                if batch.num_rows() == 0 {
                    continue;
                }
                self.reservation.try_grow(batch.get_array_memory_size())?;
                self.next.push(batch.clone());
                return Ok(Some(batch));
            }
            if self.next.is_empty() {
                return Ok(None);
            }
            self.context.kill.check().map_err(external)?;
            self.rounds += 1;
            if self.rounds > self.context.settings.cte_max_recursion_depth {
                return Err(external(SqlError::new(ErrorCode::CteRecursionLimit, &[&self.rounds])));
            }
            let before = std::mem::replace(&mut *self.rows.lock(), std::mem::take(&mut self.next));
            self.reservation.shrink(before.iter().map(RecordBatch::get_array_memory_size).sum());
            self.stream = reset_plan_states(Arc::clone(&self.recursive))?.execute(0, Arc::clone(&self.task))?;
        }
    }
}

/// Rows seen so far, by their keys.
struct Distinct {
    keys: Vec<Arc<dyn PhysicalExpr>>,
    converter: Option<RowConverter>,
    seen: HashSet<Box<[u8]>>,
}

impl Distinct {
    fn filter(&mut self, batch: &RecordBatch, reservation: &mut MemoryReservation) -> Result<RecordBatch> {
        let arrays = self
            .keys
            .iter()
            .map(|key| key.evaluate(batch)?.into_array(batch.num_rows()))
            .collect::<Result<Vec<ArrayRef>>>()?;
        let converter = match self.converter.take() {
            Some(converter) => converter,
            None => RowConverter::new(arrays.iter().map(|array| SortField::new(array.data_type().clone())).collect())?,
        };
        let rows = converter.convert_columns(&arrays)?;
        let mut bytes = 0;
        let keep: BooleanArray = rows
            .iter()
            .map(|row| {
                let new = self.seen.insert(row.data().into());
                bytes += if new { row.data().len() + 48 } else { 0 };
                Some(new)
            })
            .collect();
        self.converter = Some(converter);
        reservation.try_grow(bytes)?;
        Ok(filter_record_batch(batch, &keep)?)
    }
}

fn assign_rows(plan: Arc<dyn ExecutionPlan>, id: u32, rows: &WorkRows) -> Result<Arc<dyn ExecutionPlan>> {
    replace_each(plan, |scan: &WorkTableExec| {
        let read = || WorkTableExec::new(id, scan.schema(), scan.projection.clone(), Some(Arc::clone(rows)));
        Ok((scan.id == id).then(|| Arc::new(read()) as _))
    })
}

fn single_partition(schema: SchemaRef) -> Arc<PlanProperties> {
    Arc::new(PlanProperties::new(
        EquivalenceProperties::new(schema),
        Partitioning::UnknownPartitioning(1),
        EmissionType::Incremental,
        Boundedness::Bounded,
    ))
}

fn external(error: SqlError) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
