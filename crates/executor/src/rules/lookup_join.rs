//! Replaces a hash join that would read a whole table for few rows: an index finds these rows.

use crate::access::column_copy::{COST_COLUMN_ROW, COST_COLUMN_SCAN};
use crate::access::column_scan::ColumnScanExec;
use crate::access::filter::{compares_as_bytes, is_sort_key_of, sort_key_operand};
use crate::access::path::{AccessPath, is_usable};
use crate::access::scan::RowScanExec;
use crate::access::table::RowTable;
use crate::operator::Operator as _;
use crate::operators::lookup_join::{IndexLookupJoinExec, InnerTable, Kept, KeySource, LookupKey};
use crate::rewrite::replace_each;
use arrow::datatypes::{FieldRef, Schema};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinSide, JoinType, NullEquality, Result};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use squall_catalog::{IndexDef, IndexId};
use squall_row_store::Direction;
use squall_types::SqlType;
use std::sync::Arc;

/// Cost of one row that an entry of an index names.
const COST_NAMED: f64 = 4.0;
/// Cost of one row behind the first one that a key finds in the table's own order.
const COST_NEXT: f64 = 1.0;

/// By how many times more rows each join may give; see [`doubt`].
const DOUBT_PER_JOIN: f64 = 4.0;
/// See [`doubt`].
const JOINS_DOUBTED_MAX: i32 = 4;

/// The rule.
#[derive(Debug)]
pub struct IndexLookupJoinRule;

impl PhysicalOptimizerRule for IndexLookupJoinRule {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        replace_each(plan, lookup_join)
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
    let Some(role) = role(*join.join_type(), inner) else { return Ok(None) };
    if role == Role::Chosen && join.filter().is_some() {
        return Ok(None);
    }
    let (inner_plan, outer_plan) = match inner {
        JoinSide::Left => (join.left(), join.right()),
        _ => (join.right(), join.left()),
    };
    let Some((scan, filter, output)) = inner_scan(inner_plan)? else { return Ok(None) };
    let scan = &scan;
    if scan.fetch.is_some() {
        return Ok(None);
    }
    let outer_rows = rows_of(outer_plan.as_ref())?;
    let Some(outer_rows) = outer_rows else { return Ok(None) };
    // Rows of a column table are dear to find by their keys, so an estimate that is too low costs much.
    let trust = if scan.source.table.traits().reads_by_column { doubt(outer_plan)? } else { 1.0 };
    let pairs = join.on().iter().map(|(left, right)| {
        let (outer, inner) = if inner == JoinSide::Left { (right, left) } else { (left, right) };
        Some((outer.clone(), over_scan(inner, output.as_deref())?))
    });
    let Some(pairs) = pairs.collect::<Option<Vec<_>>>() else { return Ok(None) };
    let def = &scan.source.def;
    let is_locked = scan.source.lock.is_some();
    let lock_cost = scan.source.lock_cost();
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
                let source = key_source(inner, scan, ordinal)?;
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
        let found = scan.source.rows_per_key(index, keys.len());
        let cost = outer_rows * trust * (cost_of_lookup(&scan.source, index, found) + found * lock_cost);
        if cost < scan.path.cost && best.as_ref().is_none_or(|(least, ..)| cost < *least) {
            best = Some((cost, position, keys));
        }
    }
    let Some((cost, index, keys)) = best else { return Ok(None) };
    // Pairs that the index does not decide are compared by a condition of their own; all of them, where a row is locked after it was
    // found, and may be another then.
    let used: Vec<usize> = keys.iter().map(|key| key.pair).collect();
    let rest: Vec<_> =
        pairs.into_iter().enumerate().filter(|(at, _)| is_locked || !used.contains(at)).map(|(_, pair)| pair).collect();
    let table = InnerTable { scan: scan.clone(), index, keys, filter, output };
    let kept = match role {
        Role::Partner(kept) => kept,
        Role::Chosen => {
            let all = join.on().iter().map(|(left, right)| if inner == JoinSide::Left { right } else { left }.clone());
            let plan = choose(join, inner, all.collect(), table, rest)?;
            return Ok(Some((cost, plan)));
        }
    };
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

/// The cost of looking one key up in an index, and of reading the rows that it finds.
pub(super) fn cost_of_lookup(source: &RowTable, index: &IndexDef, found: f64) -> f64 {
    let traits = source.table.traits();
    let is_next = index.primary && !traits.reads_by_column;
    traits.lookup_cost + found * if is_next { COST_NEXT } else { COST_NAMED }
}

