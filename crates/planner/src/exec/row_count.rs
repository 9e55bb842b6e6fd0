//! Rows without columns, gathered as their number.
//!
//! A join keeps the rows of one side. Rows of which no column is wanted (`SELECT COUNT(*) FROM a, b, c`) take no memory that
//! anybody counts, and yet each batch of them takes some: a product of many tables would fill the machine with empty batches.

use arrow::datatypes::SchemaRef;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::StreamExt;
use std::fmt;
use std::sync::Arc;

/// One batch of as many rows as its input has.
#[derive(Debug)]
pub(super) struct RowCountExec {
    input: Arc<dyn ExecutionPlan>,
}

impl RowCountExec {
    /// `input` as one batch, if its rows have no columns.
    pub fn around(input: &Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
        match input.schema().fields().is_empty() && !input.is::<RowCountExec>() {
            true => Arc::new(Self { input: input.clone() }),
            false => input.clone(),
        }
    }
}

impl DisplayAs for RowCountExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "RowCountExec")
    }
}

impl ExecutionPlan for RowCountExec {
    fn name(&self) -> &str {
        "RowCountExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match children.pop() {
            Some(input) => Ok(Arc::new(Self { input })),
            None => internal_err!("RowCountExec has one child"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, task: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let mut input = self.input.execute(partition, task)?;
        let schema: SchemaRef = self.schema();
        let all = schema.clone();
        let counted = async move {
            let mut rows = 0_usize;
            while let Some(batch) = input.next().await {
                rows = rows.saturating_add(batch?.num_rows());
            }
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            Ok(RecordBatch::try_new_with_options(all, Vec::new(), &options)?)
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, futures::stream::once(counted))))
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        input_stats: &[Arc<Statistics>],
        _args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        match input_stats.first() {
            Some(statistics) => Ok(Arc::clone(statistics)),
            None => internal_err!("RowCountExec has one child"),
        }
    }
}
