//! Plans that give rows which a join already has, or run an input in another environment than the join.

use crate::operator::{Operator, execution_plan};
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalSortExpr};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, PlanProperties};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;

/// Gives the rows of a stream, once.
pub(in crate::operators) struct StreamExec {
    stream: Mutex<Option<SendableRecordBatchStream>>,
    properties: Arc<PlanProperties>,
}

impl StreamExec {
    pub(super) fn new(stream: SendableRecordBatchStream) -> Self {
        let order = EquivalenceProperties::new(stream.schema());
        Self::with_order(stream, order)
    }

    /// Rows of which some order is known.
    pub(in crate::operators) fn with_order(stream: SendableRecordBatchStream, order: EquivalenceProperties) -> Self {
        let properties = PlanProperties::new(
            order,
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self { stream: Mutex::new(Some(stream)), properties: Arc::new(properties) }
    }

    pub(super) fn of_batches(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        let batches = futures::stream::iter(batches.into_iter().map(Ok));
        Self::new(Box::pin(RecordBatchStreamAdapter::new(schema, batches)))
    }
}

impl fmt::Debug for StreamExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StreamExec")
    }
}

impl Operator for StreamExec {
    fn label(&self) -> &str {
        "StreamExec"
    }

    fn output(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn stream(&self, _partition: usize, _context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.stream.lock().take().ok_or_else(|| internal_datafusion_err!("the rows of a stream come once"))
    }
}

execution_plan!(StreamExec);

/// An input, or one partition of it, that runs in the given environment: in its own memory pool.
///
/// It says of its rows that they have an order. A hash join puts rows without a partner between the others only if its probe side does,
/// and lists are made in the order of rows (GROUP_CONCAT) also where no column tells it. Nothing else looks at this input.
#[derive(Debug)]
pub(super) struct InContextExec {
    input: Arc<dyn ExecutionPlan>,
    partition: Option<usize>,
    context: Arc<TaskContext>,
    properties: Arc<PlanProperties>,
}

impl InContextExec {
    pub(super) fn new(input: Arc<dyn ExecutionPlan>, partition: Option<usize>, context: Arc<TaskContext>) -> Self {
        let mut known = input.equivalence_properties().clone();
        if known.output_ordering().is_none() {
            let schema = input.schema();
            let columns = schema.fields().iter().enumerate().map(|(at, field)| Column::new(field.name(), at));
            known.add_ordering(columns.map(|column| PhysicalSortExpr::new_default(Arc::new(column))));
        }
        let partitioning = match partition {
            None => input.output_partitioning().clone(),
            Some(_) => Partitioning::UnknownPartitioning(1),
        };
        let properties = PlanProperties::new(known, partitioning, input.pipeline_behavior(), input.boundedness());
        Self { input, partition, context, properties: Arc::new(properties) }
    }

    /// All rows, those of all partitions together.
    pub(super) fn into_one_stream(self) -> Result<SendableRecordBatchStream> {
        match self.partition {
            Some(partition) => self.input.execute(partition, self.context),
            None if self.input.output_partitioning().partition_count() == 1 => self.input.execute(0, self.context),
            None => CoalescePartitionsExec::new(self.input).execute(0, self.context),
        }
    }
}

impl Operator for InContextExec {
    fn label(&self) -> &str {
        "InContextExec"
    }

    fn output(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn stream(&self, partition: usize, _context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(self.partition.unwrap_or(partition), Arc::clone(&self.context))
    }
}

execution_plan!(InContextExec);
