//! Uses the keys of a join's smaller side as a condition on the other side, if that is a column table, or a row table with an index of them.
//!
//! A hash join reads one side, the build side, before it asks the other for a row. `KeysOfSide` collects the keys meanwhile. The scan
//! of the column table begins later and tests its column for these keys: zone maps and bitmap indexes skip rows without a partner, and
//! none of these is decoded (*sideways information passing*; Ives and Taylor: "Sideways information passing for push-style query
//! processing", 2008). The scan of a row table looks few keys up in the index. The answer does not depend on it: a scan that begins before the keys are complete does not use them.

use crate::access::RowScanExec;
use crate::access::column_scan::ColumnScanExec;
use crate::operator::Operator;
use crate::operators::as_hash_join;
use crate::operators::pass_through::{PassThrough, PassThroughExec};
use crate::rewrite::{replace_nodes, with_inputs};
use crate::runtime_filters::join_keys::{JoinKeys, Keys, is_key_type};
use crate::star::exec::StarExec;
use arrow::record_batch::RecordBatch;
use datafusion::common::config::ConfigOptions;
use datafusion::common::{JoinType, NullEquality, Result};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use futures::StreamExt;
use squall_types::SqlType;
use std::sync::Arc;

/// The build side has to have this many times fewer rows for its keys to be worth a test.
const FEWER_TIMES: f64 = 2.0;

/// Row tables of fewer rows are read whole: a plan that notes keys is not kept.
const ROWS_MIN: f64 = 10_000.0;

/// The rule. It comes after those that choose the sides of joins.
#[derive(Debug)]
pub struct JoinKeysRule;

impl PhysicalOptimizerRule for JoinKeysRule {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        replace_nodes(plan, |plan| as_hash_join(plan).map_or(Ok(None), with_keys))
    }

    fn name(&self) -> &str {
        "join_keys"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The join with the keys of its build side as conditions on the other; `None` if there is nothing to gain.
fn with_keys(join: &HashJoinExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    // Rows of the other side that have no partner must not matter.
    let only_partners = matches!(
        join.join_type(),
        JoinType::Inner | JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::RightSemi
    );
    if !only_partners || join.null_aware || join.null_equality() != NullEquality::NullEqualsNothing {
        return Ok(None);
    }
    let build_rows = rows_of(join.left())?;
    let mut right = join.right().clone();
    let mut noted = Vec::new();
    for (left_key, right_key) in join.on() {
        let (Some(_), Some(column)) = (left_key.downcast_ref::<Column>(), right_key.downcast_ref::<Column>()) else {
            continue;
        };
        if left_key.data_type(&join.left().schema())? != right_key.data_type(&join.right().schema())? {
            continue;
        }
        let keys = Arc::new(JoinKeys::default());
        if let Some(tested) = tested(&right, column.index(), &keys, build_rows)? {
            right = tested;
            noted.push((left_key.clone(), keys));
        }
    }
    if noted.is_empty() {
        return Ok(None);
    }
    let left = Arc::new(PassThroughExec::new(join.left().clone(), KeysOfSide(noted)));
    Ok(Some(Arc::new(join.builder().with_new_children(vec![left, right])?.build()?)))
}

/// The plan with a test for the keys where a column comes from the scan of a column table of many more rows.
fn tested(
    plan: &Arc<dyn ExecutionPlan>,
    column: usize,
    keys: &Arc<JoinKeys>,
    build_rows: f64,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = ColumnScanExec::of(plan.as_ref()) {
        let Some(ordinal) = scan.projection.get(column).copied() else { return Ok(None) };
        let is_key = scan.source.def.columns.get(ordinal).is_some_and(|column| is_key_type(&column.sql_type));
        let pays = build_rows * FEWER_TIMES <= scan.visible_rows() as f64;
        return Ok((is_key && pays && scan.fetch.is_none()).then(|| scan.with_join_keys(ordinal, keys.clone()) as _));
    }
    if let Some(scan) = RowScanExec::replaceable(plan) {
        let Some(ordinal) = scan.projection.get(column).copied() else { return Ok(None) };
        let column = scan.source.def.columns.get(ordinal);
        let is_key = column.is_some_and(|column| matches!(column.sql_type, SqlType::Int { .. }));
        let pays = scan.path.rows >= ROWS_MIN && build_rows * FEWER_TIMES <= scan.path.rows;
        let index = if is_key && pays { scan.index_of_keys(ordinal) } else { None };
        return Ok(index.map(|index| scan.with_join_keys(index, keys.clone()) as _));
    }
    if let Some(star) = StarExec::of(plan.as_ref()) {
        let pays = build_rows * FEWER_TIMES <= star.rows_of_fact() as f64;
        return Ok(if pays { star.with_join_keys(column, keys)?.map(|star| star as _) } else { None });
    }
    // Which child has the column, and where in it.
    let children = plan.children();
    let (child, at) = if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        if filter.fetch().is_some() {
            return Ok(None);
        }
        let at = filter.projection().as_ref().map_or(Some(column), |projection| projection.get(column).copied());
        (0, at)
    } else if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let expr = projection.expr().get(column).map(|projected| &projected.expr);
        (0, expr.and_then(|expr| expr.downcast_ref::<Column>()).map(Column::index))
    } else if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        // All rows of a group have its keys, so groups that have no partner may as well have no rows.
        (0, grouped_by(aggregate, column))
    } else if let Some(join) = as_hash_join(plan) {
        let at = match &join.projection {
            Some(projection) => projection.get(column).copied(),
            None => Some(column),
        };
        let Some((child, at)) = at.and_then(|at| side_of(join, at)) else { return Ok(None) };
        (child, Some(at))
    } else {
        return Ok(None);
    };
    let (Some(at), Some(input)) = (at, children.get(child)) else { return Ok(None) };
    let Some(input) = tested(input, at, keys, build_rows)? else { return Ok(None) };
    let mut children: Vec<Arc<dyn ExecutionPlan>> = children.into_iter().cloned().collect();
    children[child] = input;
    with_inputs(plan, children).map(Some)
}

