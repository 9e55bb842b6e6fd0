//! Skips parts of a table that is joined by the column which orders its parts. Only the parts between the other side's least and
//! greatest value are read: `WHERE ts = (SELECT MAX(ts) …)` reads one snapshot of a history.
//!
//! The join collects the other side first. An operator above that side records its bounds, and the scan asks for parts later. A scan
//! that asks earlier gets all parts, which is correct because the join filters anyway.

use crate::access::virtual_table::PartsExec;
use crate::operator::Operator;
use crate::operators::pass_through::{PassThrough, PassThroughExec};
use crate::rewrite::{replace_each, with_inputs};
use crate::rules::order::replace_leaf;
use crate::runtime_filters::noted_bounds::NotedBounds;
use arrow::record_batch::RecordBatch;
use datafusion::common::config::ConfigOptions;
use datafusion::common::{JoinType, Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{HashJoinExec, PartitionMode};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use futures::StreamExt;
use squall_functions::arrow_map::value_at;
use squall_functions::expr::datafusion_error;
use squall_types::SqlType;
use std::sync::Arc;

/// Most rows of the side that is collected, as far as is known: noting many costs more than it spares.
const ROWS_MAX: usize = 10_000;

/// The rule.
#[derive(Debug)]
pub struct SeekPartsRule;

impl PhysicalOptimizerRule for SeekPartsRule {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        replace_each(plan, parts_last)
    }

    fn name(&self) -> &str {
        "seek_parts"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The join with the parts read last, and only those that are wanted.
fn parts_last(join: &HashJoinExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let [(left, right)] = join.on() else { return Ok(None) };
    if join.null_aware || *join.join_type() != JoinType::Inner {
        return Ok(None);
    }
    if ordered_parts(join.right(), right).is_some() {
        return bounded(join);
    }
    if ordered_parts(join.left(), left).is_none() || !has_few_rows(join.right())? {
        return Ok(None);
    }
    let swapped = join.swap_inputs(PartitionMode::CollectLeft)?;
    if let Some(join) = swapped.downcast_ref::<HashJoinExec>() {
        return bounded(join);
    }
    // The columns are put back into their order above the join.
    let Some(below) = swapped.children().first().and_then(|below| below.downcast_ref::<HashJoinExec>()) else {
        return Ok(None);
    };
    let Some(join) = bounded(below)? else { return Ok(None) };
    with_inputs(&swapped, vec![join]).map(Some)
}

/// The join of whose left side the bounds are noted for the parts on its right.
fn bounded(join: &HashJoinExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let [(left, right)] = join.on() else { return Ok(None) };
    let (Some(key), Some((parts, sql_type))) = (left.downcast_ref::<Column>(), ordered_parts(join.right(), right))
    else {
        return Ok(None);
    };
    if join.left().output_partitioning().partition_count() != 1 || !has_few_rows(join.left())? {
        return Ok(None);
    }
    let bounds = Arc::new(NotedBounds::default());
    let note = NoteBounds { column: key.index(), sql_type: sql_type.clone(), bounds: bounds.clone() };
    let noted = PassThroughExec::new(join.left().clone(), note);
    let parts = replace_leaf(join.right(), Arc::new(parts.within(bounds)))?;
    let join = join.builder().with_partition_mode(PartitionMode::CollectLeft).build_exec()?;
    with_inputs(&join, vec![Arc::new(noted), parts]).map(Some)
}

/// The parts that a chain of filters and projections reads, if a key is the time in whose order they come; with its type.
fn ordered_parts<'p>(
    plan: &'p Arc<dyn ExecutionPlan>,
    key: &Arc<dyn PhysicalExpr>,
) -> Option<(&'p PartsExec, &'p SqlType)> {
    let index = key.downcast_ref::<Column>()?.index();
    if let Some(parts) = PartsExec::of(plan.as_ref()) {
        let sql_type = parts.order_type(index)?;
        let is_moment = matches!(sql_type, SqlType::DateTime { .. } | SqlType::Timestamp { .. });
        return (is_moment && !parts.is_bounded()).then_some((parts, sql_type));
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let index = match filter.projection() {
            Some(projection) => *projection.get(index)?,
            None => index,
        };
        let below: Arc<dyn PhysicalExpr> = Arc::new(Column::new("", index));
        return ordered_parts(filter.input(), &below);
    }
    let projection = plan.downcast_ref::<ProjectionExec>()?;
    ordered_parts(projection.input(), &projection.expr().get(index)?.expr)
}

fn has_few_rows(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let statistics = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new())?;
    Ok(statistics.num_rows.get_value().is_some_and(|rows| *rows <= ROWS_MAX))
}

/// Gives its input's rows, and notes the bounds of a column.
#[derive(Clone, Debug)]
struct NoteBounds {
    column: usize,
    sql_type: SqlType,
    bounds: Arc<NotedBounds>,
}

impl NoteBounds {
    fn note(&self, batch: &RecordBatch) -> Result<()> {
        let Some(array) = batch.columns().get(self.column) else { return internal_err!("a key without a column") };
        for row in 0..batch.num_rows() {
            let value = value_at(array.as_ref(), row, &self.sql_type).map_err(datafusion_error)?;
            if !value.is_null() {
                self.bounds.note(value);
            }
        }
        Ok(())
    }
}

impl PassThrough for NoteBounds {
    fn label(&self) -> &str {
        "NoteBoundsExec"
    }

    fn runs_again(&self) -> bool {
        false
    }

    fn execute(
        &self,
        input: &Arc<dyn ExecutionPlan>,
        partition: usize,
        task: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let schema = input.schema();
        let input = input.execute(partition, task)?;
        self.bounds.begin();
        let stream = futures::stream::unfold((input, self.clone()), |(mut input, note)| async move {
            let batch = match input.next().await {
                None => {
                    note.bounds.end();
                    return None;
                }
                Some(batch) => batch.and_then(|batch| note.note(&batch).map(|()| batch)),
            };
            Some((batch, (input, note)))
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream)))
    }
}
