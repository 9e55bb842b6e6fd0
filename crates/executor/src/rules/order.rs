//! Reads rows in the wanted order when a query wants few of them: ORDER BY … LIMIT through an index, and MIN and MAX as the first row
//! of an index.

use crate::access::key::IndexKey;
use crate::access::path::{AccessPath, is_usable, whole_index};
use crate::access::predicate::Predicate;
use crate::access::range::index_ranges;
use crate::access::scan::RowScanExec;
use crate::access::virtual_table::PartsExec;
use crate::operator::Operator;
use crate::rewrite::{replace_nodes, with_inputs};
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use squall_row_store::Direction;
use std::sync::Arc;

/// The rule.
#[derive(Debug)]
pub struct OrderedScanRule;

impl PhysicalOptimizerRule for OrderedScanRule {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        replace_nodes(plan, |plan| {
            let input = match plan.downcast_ref::<SortExec>() {
                Some(sort) => ordered_input(sort)?,
                None => plan.downcast_ref::<AggregateExec>().and_then(first_row),
            };
            input.map(|input| with_inputs(plan, vec![input])).transpose()
        })
    }

    fn name(&self) -> &str {
        "ordered_scan"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The input of a sort that has a limit, read in the sort's order, if that is cheaper.
fn ordered_input(sort: &SortExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(fetch) = sort.fetch() else { return Ok(None) };
    if let Some(parts) = leaf::<PartsExec>(sort.input()) {
        for scan in [parts.clone(), parts.reversed()] {
            let input = replace_leaf(sort.input(), Arc::new(scan))?;
            if input.equivalence_properties().ordering_satisfy(sort.expr().iter().cloned())? {
                return Ok(Some(input));
            }
        }
    }
    let Some(Chain { scan, filtered }) = chain(sort.input()) else { return Ok(None) };
    if scan.fetch.is_some() || scan.path.unique {
        return Ok(None);
    }
    let satisfied =
        |plan: &Arc<dyn ExecutionPlan>| plan.equivalence_properties().ordering_satisfy(sort.expr().iter().cloned());
    // The path's own order needs no help: it only has to be read from the right end.
    for scan in [scan.clone(), scan.reversed()] {
        let input = replace_leaf(sort.input(), Arc::new(scan))?;
        if satisfied(&input)? {
            return Ok(Some(input));
        }
    }
    let table_rows = scan.source.store.table_stats(&scan.source.table).row_count as f64;
    let rows_read = scan.path.rows_read_in_order(fetch as f64, table_rows, filtered);
    for position in 0..scan.source.def.indexes.len() {
        if !scan.source.hints.allows(position) {
            continue;
        }
        let path = whole_index(&*scan.source.store, &scan.source.table, position, &scan.projection);
        let Some(path) = path else { continue };
        if rows_read * (path.cost_per_row() + scan.source.lock_cost()) >= scan.path.cost {
            continue;
        }
        for direction in [Direction::Forward, Direction::Backward] {
            let ordered = AccessPath {
                possible: scan.path.possible.clone(),
                partitions: scan.path.partitions.clone(),
                ..path.clone()
            };
            let input = replace_leaf(sort.input(), Arc::new(scan.along(ordered, direction)))?;
            if satisfied(&input)? {
                return Ok(Some(input));
            }
        }
    }
    Ok(None)
}

/// A scan and what stands between it and a sort.
struct Chain<'a> {
    scan: &'a RowScanExec,
    filtered: bool,
}

fn chain(plan: &Arc<dyn ExecutionPlan>) -> Option<Chain<'_>> {
    if let Some(scan) = RowScanExec::replaceable(plan) {
        return Some(Chain { scan, filtered: false });
    }
    let filter = plan.is::<FilterExec>();
    if !filter && !plan.is::<ProjectionExec>() {
        return None;
    }
    let below = chain(plan.children().first()?)?;
    Some(Chain { scan: below.scan, filtered: below.filtered || filter })
}

/// The scan below filters and projections, if it is such a scan.
fn leaf<E: ExecutionPlan>(plan: &Arc<dyn ExecutionPlan>) -> Option<&E> {
    match plan.downcast_ref::<E>() {
        Some(scan) => Some(scan),
        None if plan.is::<FilterExec>() || plan.is::<ProjectionExec>() => leaf(plan.children().first()?),
        None => None,
    }
}

/// The same chain over another scan.
pub(super) fn replace_leaf(
    plan: &Arc<dyn ExecutionPlan>,
    scan: Arc<dyn ExecutionPlan>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let Some(child) = plan.children().first().map(|child| Arc::clone(child)) else { return Ok(scan) };
    let child = replace_leaf(&child, scan)?;
    with_inputs(plan, vec![child])
}

/// For `SELECT MIN(column)` or `MAX(column)` of a whole table: a scan that gives the one row it takes.
fn first_row(aggregate: &AggregateExec) -> Option<Arc<dyn ExecutionPlan>> {
    let [function] = aggregate.aggr_expr() else { return None };
    if !aggregate.group_expr().is_empty()
        || function.is_distinct()
        || aggregate.filter_expr().iter().any(Option::is_some)
    {
        return None;
    }
    let greatest = match function.fun().name().to_ascii_uppercase().as_str() {
        "MIN" => false,
        "MAX" => true,
        _ => return None,
    };
    let expressions = function.expressions();
    let [argument] = expressions.as_slice() else { return None };
    let column = argument.downcast_ref::<Column>()?.index();
    if let Some(parts) = PartsExec::of(aggregate.input().as_ref()) {
        return Some(Arc::new(parts.first_of(column, greatest)?));
    }
    let scan = RowScanExec::replaceable(aggregate.input())?;
    if !scan.path.is_full() || scan.fetch.is_some() || scan.source.lock.is_some() {
        return None;
    }
    let ordinal = *scan.projection.get(column)?;
    let def = &scan.source.def;
    let (position, index) = def.indexes.iter().enumerate().find(|(position, index)| {
        is_usable(index)
            && scan.source.hints.allows(*position)
            && index.parts[0].prefix.is_none()
            && def.ordinal(index.parts[0].column) == Some(ordinal)
    })?;
    let key = IndexKey::new(&scan.source.table, index);
    let mut path = whole_index(&*scan.source.store, &scan.source.table, position, &scan.projection)?;
    // NULLs are at one end and count for nothing; a column without them has no such range.
    path.ranges = index_ranges(&key, &Predicate::IsNotNull(ordinal));
    path.rows = 1.0;
    let direction = if greatest != index.parts[0].descending { Direction::Backward } else { Direction::Forward };
    scan.along(path, direction).with_fetch(Some(1))
}