/// The column of its input that a column of an aggregation's result is, if rows are grouped by it.
fn grouped_by(aggregate: &AggregateExec, column: usize) -> Option<usize> {
    let groups = aggregate.group_expr();
    // Grouping sets make groups without some keys. A limit counts groups.
    if !groups.is_single() || aggregate.limit_options().is_some() {
        return None;
    }
    let (expr, _) = groups.expr().get(column)?;
    expr.downcast_ref::<Column>().map(Column::index)
}

/// The side of a join that a column of its result is of, and where in it, if rows of that side may be left out before the join as well as
/// after it.
fn side_of(join: &HashJoinExec, at: usize) -> Option<(usize, usize)> {
    let of_left = join.left().schema().fields().len();
    let found = match join.join_type() {
        JoinType::LeftSemi | JoinType::LeftAnti => (0, at),
        JoinType::RightSemi | JoinType::RightAnti => (1, at),
        _ if at < of_left => (0, at),
        _ => (1, at - of_left),
    };
    let kept = match join.join_type() {
        JoinType::Inner => true,
        JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti => found.0 == 0,
        JoinType::Right | JoinType::RightSemi | JoinType::RightAnti => found.0 == 1,
        _ => false,
    };
    kept.then_some(found)
}

fn rows_of(plan: &Arc<dyn ExecutionPlan>) -> Result<f64> {
    let statistics = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new())?;
    Ok(statistics.num_rows.get_value().map_or(f64::MAX, |rows| *rows as f64))
}

/// Passes a build side on, and notes its keys.
#[derive(Clone, Debug)]
struct KeysOfSide(Vec<(Arc<dyn PhysicalExpr>, Arc<JoinKeys>)>);

impl PassThrough for KeysOfSide {
    fn label(&self) -> &str {
        "KeysOfSideExec"
    }

    fn expressions(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        self.0.iter().map(|(expr, _)| expr).collect()
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
        let partitions = input.output_partitioning().partition_count();
        self.0.iter().for_each(|(_, keys)| keys.begin(partitions));
        let pool = task.memory_pool().clone();
        let input = input.execute(partition, task)?;
        let noting = |(expr, whole): &(Arc<dyn PhysicalExpr>, Arc<JoinKeys>)| Noting {
            expr: expr.clone(),
            whole: whole.clone(),
            keys: Keys::default(),
            paid: MemoryConsumer::new("JoinKeys").register(&pool),
        };
        let found: Vec<Noting> = self.0.iter().map(noting).collect();
        let rows = futures::stream::unfold((input, found), |(mut input, mut found)| async move {
            match input.next().await {
                Some(Ok(batch)) => match found.iter_mut().try_for_each(|noting| noting.add(&batch)) {
                    Ok(()) => Some((Ok(batch), (input, found))),
                    Err(error) => Some((Err(error), (input, found))),
                },
                // Keys of a side that failed are never complete.
                Some(Err(error)) => Some((Err(error), (input, found))),
                None => {
                    found.into_iter().for_each(|noting| noting.whole.end(noting.keys, noting.paid));
                    None
                }
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

/// The keys of one equality, as a partition of the build side is read.
struct Noting {
    expr: Arc<dyn PhysicalExpr>,
    whole: Arc<JoinKeys>,
    keys: Keys,
    paid: MemoryReservation,
}

impl Noting {
    fn add(&mut self, batch: &RecordBatch) -> Result<()> {
        self.keys.add_array(&self.expr.evaluate(batch)?.into_array(batch.num_rows())?);
        // Once as they come, and once as a set.
        if self.paid.try_resize(2 * self.keys.memory_bytes()).is_err() {
            self.keys.give_up();
            self.paid.resize(0);
        }
        Ok(())
    }
}
