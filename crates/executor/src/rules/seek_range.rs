//! Skips parts of a table by the value of a subquery. The filter compares the column that orders the parts with a subquery that has one
//! value for all rows. The subquery runs first, and only the parts that its value leaves are read: `WHERE ts >= (SELECT MAX(ts) -
//! INTERVAL 1 MINUTE …)` reads the last minute of a history.
//!
//! The operator that runs the subquery is below the filter and above the parts. It publishes the value before it asks for
//! its first row. The filter stays: a scan that asks for parts before the value is known gets all of them.

use crate::access::virtual_table::PartsExec;
use crate::operator::Operator as _;
use crate::operators::ApplyExec;
use crate::operators::apply::ApplyKind;
use crate::rewrite::{replace_inputs, with_inputs};
use crate::runtime_filters::scalar_bound::ScalarBound;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, internal_err};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExprRef;
use datafusion::physical_expr::expressions::{BinaryExpr, Column};
use datafusion::physical_expr::utils::{collect_columns, split_conjunction};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use squall_types::SqlType;
use std::sync::Arc;

/// The rule.
#[derive(Debug)]
pub struct SeekRangeRule;

impl PhysicalOptimizerRule for SeekRangeRule {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        replace_inputs(plan, bounded)
    }

    fn name(&self) -> &str {
        "seek_range"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Where a column comes from.
enum Origin<'p> {
    /// It orders the parts.
    Order(&'p SqlType),
    /// It is a column of what a subquery gives.
    Subquery(&'p ApplyExec, usize),
}

/// Where a column of a chain of operators over parts comes from.
fn origin(plan: &Arc<dyn ExecutionPlan>, index: usize) -> Option<Origin<'_>> {
    if let Some(parts) = PartsExec::of(plan.as_ref()) {
        let sql_type = parts.order_type(index)?;
        let is_moment = matches!(sql_type, SqlType::DateTime { .. } | SqlType::Timestamp { .. });
        return is_moment.then_some(Origin::Order(sql_type));
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        let index = match filter.projection() {
            Some(projection) => *projection.get(index)?,
            None => index,
        };
        return origin(filter.input(), index);
    }
    if let Some(apply) = ApplyExec::of(plan.as_ref()) {
        let input_columns = apply.input().schema().fields().len();
        if index < input_columns {
            return origin(apply.input(), index);
        }
        let is_constant = *apply.kind() == ApplyKind::Scalar && !apply.is_correlated();
        return is_constant.then_some(Origin::Subquery(apply, index - input_columns));
    }
    let projection = plan.downcast_ref::<ProjectionExec>()?;
    let below = projection.expr().get(index)?.expr.downcast_ref::<Column>()?;
    origin(projection.input(), below.index())
}

/// The only subquery whose columns an expression reads, and the expression over those.
fn of_subquery<'p>(
    input: &'p Arc<dyn ExecutionPlan>,
    expr: &PhysicalExprRef,
) -> Result<Option<(&'p ApplyExec, PhysicalExprRef)>> {
    let mut found: Option<&ApplyExec> = None;
    for column in collect_columns(expr) {
        match (origin(input, column.index()), found) {
            (Some(Origin::Subquery(apply, _)), None) => found = Some(apply),
            (Some(Origin::Subquery(apply, _)), Some(known)) if std::ptr::eq(apply, known) => {}
            _ => return Ok(None),
        }
    }
    let Some(apply) = found else { return Ok(None) };
    let over = Arc::clone(expr).transform_up(|node| match node.downcast_ref::<Column>() {
        None => Ok(Transformed::no(node)),
        Some(column) => match origin(input, column.index()) {
            Some(Origin::Subquery(_, at)) => {
                Ok(Transformed::yes(Arc::new(Column::new(column.name(), at)) as PhysicalExprRef))
            }
            _ => internal_err!("a column of a subquery has gone"),
        },
    });
    Ok(Some((apply, over.data()?)))
}

/// The filter's input, with parts that are bounded by what it says of subqueries; `None` if it says nothing of any.
fn bounded(filter: &FilterExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let input = filter.input();
    let mut bounds: Vec<(*const ApplyExec, Arc<ScalarBound>)> = Vec::new();
    for condition in split_conjunction(filter.predicate()) {
        let Some(comparison) = condition.downcast_ref::<BinaryExpr>() else { continue };
        let (left, right) = (comparison.left(), comparison.right());
        let order_of = |expr: &PhysicalExprRef| match origin(input, expr.downcast_ref::<Column>()?.index())? {
            Origin::Order(sql_type) => Some(sql_type),
            Origin::Subquery(..) => None,
        };
        let (op, sql_type, value) = match (order_of(left), order_of(right), comparison.op().swap()) {
            (Some(sql_type), None, _) => (*comparison.op(), sql_type, right),
            (None, Some(sql_type), Some(swapped)) => (swapped, sql_type, left),
            _ => continue,
        };
        if !matches!(op, Operator::Eq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq) {
            continue;
        }
        let Some((apply, value)) = of_subquery(input, value)? else { continue };
        bounds.push((std::ptr::from_ref(apply), Arc::new(ScalarBound::new(op, value, sql_type.clone()))));
    }
    if bounds.is_empty() { Ok(None) } else { rebuilt(input, &bounds).map(Some) }
}

/// The chain with the bounds at its end, and at the operators that publish them.
fn rebuilt(
    plan: &Arc<dyn ExecutionPlan>,
    bounds: &[(*const ApplyExec, Arc<ScalarBound>)],
) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(parts) = PartsExec::of(plan.as_ref()) {
        return Ok(Arc::new(parts.within_scalars(bounds.iter().map(|(_, bound)| bound.clone()))));
    }
    let [below] = plan.children()[..] else { return internal_err!("a chain of operators has one input each") };
    let input = rebuilt(below, bounds)?;
    match ApplyExec::of(plan.as_ref()) {
        Some(apply) => {
            let own = bounds.iter().filter(|(publisher, _)| std::ptr::eq(*publisher, apply));
            Ok(Arc::new(apply.publishing(input, own.map(|(_, bound)| bound.clone()))))
        }
        None => with_inputs(plan, vec![input]),
    }
}
