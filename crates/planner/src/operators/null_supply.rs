//! Keeps an outer join from taking values of its NULL-supplying side for constants.
//!
//! DataFusion's outer joins pass on what is known of both inputs. That a column of the side that may have no row is a
//! constant is no longer true of the joined rows, where it may be NULL as well; taken for a constant it would be left
//! out of sorts, and groups by it would be taken for sorted. [`HideConstants`] puts [`NullSupplyExec`] under such
//! joins, which says nothing of constants and does nothing else.

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties};
use std::fmt;
use std::sync::Arc;

/// The rule.
#[derive(Debug)]
pub struct HideConstants;

impl PhysicalOptimizerRule for HideConstants {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| {
            let Some(join_type) = join_type_of(plan.as_ref()) else { return Ok(Transformed::no(plan)) };
            let hidden = |side: usize| match join_type {
                JoinType::Left => side == 1,
                JoinType::Right => side == 0,
                JoinType::Full => true,
                _ => false,
            };
            let mut changed = false;
            let children = plan
                .children()
                .into_iter()
                .enumerate()
                .map(|(side, child)| {
                    if !hidden(side) || child.equivalence_properties().constants().is_empty() {
                        return Arc::clone(child);
                    }
                    changed = true;
                    Arc::new(NullSupplyExec::new(Arc::clone(child))) as Arc<dyn ExecutionPlan>
                })
                .collect();
            if !changed {
                return Ok(Transformed::no(plan));
            }
            let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
            Ok(Transformed::yes(plan.replace_children(children, options)?))
        })
        .data()
    }

    fn name(&self) -> &str {
        "hide_constants"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn join_type_of(plan: &dyn ExecutionPlan) -> Option<JoinType> {
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return Some(*join.join_type());
    }
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        return Some(*join.join_type());
    }
    plan.downcast_ref::<SortMergeJoinExec>().map(SortMergeJoinExec::join_type)
}

/// Gives its input's rows.
#[derive(Debug)]
pub struct NullSupplyExec {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl NullSupplyExec {
    fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        let order = input.output_ordering().cloned();
        let properties = Arc::new(PlanProperties::new(
            EquivalenceProperties::new_with_orderings(input.schema(), order),
            input.output_partitioning().clone(),
            input.pipeline_behavior(),
            input.boundedness(),
        ));
        Self { input, properties }
    }
}

impl DisplayAs for NullSupplyExec {
    fn fmt_as(&self, _t: DisplayFormatType, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "NullSupplyExec")
    }
}

impl ExecutionPlan for NullSupplyExec {
    fn name(&self) -> &str {
        "NullSupplyExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
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
            Some(input) => Ok(Arc::new(Self::new(input))),
            None => internal_err!("NullSupplyExec has one child"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, task: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, task)
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
            None => internal_err!("NullSupplyExec has one child"),
        }
    }
}