/// By how many times a plan may give more rows than it is taken to: the error of an estimate grows with each join below it (Ioannidis and
/// Christodoulakis: "On the propagation of errors in the size of join results", 1991).
fn doubt(plan: &Arc<dyn ExecutionPlan>) -> Result<f64> {
    let mut joins = 0;
    plan.apply(|plan| {
        joins += i32::from(plan.is::<HashJoinExec>());
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(DOUBT_PER_JOIN.powi(joins.min(JOINS_DOUBTED_MAX)))
}

/// The role in the join of the table that is looked up.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Role {
    /// Its rows are partners for those of the other side.
    Partner(Kept),
    /// Its rows come out, each at most once: `WHERE key IN (SELECT …)`. What MySQL calls materialization with a look-up.
    Chosen,
}

/// The role of this side's table, if look-ups into it can do the join.
fn role(join_type: JoinType, inner: JoinSide) -> Option<Role> {
    Some(Role::Partner(match (join_type, inner) {
        (JoinType::Inner, _) => Kept::Pairs,
        (JoinType::Left, JoinSide::Right) | (JoinType::Right, JoinSide::Left) => Kept::PairsAndUnmatched,
        (JoinType::LeftSemi, JoinSide::Right) | (JoinType::RightSemi, JoinSide::Left) => Kept::Matched,
        (JoinType::LeftAnti, JoinSide::Right) | (JoinType::RightAnti, JoinSide::Left) => Kept::Unmatched,
        (JoinType::LeftSemi, JoinSide::Left) | (JoinType::RightSemi, JoinSide::Right) => return Some(Role::Chosen),
        _ => return None,
    }))
}

/// A semi-join that keeps rows of the table: the other side's values, each once, are looked up in it. A row has one value in
/// each of the equalities, so no two of them find it.
fn choose(
    join: &HashJoinExec,
    inner: JoinSide,
    values: Vec<Arc<dyn PhysicalExpr>>,
    mut table: InnerTable,
    mut rest: Vec<(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)>,
) -> Result<IndexLookupJoinExec> {
    let (inner_plan, outer_plan) = match inner {
        JoinSide::Left => (join.left(), join.right()),
        _ => (join.right(), join.left()),
    };
    let name = |at: usize| match values[at].downcast_ref::<Column>() {
        Some(column) => column.name().to_string(),
        None => format!("value_{at}"),
    };
    let groups = values.iter().enumerate().map(|(at, value)| (value.clone(), name(at))).collect();
    let groups = PhysicalGroupBy::new_single(groups);
    let (mode, schema) = (AggregateMode::Single, outer_plan.schema());
    let distinct = AggregateExec::try_new(mode, groups, Vec::new(), Vec::new(), outer_plan.clone(), schema)?;
    let column = |at: usize| Arc::new(Column::new(&name(at), at)) as Arc<dyn PhysicalExpr>;
    for key in &mut table.keys {
        key.outer = column(key.pair);
    }
    for (value, _) in &mut rest {
        if let Some(at) = values.iter().position(|known| known.eq(value)) {
            *value = column(at);
        }
    }
    let (own, others) = (inner_plan.schema(), distinct.schema());
    let (own, others) = (own.fields().iter().cloned(), others.fields().iter().cloned());
    let (fields, first): (Vec<FieldRef>, usize) = match inner {
        JoinSide::Left => (own.chain(others).collect(), 0),
        _ => (others.chain(own).collect(), values.len()),
    };
    let projection = match join.projection.as_ref() {
        Some(projection) => projection.iter().map(|at| first + at).collect(),
        None => (first..first + inner_plan.schema().fields().len()).collect(),
    };
    let schema = Arc::new(Schema::new_with_metadata(fields, join.schema().metadata().clone()));
    let distinct = Arc::new(distinct);
    IndexLookupJoinExec::try_new(distinct, table, Kept::Pairs, inner, rest, None, schema, Some(projection))
}

/// The scan below a join's side, the filter over it, and what comes out, over the scan's columns.
pub(super) type InnerScan = (RowScanExec, Option<Arc<dyn PhysicalExpr>>, Option<Vec<Arc<dyn PhysicalExpr>>>);

pub(super) fn inner_scan(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<InnerScan>> {
    if let Some(scan) = RowScanExec::replaceable(plan) {
        return Ok(Some((scan.clone(), None, None)));
    }
    if let Some(scan) = ColumnScanExec::of(plan.as_ref()) {
        return column_scan_as_rows(scan);
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let Some((scan, filter, below)) = inner_scan(projection.input())? else { return Ok(None) };
        let output = projection.expr().iter().map(|projected| over_scan(&projected.expr, below.as_deref()));
        return Ok(output.collect::<Option<_>>().map(|output| (scan, filter, Some(output))));
    }
    let Some(filter) = plan.downcast_ref::<FilterExec>().filter(|filter| filter.fetch().is_none()) else {
        return Ok(None);
    };
    let (scan, condition, below) = if filter.input().is::<RowScanExec>() || filter.input().is::<ColumnScanExec>() {
        let Some(below) = inner_scan(filter.input())? else { return Ok(None) };
        below
    } else {
        return Ok(None);
    };
    let Some(predicate) = over_scan(filter.predicate(), below.as_deref()) else { return Ok(None) };
    let condition = match condition {
        Some(condition) => Arc::new(BinaryExpr::new(condition, Operator::And, predicate)) as Arc<dyn PhysicalExpr>,
        None => predicate,
    };
    let schema = filter.input().schema();
    let column = |at: &usize| {
        let column = Arc::new(Column::new(schema.field(*at).name(), *at)) as Arc<dyn PhysicalExpr>;
        over_scan(&column, below.as_deref())
    };
    let output = match filter.projection().as_ref() {
        Some(projection) => projection.iter().map(column).collect::<Option<_>>(),
        None => return Ok(Some((scan, Some(condition), below))),
    };
    Ok(output.map(|output| (scan, Some(condition), Some(output))))
}

/// The rows that a scan by column gives, as a scan of rows: the condition that it answers by itself is a filter there.
fn column_scan_as_rows(scan: &ColumnScanExec) -> Result<Option<InnerScan>> {
    if scan.fetch.is_some() {
        return Ok(None);
    }
    let mut projection = scan.projection.to_vec();
    let filter = match &scan.filter {
        None => None,
        // It is over all of the table's columns.
        Some(filter) => {
            let placed = filter.clone().transform_down(|expr| {
                let Some(column) = expr.downcast_ref::<Column>() else { return Ok(Transformed::no(expr)) };
                let at = projection.iter().position(|ordinal| *ordinal == column.index()).unwrap_or_else(|| {
                    projection.push(column.index());
                    projection.len() - 1
                });
                let placed = Arc::new(Column::new(column.name(), at)) as Arc<dyn PhysicalExpr>;
                Ok(Transformed::new(placed, true, TreeNodeRecursion::Jump))
            });
            Some(placed.data()?)
        }
    };
    let schema = scan.schema();
    let column = |at: usize| Arc::new(Column::new(schema.field(at).name(), at)) as Arc<dyn PhysicalExpr>;
    let output = (projection.len() > scan.projection.len()).then(|| (0..scan.projection.len()).map(column).collect());
    let rows = scan.visible_rows() as f64;
    let path = AccessPath {
        index: None,
        index_id: IndexId(0),
        ranges: None,
        covering: false,
        rows,
        cost: COST_COLUMN_SCAN + rows * COST_COLUMN_ROW,
        unique: false,
        possible: Vec::new(),
        partitions: None,
    };
    let source = scan.source.clone();
    let rows = RowScanExec::new(source, path, projection.into(), Arc::default(), Direction::Forward, None);
    Ok(Some((rows, filter, output)))
}

/// An expression over what comes out of a side, over the scan's columns.
pub(super) fn over_scan(
    expr: &Arc<dyn PhysicalExpr>,
    output: Option<&[Arc<dyn PhysicalExpr>]>,
) -> Option<Arc<dyn PhysicalExpr>> {
    let Some(output) = output else { return Some(expr.clone()) };
    let replaced = expr.clone().transform_down(|expr| {
        let of_column = expr.downcast_ref::<Column>().and_then(|column| output.get(column.index())).cloned();
        // What stands for a column is over the scan already.
        Ok(of_column
            .map_or_else(|| Transformed::no(expr), |source| Transformed::new(source, true, TreeNodeRecursion::Jump)))
    });
    replaced.data().ok()
}

/// How the inner side of an equality, over the scan's columns, stands to a column of the table.
pub(super) fn key_source(expr: &Arc<dyn PhysicalExpr>, scan: &RowScanExec, ordinal: usize) -> Option<KeySource> {
    let column_of = |expr: &Arc<dyn PhysicalExpr>| scan.projection.get(expr.downcast_ref::<Column>()?.index()).copied();
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
