//! Optimizes the subqueries inside [`Apply`] once, where the optimizer's own walk does not reach.

use crate::operators::apply::Apply;
use datafusion::common::Result;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{Optimizer, OptimizerConfig, OptimizerRule};
use squall_parser::ast::with_stack;
use std::sync::Arc;

/// The rule. It holds the rules that subqueries are optimized with, except itself.
#[derive(Debug)]
pub struct OptimizeSubqueries {
    rules: Vec<Arc<dyn OptimizerRule + Send + Sync>>,
}

impl OptimizeSubqueries {
    /// Optimizes subqueries, and theirs, with `rules`.
    pub fn new(rules: Vec<Arc<dyn OptimizerRule + Send + Sync>>) -> Self {
        Self { rules }
    }
}

impl OptimizerRule for OptimizeSubqueries {
    fn name(&self) -> &str {
        "optimize_subqueries"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::BottomUp)
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let Some(apply) = Apply::of(&plan) else { return Ok(Transformed::no(plan)) };
        if apply.optimized {
            return Ok(Transformed::no(plan));
        }
        let mut rules = self.rules.clone();
        rules.push(Arc::new(OptimizeSubqueries::new(self.rules.clone())));
        let subquery = apply.subquery.as_ref().clone();
        let subquery = with_stack(|| Optimizer::with_rules(rules).optimize(subquery, config, |_, _| {}))?;
        let written = (!apply.outer_values.is_empty()).then(|| Arc::clone(&apply.subquery));
        let mut apply = apply.with_subquery(subquery)?;
        (apply.optimized, apply.written) = (true, written);
        Ok(Transformed::yes(apply.into_plan()))
    }
}
