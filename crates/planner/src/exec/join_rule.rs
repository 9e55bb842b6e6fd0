//! Where a hash join would read a whole table to keep few of its rows, look the rows up by an index instead.

use super::lookup_join::{IndexLookupJoinExec, InnerTable, Kept, KeySource, LookupKey};
use crate::access::filter::{compares_as_bytes, is_sort_key_of, sort_key_operand};
use crate::access::path::{is_usable, rows_per_key_of};
use crate::access::scan::RowScanExec;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{JoinSide, JoinType, NullEquality, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use squall_types::SqlType;
use std::sync::Arc;

/// Cost of one look-up, in rows of a table scan.
const COST_LOOKUP: f64 = 8.0;
/// Cost of one row that a look-up finds.
const COST_FOUND: f64 = 4.0;

/// The rule.
#[derive(Debug)]
pub struct IndexLookupJoinRule;

impl PhysicalOptimizerRule for IndexLookupJoinRule {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|plan| match plan.downcast_ref::<HashJoinExec>() {
            Some(join) => match lookup_join(join)? {
                Some(better) => Ok(Transformed::yes(better)),
                None => Ok(Transformed::no(plan)),
            },
            None => Ok(Transformed::no(plan)),
        })
        .data()
    }

    fn name(&self) -> &str {
        "index_lookup_join"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The cheaper of looking up on either side, if that is cheaper than the hash join.
fn lookup_join(join: &HashJoinExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if join.null_aware || join.null_equality() != NullEquality::NullEqualsNothing || join.on().is_empty() {
        return Ok(None);
    }
    let mut best: Option<(f64, IndexLookupJoinExec)> = None;
    for inner in [JoinSide::Right, JoinSide::Left] {
        if let Some((cost, plan)) = lookup_on(join, inner)?
            && best.as_ref().is_none_or(|(least, _)| cost < *least)
        {
            best = Some((cost, plan));
        }
    }
    Ok(best.map(|(_, plan)| Arc::new(plan) as Arc<dyn ExecutionPlan>))
}

/// The join with look-ups into the table on `inner`, and its cost, if it is cheaper than a scan of that table.
fn lookup_on(join: &HashJoinExec, inner: JoinSide) -> Result<Option<(f64, IndexLookupJoinExec)>> {
    let Some(kept) = kept_rows(*join.join_type(), inner) else { return Ok(None) };
    let (inner_plan, outer_plan) = match inner {
        JoinSide::Left => (join.left(), join.right()),
        _ => (join.right(), join.left()),
    };
    let Some((scan, filter, output)) = inner_scan(inner_plan) else { return Ok(None) };
    if scan.source.lock.is_some() || scan.fetch.is_some() {
        return Ok(None);
    }
    let outer_rows = rows_of(outer_plan.as_ref())?;
    let Some(outer_rows) = outer_rows else { return Ok(None) };
    let pairs: Vec<(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)> = join
        .on()
        .iter()
        .map(|(left, right)| match inner {
            JoinSide::Left => (right.clone(), left.clone()),
            _ => (left.clone(), right.clone()),
        })
        .collect();
    let def = &scan.source.def;
    let mut best: Option<(f64, usize, Vec<LookupKey>)> = None;
    for (position, index) in def.indexes.iter().enumerate() {
        if !is_usable(index) || !scan.source.hints.allows(position) {
            continue;
        }
        let mut keys = Vec::new();
        for (part, ordinal) in def.index_ordinals(index).into_iter().enumerate() {
            if index.parts[part].prefix.is_some() {
                break;
            }
            let found = pairs.iter().enumerate().find_map(|(at, (outer, inner))| {
                let source = key_source(inner, scan, output.as_deref(), ordinal)?;
                Some(LookupKey { outer: outer.clone(), source, pair: at, column: ordinal })
            });
            match found {
                Some(key) => keys.push(key),
                None => break,
            }
        }
        if keys.is_empty() {
            continue;
        }
        let found = rows_per_key_of(&scan.source, index, keys.len());
        let cost = outer_rows * (COST_LOOKUP + found * COST_FOUND);
        if cost < scan.path.cost && best.as_ref().is_none_or(|(least, ..)| cost < *least) {
            best = Some((cost, position, keys));
        }
    }
    let Some((cost, index, keys)) = best else { return Ok(None) };
    // Pairs that the index does not decide are compared by a condition of their own.
    let used: Vec<usize> = keys.iter().map(|key| key.pair).collect();
    let rest: Vec<_> =
        pairs.into_iter().enumerate().filter(|(at, _)| !used.contains(at)).map(|(_, pair)| pair).collect();
    let table = InnerTable { scan: scan.clone(), index, keys, filter, output };
    let plan = IndexLookupJoinExec::try_new(
        outer_plan.clone(),
        table,
        kept,
        inner,
        rest,
        join.filter().cloned(),
        join.join_schema().clone(),
        join.projection.as_ref().map(|projection| projection.to_vec()),
    )?;
    Ok(Some((cost, plan)))
}

/// What happens to rows of the other side, if look-ups into this side can do the join.
fn kept_rows(join_type: JoinType, inner: JoinSide) -> Option<Kept> {
    Some(match (join_type, inner) {
        (JoinType::Inner, _) => Kept::Pairs,
        (JoinType::Left, JoinSide::Right) | (JoinType::Right, JoinSide::Left) => Kept::PairsAndUnmatched,
        (JoinType::LeftSemi, JoinSide::Right) | (JoinType::RightSemi, JoinSide::Left) => Kept::Matched,
        (JoinType::LeftAnti, JoinSide::Right) | (JoinType::RightAnti, JoinSide::Left) => Kept::Unmatched,
        _ => return None,
    })
}

/// The scan below a join's side, the filter over it, and which of the filter's columns come out.
type InnerScan<'a> = (&'a RowScanExec, Option<Arc<dyn PhysicalExpr>>, Option<Vec<usize>>);

