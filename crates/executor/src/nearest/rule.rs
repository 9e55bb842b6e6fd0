//! The rule that finds sorts for a vector index.

use super::exec::{NearestRowsExec, Search};
use crate::access::scan::RowScanExec;
use crate::rewrite::{replace_inputs, with_inputs};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_datafusion_err};
use datafusion::logical_expr::Volatility;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::{collect_columns, conjunction};
use datafusion::physical_expr::{PhysicalExprRef, ScalarFunctionExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use squall_functions::expr::CallUdf;
use squall_functions::vector::DistanceKernel;
use squall_types::vector::Metric;
use std::sync::Arc;

/// The rule. It comes when sorts know how many rows are wanted of them.
#[derive(Debug)]
pub struct NearestRule;

impl PhysicalOptimizerRule for NearestRule {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        replace_inputs(plan, by_index)
    }

    fn name(&self) -> &str {
        "nearest"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The input of a sort with a vector index in place of the scan of all rows.
fn by_index(sort: &SortExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(wanted) = sort.fetch().filter(|rows| *rows > 0) else { return Ok(None) };
    let first = sort.expr().first();
    if first.options.descending {
        return Ok(None);
    }
    let mut chain = Chain { key: Arc::clone(&first.expr), conditions: Vec::new() };
    let Some(scan) = chain.follow(sort.input())? else { return Ok(None) };
    let Some(distance) = Distance::of(&chain.key) else { return Ok(None) };
    let Some(index) = index_of(&scan, &distance) else { return Ok(None) };
    // Conditions are looked at twice.
    if !chain.conditions.iter().all(gives_the_same) {
        return Ok(None);
    }
    let predicate = (!chain.conditions.is_empty()).then(|| conjunction(chain.conditions));
    let search = Search { index, vector: distance.vector, wanted, predicate };
    let nearest: Arc<dyn ExecutionPlan> = Arc::new(NearestRowsExec::new(scan, search));
    replaced(sort.input(), &nearest).map(Some)
}

/// The operators between a sort and a scan.
struct Chain {
    /// The sort expression, over the columns of the current operator.
    key: PhysicalExprRef,
    /// The condition on rows, over the same columns.
    conditions: Vec<PhysicalExprRef>,
}

impl Chain {
    /// The scan of all rows at the end, if nothing but projections and filters stands above it.
    fn follow(&mut self, plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<RowScanExec>>> {
        if let Some(scan) = RowScanExec::replaceable(plan) {
            let reads_all = scan.path.is_full() && !scan.path.covering && scan.fetch.is_none();
            let is_plain = scan.source.lock.is_none() && scan.source.def.partitioning.is_none();
            return Ok((reads_all && is_plain).then(|| Arc::new(scan.clone())));
        }
        if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
            let exprs: Vec<_> = projection.expr().iter().map(|column| Arc::clone(&column.expr)).collect();
            self.resolve(&exprs)?;
            return self.follow(projection.input());
        }
        if let Some(filter) = plan.downcast_ref::<FilterExec>() {
            if filter.fetch().is_some() {
                return Ok(None);
            }
            if let Some(columns) = filter.projection() {
                let schema = filter.input().schema();
                let exprs = columns.iter().map(|at| Arc::new(Column::new(schema.field(*at).name(), *at)) as _);
                self.resolve(&exprs.collect::<Vec<_>>())?;
            }
            self.conditions.push(Arc::clone(filter.predicate()));
            return self.follow(filter.input());
        }
        match plan.downcast_ref::<CooperativeExec>() {
            Some(cooperative) => self.follow(cooperative.input()),
            None => Ok(None),
        }
    }

    /// Puts what an operator gives in the place of its columns.
    fn resolve(&mut self, exprs: &[PhysicalExprRef]) -> Result<()> {
        for own in std::iter::once(&mut self.key).chain(&mut self.conditions) {
            let resolved = Arc::clone(own).transform_down(|expr| match expr.downcast_ref::<Column>() {
                Some(column) => {
                    let given = exprs.get(column.index());
                    let given = given.ok_or_else(|| internal_datafusion_err!("a column that no input has"))?;
                    Ok(Transformed::new(Arc::clone(given), true, TreeNodeRecursion::Jump))
                }
                None => Ok(Transformed::no(expr)),
            });
            *own = resolved.data()?;
        }
        Ok(())
    }
}

/// A distance between a column and something that is the same for all rows.
struct Distance {
    /// The column's place among those of the scan.
    column: usize,
    vector: PhysicalExprRef,
    metric: Metric,
}

impl Distance {
    fn of(key: &PhysicalExprRef) -> Option<Distance> {
        let call = key.downcast_ref::<ScalarFunctionExpr>()?;
        let metric = CallUdf::of(call.fun())?.call().kernel_as::<DistanceKernel>()?.metric?;
        let [left, right, _] = call.args() else { return None };
        let of = |column: &PhysicalExprRef, vector: &PhysicalExprRef| {
            let column = column.downcast_ref::<Column>()?.index();
            is_constant(vector).then(|| Distance { column, vector: Arc::clone(vector), metric })
        };
        of(left, right).or_else(|| of(right, left))
    }
}

/// Whether an expression has one value for all rows of a statement.
fn is_constant(expr: &PhysicalExprRef) -> bool {
    collect_columns(expr).is_empty() && gives_the_same(expr)
}

/// Whether an expression gives the same whenever it is asked within a statement.
fn gives_the_same(expr: &PhysicalExprRef) -> bool {
    let mut is_constant = true;
    // Looking cannot fail.
    let _ = expr.apply(|expr| {
        if let Some(call) = expr.downcast_ref::<ScalarFunctionExpr>() {
            is_constant &= match CallUdf::of(call.fun()) {
                Some(udf) => udf.call().volatility != squall_registry::Volatility::Volatile,
                None => call.fun().signature().volatility != Volatility::Volatile,
            };
        }
        Ok(TreeNodeRecursion::Continue)
    });
    is_constant
}

/// The position of the vector index that serves a distance.
fn index_of(scan: &RowScanExec, distance: &Distance) -> Option<usize> {
    let def = &scan.source.def;
    let column = def.columns.get(*scan.projection.get(distance.column)?)?.id;
    let serves = |position: usize| {
        let index = &def.indexes[position];
        index.vector_graph().is_some_and(|graph| graph.metric == distance.metric)
            && index.parts.iter().all(|part| part.column == column)
            && !index.invisible
            && scan.source.hints.allows(position)
    };
    (0..def.indexes.len()).find(|position| serves(*position))
}

/// The operators of a chain above another scan.
fn replaced(plan: &Arc<dyn ExecutionPlan>, nearest: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    if plan.is::<RowScanExec>() {
        return Ok(Arc::clone(nearest));
    }
    let child = plan.children().first().map(|child| replaced(child, nearest));
    let child = child.ok_or_else(|| internal_datafusion_err!("a chain without a scan"))??;
    with_inputs(plan, vec![child])
}
