//! Stops a hash join from claiming that the rows of its build side are in an order.
//!
//! DataFusion's hash join keeps the order of its probe side, and says that rows with equal probe keys are in the order of the build side
//! (`join_equivalence_properties`: probe order, then build order). That holds only if the probe order has no two equal rows: otherwise
//! the build rows of the first one come before those of the second. A sort by both would be left out, and rows would be in a wrong order.
//!
//! [`HideBuildOrder`] runs before the rule that decides which sorts are needed. What it puts into the plan stays there: a sort asks when it runs
//! whether its input is sorted already.

use crate::operators::pass_through::{PassThrough, PassThroughExec};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, PlanProperties};
use std::sync::Arc;

/// Puts an operator without an order over each build side that has one.
#[derive(Debug)]
pub struct HideBuildOrder;

impl PhysicalOptimizerRule for HideBuildOrder {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| {
            let build = plan.downcast_ref::<HashJoinExec>().map(HashJoinExec::left);
            let Some(build) = build.filter(|build| build.output_ordering().is_some()) else {
                return Ok(Transformed::no(plan));
            };
            let hidden = Arc::new(PassThroughExec::new(Arc::clone(build), Unordered));
            with_build(plan, hidden).map(Transformed::yes)
        })
        .data()
    }

    fn name(&self) -> &str {
        "hide_build_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The join with another build side.
fn with_build(join: Arc<dyn ExecutionPlan>, build: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let children = [build].into_iter().chain(join.children().into_iter().skip(1).map(Arc::clone)).collect();
    join.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
}

/// Gives its input's rows, and does not say in which order.
#[derive(Clone, Debug)]
struct Unordered;

impl PassThrough for Unordered {
    fn label(&self) -> &str {
        "UnorderedExec"
    }

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
        let mut equivalences = input.equivalence_properties().clone();
        equivalences.clear_orderings();
        Arc::new(PlanProperties::new(
            equivalences,
            input.output_partitioning().clone(),
            input.pipeline_behavior(),
            input.boundedness(),
        ))
    }
}
