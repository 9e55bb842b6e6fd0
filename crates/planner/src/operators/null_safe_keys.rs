//! Keys of joins that take NULL for equal to NULL: `a <=> b`.
//!
//! DataFusion says of a join as a whole whether NULL equals NULL. Two of its rules forget that while they move keys from one join to another.

use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinType, NullEquality, Result};
use datafusion::logical_expr::{Join, LogicalPlan};
use datafusion::optimizer::eliminate_cross_join::EliminateCrossJoin;
use datafusion::optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};

fn takes_nulls(join: &Join) -> bool {
    join.null_equality == NullEquality::NullEqualsNull
}

/// DataFusion's [`ExtractEquijoinPredicate`], but a join by `a <=> b` gets no further key: `c = d` beside it is false of NULLs.
#[derive(Debug, Default)]
pub struct ExtractKeys {
    inner: ExtractEquijoinPredicate,
}

impl OptimizerRule for ExtractKeys {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.inner.apply_order()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        match &plan {
            LogicalPlan::Join(join) if takes_nulls(join) => Ok(Transformed::no(plan)),
            _ => self.inner.rewrite(plan, config),
        }
    }
}

/// DataFusion's [`EliminateCrossJoin`], but for plans with a join by `a <=> b`: it puts inner joins together anew, all of them as the
/// outermost one takes NULLs.
#[derive(Debug, Default)]
pub struct JoinByKeys {
    inner: EliminateCrossJoin,
}

impl OptimizerRule for JoinByKeys {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.inner.apply_order()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let by_nulls = plan.exists(|plan| {
            Ok(matches!(plan, LogicalPlan::Join(join) if join.join_type == JoinType::Inner && takes_nulls(join)))
        })?;
        if by_nulls { Ok(Transformed::no(plan)) } else { self.inner.rewrite(plan, config) }
    }
}
