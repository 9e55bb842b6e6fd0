//! Moves conditions down to the operators with the fewest rows, but never to a place where they would mean something else.

use crate::access::filter::{calls_functions, has_parameter};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::utils::{conjunction, split_conjunction, split_conjunction_owned};
use datafusion::logical_expr::{BinaryExpr, Expr, Filter, LogicalPlan, Operator, Projection, lit};
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::push_down_filter::PushDownFilter;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use std::collections::HashMap;
use std::sync::Arc;

/// DataFusion's [`PushDownFilter`] without its errors.
///
/// It moves a condition below a grouping if each of the condition's columns is a group's key. That is also true for a condition
/// without a column: one of constants, or a correlated subquery that depends only on the outer row. A grouping without keys, and
/// each ROLLUP, gives a row of no rows, so that the condition would have no effect below it. And it moves conditions that are not
/// the same each time (`RAND()`, assignments of variables) to where they are looked at another number of times. Of several bounds
/// of a column it keeps the narrowest one, as which it takes any number rather than a NULL, although no row is beyond NULL. Nor are
/// large expressions copied into conditions that name them more than once.
#[derive(Debug, Default)]
pub struct PushFiltersDown {
    inner: PushDownFilter,
}

impl OptimizerRule for PushFiltersDown {
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
        self.push(plan, config)?.transform_data(|plan| Ok(parameters_before_calls(plan)))
    }
}

impl PushFiltersDown {
    fn push(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Filter(filter) = &plan else { return self.inner.rewrite(plan, config) };
        // Filters on filters are one.
        let mut predicates = vec![filter.predicate.clone()];
        let mut input = &filter.input;
        while let LogicalPlan::Filter(filter) = input.as_ref() {
            predicates.push(filter.predicate.clone());
            input = &filter.input;
        }
        let mut unknown = false;
        let conditions = predicates.into_iter().rev().flat_map(split_conjunction_owned).map(|condition| {
            let is_unknown = compares_with_null(&condition);
            unknown |= is_unknown;
            if is_unknown { lit(false) } else { condition }
        });
        let mut copies = Copies::new(input);
        let (held, free): (Vec<Expr>, Vec<Expr>) =
            conditions.partition(|condition| stays_above(condition, input) || !copies.allow(condition));
        let input = Arc::clone(input);
        let (held, free) = match (conjunction(held), conjunction(free)) {
            (None, Some(free)) if unknown => {
                return self.inner.rewrite(LogicalPlan::Filter(Filter::new(free, input)), config);
            }
            (None, _) => return self.inner.rewrite(plan, config),
            (_, None) => return Ok(Transformed::no(plan)),
            (Some(held), Some(free)) => (held, free),
        };
        let below = self.inner.rewrite(LogicalPlan::Filter(Filter::new(free, input)), config)?;
        let filtered = |plan: LogicalPlan| match plan {
            LogicalPlan::Filter(below) => Filter::new(below.predicate.and(held), below.input),
            plan => Filter::new(held, Arc::new(plan)),
        };
        Ok(below.update_data(|plan| LogicalPlan::Filter(filtered(plan))))
    }
}

/// The operator with its conditions in the order that they would have with literals in place of parameters: DataFusion puts those that call
/// functions behind the others, and takes a parameter for a function. So as many rows raise warnings as without parameters.
fn parameters_before_calls(plan: LogicalPlan) -> Transformed<LogicalPlan> {
    match plan {
        LogicalPlan::Filter(mut filter) => {
            let ordered = conditions_in_order(split_conjunction(&filter.predicate)).and_then(conjunction);
            let is_other = ordered.is_some();
            filter.predicate = ordered.unwrap_or(filter.predicate);
            Transformed::new_transformed(LogicalPlan::Filter(filter), is_other)
        }
        LogicalPlan::TableScan(mut scan) => {
            let ordered = conditions_in_order(scan.filters.iter().collect());
            let is_other = ordered.is_some();
            scan.filters = ordered.unwrap_or(scan.filters);
            Transformed::new_transformed(LogicalPlan::TableScan(scan), is_other)
        }
        LogicalPlan::Join(mut join) => {
            let conditions = join.filter.as_ref().map(split_conjunction).unwrap_or_default();
            let ordered = conditions_in_order(conditions).and_then(conjunction);
            let is_other = ordered.is_some();
            join.filter = ordered.or(join.filter);
            Transformed::new_transformed(LogicalPlan::Join(join), is_other)
        }
        plan => Transformed::no(plan),
    }
}

