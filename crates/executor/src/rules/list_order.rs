//! Gives the rows of a LEFT JOIN below GROUP_CONCAT in the order of the left table, as MySQL's nested loops do.
//!
//! A hash join keeps the order of its probe side. If it hashes the left rows, it gives them in the order of their partners, and rows
//! without a partner last.

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::logical_expr::JoinType;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::joins::HashJoinExec;
use std::sync::Arc;

/// Has the left rows of LEFT JOINs probe the hash table of the right ones.
#[derive(Debug)]
pub struct ListOrderRule;

impl PhysicalOptimizerRule for ListOrderRule {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let probing = |plan: Arc<dyn ExecutionPlan>| match plan.downcast_ref::<HashJoinExec>() {
            Some(join) if *join.join_type() == JoinType::Left => {
                Ok(Transformed::yes(join.swap_inputs(*join.partition_mode())?))
            }
            _ => Ok(Transformed::no(plan)),
        };
        plan.transform_up(probing).data()
    }

    fn name(&self) -> &str {
        "list_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