fn inner_scan(plan: &Arc<dyn ExecutionPlan>) -> Option<InnerScan<'_>> {
    if let Some(scan) = plan.downcast_ref::<RowScanExec>() {
        return Some((scan, None, None));
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let (scan, filter, below) = inner_scan(projection.input())?;
        let output = projection
            .expr()
            .iter()
            .map(|projected| {
                let column = projected.expr.downcast_ref::<Column>()?;
                // A column under another name would have the wrong field.
                let at = (column.name() == projected.alias).then(|| column.index())?;
                match &below {
                    Some(below) => below.get(at).copied(),
                    None => Some(at),
                }
            })
            .collect::<Option<Vec<_>>>()?;
        return Some((scan, filter, Some(output)));
    }
    let filter = plan.downcast_ref::<FilterExec>()?;
    if filter.fetch().is_some() {
        return None;
    }
    let scan = filter.input().downcast_ref::<RowScanExec>()?;
    let output = filter.projection().as_ref().map(|projection| projection.to_vec());
    Some((scan, Some(filter.predicate().clone()), output))
}

/// How the inner side of an equality stands to a column of the table.
fn key_source(
    expr: &Arc<dyn PhysicalExpr>,
    scan: &RowScanExec,
    output: Option<&[usize]>,
    ordinal: usize,
) -> Option<KeySource> {
    let column_of = |expr: &Arc<dyn PhysicalExpr>| {
        let at = expr.downcast_ref::<Column>()?.index();
        let at = match output {
            Some(output) => *output.get(at)?,
            None => at,
        };
        scan.projection.get(at).copied()
    };
    let sql_type = &scan.source.def.columns.get(ordinal)?.sql_type;
    match sql_type {
        SqlType::String { collation, .. } if !compares_as_bytes(*collation) => {
            let operand = sort_key_operand(expr)?;
            (column_of(operand)? == ordinal && is_sort_key_of(expr, *collation)).then_some(KeySource::SortKey)
        }
        // Stored in UTC, and compared in the session's time zone.
        SqlType::Timestamp { .. } | SqlType::Float { .. } | SqlType::Json => None,
        _ => (column_of(expr)? == ordinal).then_some(KeySource::Value),
    }
}

fn rows_of(plan: &dyn ExecutionPlan) -> Result<Option<f64>> {
    let statistics = StatisticsContext::new().compute(plan, &StatisticsArgs::new())?;
    Ok(statistics.num_rows.get_value().map(|rows| *rows as f64))
}
