//! Hash joins whose rows come in an order keep it.
//!
//! DataFusion's hash join gives the rows of its probe side in their order, unmatched ones in between, if that side's order is
//! known when it runs. Its rule that pushes projections down takes columns away that nobody above wants, also those that the
//! order is by, although a sort or a limit above may have been left out because of it. A join that has a projection of its own is
//! left alone by that rule.

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::HashJoinExec;
use std::sync::Arc;

/// Gives joins whose rows are in an order a projection of all columns.
#[derive(Debug)]
pub struct JoinOrderRule;

impl PhysicalOptimizerRule for JoinOrderRule {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let kept = plan.transform_up(|plan| {
            let join = plan.downcast_ref::<HashJoinExec>();
            let Some(join) =
                join.filter(|join| !join.contains_projection() && join.properties().output_ordering().is_some())
            else {
                return Ok(Transformed::no(plan));
            };
            let all = (0..join.schema().fields().len()).collect();
            Ok(Transformed::yes(join.builder().with_projection(Some(all)).build_exec()?))
        });
        kept.data()
    }

    fn name(&self) -> &str {
        "join_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