/// See [`parameters_before_calls`]; nothing if the conditions are in that order, or must stay in theirs.
fn conditions_in_order(conditions: Vec<&Expr>) -> Option<Vec<Expr>> {
    let is_in_order = conditions.is_sorted_by_key(|condition| calls_functions(condition));
    let any = |is: fn(&Expr) -> bool| conditions.iter().any(|condition| is(condition));
    if is_in_order || !any(has_parameter) || any(Expr::is_volatile) {
        return None;
    }
    let (last, first): (Vec<_>, Vec<_>) = conditions.into_iter().cloned().partition(calls_functions);
    Some(first.into_iter().chain(last).collect())
}

/// Whether a condition is true of no row, because one of its two sides is NULL.
fn compares_with_null(condition: &Expr) -> bool {
    use Operator::{Eq, Gt, GtEq, Lt, LtEq, NotEq};
    let Expr::BinaryExpr(BinaryExpr { left, op, right }) = condition else { return false };
    let is_null = |side: &Expr| side.as_literal().is_some_and(ScalarValue::is_null);
    matches!(op, Eq | NotEq | Gt | GtEq | Lt | LtEq) && (is_null(left) || is_null(right))
}

/// How often conditions name the columns of a projection, which they would get the expressions of.
struct Copies<'a> {
    projection: Option<&'a Projection>,
    /// By the column's place.
    named: HashMap<usize, usize>,
}

impl<'a> Copies<'a> {
    fn new(input: &'a LogicalPlan) -> Self {
        let projection = match input {
            LogicalPlan::Projection(projection) => Some(projection),
            _ => None,
        };
        Self { projection, named: HashMap::new() }
    }

    /// Whether a condition may get the expressions; then it counts.
    fn allow(&mut self, condition: &Expr) -> bool {
        let Some(projection) = self.projection else { return true };
        let mut named = self.named.clone();
        let mut allowed = true;
        let visited = condition.apply(|part| {
            if let Expr::Column(column) = part
                && let Some(at) = projection.schema.maybe_index_of_column(column)
            {
                let count = named.entry(at).or_insert(0_usize);
                *count += 1;
                allowed &= *count == 1 || !is_large(&projection.expr[at]);
            }
            Ok(if allowed { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
        });
        if visited.is_ok() && allowed {
            self.named = named;
        }
        allowed
    }
}

/// Whether an expression costs more than it is worth to look at it twice.
fn is_large(expr: &Expr) -> bool {
    /// Parts of an expression that is copied.
    const PARTS_MAX: usize = 32;
    let mut parts = 0;
    let visited = expr.apply(|_| {
        parts += 1;
        Ok(if parts > PARTS_MAX { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    visited.is_err() || parts > PARTS_MAX
}

/// Whether a condition on the rows of `input` may not become one on the rows that `input` is made of.
fn stays_above(condition: &Expr, input: &LogicalPlan) -> bool {
    match input {
        LogicalPlan::Aggregate(aggregate) => {
            let always_a_row = aggregate.group_expr.iter().all(|group| matches!(group, Expr::GroupingSet(_)));
            condition.is_volatile() || (always_a_row && condition.column_refs().is_empty())
        }
        LogicalPlan::Join(_) | LogicalPlan::Window(_) | LogicalPlan::Extension(_) | LogicalPlan::Distinct(_) => {
            condition.is_volatile()
        }
        _ => false,
    }
}
