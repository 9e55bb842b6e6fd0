//! Keeps the order of rows in hash joins.
//!
//! DataFusion's hash join gives the rows of its probe side, matched or not, in their order if it knows that order when it runs. Its
//! rule that pushes projections down removes columns that no operator above needs. It removes columns of the order too, although a sort
//! or a limit above may have been left out because of that order. The rule does not change a join with its own projection, so such a
//! join gets one here.
//!
//! Only joins below an operator that needs their order are changed: the extra columns cost memory, and a join that spills sorts its
//! rows.

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::output_requirements::OutputRequirementExec;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::tree_node::PlanContext;
use std::sync::Arc;

/// Gives joins whose rows have to be in an order a projection of all columns.
#[derive(Debug)]
pub struct JoinOrderRule;

impl PhysicalOptimizerRule for JoinOrderRule {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        // If the plan no longer has its requirements, it may require an order.
        let is_ordered = !plan.is::<OutputRequirementExec>();
        let mut root = PlanContext::<bool>::new_default(plan);
        root.data = is_ordered;
        root.transform_down(with_order).data().map(|root| root.plan)
    }

    fn name(&self) -> &str {
        "join_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The data of a node says whether the order of its rows is asked for.
fn with_order(mut node: PlanContext<bool>) -> Result<Transformed<PlanContext<bool>>> {
    let (required, kept) = (node.plan.required_input_ordering(), node.plan.maintains_input_order());
    // Which rows are the first ones is a matter of order, too.
    node.data |= node.plan.fetch().is_some() || node.plan.is::<GlobalLimitExec>();
    for ((child, required), kept) in node.children.iter_mut().zip(required).zip(kept) {
        child.data = required.is_some() || node.data && kept;
    }
    let join = node
        .plan
        .downcast_ref::<HashJoinExec>()
        .filter(|join| node.data && !join.contains_projection() && join.properties().output_ordering().is_some());
    let Some(join) = join else { return Ok(Transformed::no(node)) };
    let all = (0..join.schema().fields().len()).collect();
    node.plan = join.builder().with_projection(Some(all)).build_exec()?;
    Ok(Transformed::yes(node))
}
