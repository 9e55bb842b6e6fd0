//! Keys of joins that treat NULL as equal to NULL: `a <=> b`.
//!
//! In DataFusion this is a property of the whole join. Two of its rules ignore it when they move keys from one join to another.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinType, NullEquality, Result};
use datafusion::logical_expr::{Join, LogicalPlan};
use datafusion::optimizer::eliminate_cross_join::EliminateCrossJoin;
use datafusion::optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

/// DataFusion's [`ExtractEquijoinPredicate`], but a join by `a <=> b` gets no further key: `c = d` beside it is false of NULLs.
pub fn extract_keys() -> impl OptimizerRule {
    Sparing { rule: ExtractEquijoinPredicate::new(), spares: |plan| by_nulls(plan).is_some() }
}

/// DataFusion's [`EliminateCrossJoin`], but for plans with an inner join by `a <=> b`: it puts inner joins together again, all of them as the
/// outermost one takes NULLs.
pub fn join_by_keys() -> impl OptimizerRule {
    Sparing { rule: EliminateCrossJoin::new(), spares: has_inner_join_by_nulls }
}

fn by_nulls(plan: &LogicalPlan) -> Option<&Join> {
    match plan {
        LogicalPlan::Join(join) if join.null_equality == NullEquality::NullEqualsNull => Some(join),
        _ => None,
    }
}

fn has_inner_join_by_nulls(plan: &LogicalPlan) -> bool {
    // What is asked of each node cannot fail.
    plan.exists(|plan| Ok(by_nulls(plan).is_some_and(|join| join.join_type == JoinType::Inner))).unwrap_or(true)
}

/// A rule that leaves some plans as they are.
#[derive(Debug)]
struct Sparing<R> {
    rule: R,
    spares: fn(&LogicalPlan) -> bool,
}

impl<R: OptimizerRule> OptimizerRule for Sparing<R> {
    fn name(&self) -> &str {
        self.rule.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.rule.apply_order()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        if (self.spares)(&plan) { Ok(Transformed::no(plan)) } else { self.rule.rewrite(plan, config) }
    }
}
