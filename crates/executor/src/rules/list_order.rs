//! Gives the rows of a LEFT JOIN below GROUP_CONCAT in the order of the left table, as MySQL's nested loops do.
//!
//! A hash join keeps the order of its probe side. If it hashes the left rows, it gives them in the order of their partners, and rows
//! without a partner last.

use crate::rewrite::replace_each;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
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
        replace_each(plan, |join: &HashJoinExec| match join.join_type() {
            JoinType::Left => join.swap_inputs(*join.partition_mode()).map(Some),
            _ => Ok(None),
        })
    }

    fn name(&self) -> &str {
        "list_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
