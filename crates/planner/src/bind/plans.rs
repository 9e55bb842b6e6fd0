//! Joins and filters of plans, and what plans read.

use super::column::ColumnId;
use super::context::{placeholder_column, plan_result};
use arrow::datatypes::Field;
use datafusion::common::{DFSchema, JoinType, NullEquality};
use datafusion::logical_expr::{Expr, Join, JoinConstraint, LogicalPlan};
use squall_parser::ast;
use squall_types::SqlResult;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The same columns, each of which may be NULL.
pub(crate) fn nullable(schema: &DFSchema) -> SqlResult<DFSchema> {
    let fields = schema.iter().map(|(relation, field)| {
        let field = Field::clone(field).with_nullable(true);
        (relation.cloned(), Arc::new(field))
    });
    plan_result(DFSchema::new_with_metadata(fields.collect(), schema.metadata().clone()))
}

/// A filter over a plan.
pub(crate) fn filter_plan(plan: LogicalPlan, predicate: Expr) -> SqlResult<LogicalPlan> {
    let filter = plan_result(datafusion::logical_expr::Filter::try_new(predicate, Arc::new(plan)))?;
    Ok(LogicalPlan::Filter(filter))
}

/// A join of two plans.
pub(crate) fn join(
    left: LogicalPlan,
    right: LogicalPlan,
    filter: Option<Expr>,
    join_type: JoinType,
) -> SqlResult<LogicalPlan> {
    join_on(left, right, Vec::new(), filter, join_type, false)
}

/// A join of two plans on pairs of keys; `null_aware` gives LeftAnti the meaning of NOT IN.
pub(crate) fn join_on(
    left: LogicalPlan,
    right: LogicalPlan,
    on: Vec<(Expr, Expr)>,
    filter: Option<Expr>,
    join_type: JoinType,
    null_aware: bool,
) -> SqlResult<LogicalPlan> {
    let join = Join::try_new(
        Arc::new(left),
        Arc::new(right),
        on,
        filter,
        join_type,
        JoinConstraint::On,
        NullEquality::NullEqualsNothing,
        null_aware,
    );
    Ok(LogicalPlan::Join(plan_result(join)?))
}

/// The conditions that AND joins.
pub(crate) fn conjuncts_of(condition: &ast::Expr) -> Vec<&ast::Expr> {
    match condition {
        ast::Expr::And(conditions) => conditions.iter().flat_map(conjuncts_of).collect(),
        other => vec![other],
    }
}

/// The outer columns that a plan reads, also in its subqueries.
pub(crate) fn outer_columns(plan: &LogicalPlan) -> SqlResult<BTreeSet<ColumnId>> {
    let placeholders = plan_result(squall_executor::operators::apply::free_placeholders(plan))?;
    Ok(placeholders.iter().filter_map(|id| placeholder_column(id)).collect())
}
