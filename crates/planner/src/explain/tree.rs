//! EXPLAIN FORMAT=TREE and EXPLAIN ANALYZE.

use super::key_parts::{name_key_parts, name_own_key_parts, shown};
use super::literals::over_table;
use super::readable::readable;
use datafusion::physical_expr::PhysicalSortExpr;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{CrossJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::limit::GlobalLimitExec;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{DisplayFormatType, ExecutionPlan};
use squall_executor::TableOperator;
use squall_executor::access::RowTable;
use squall_executor::access::column_scan::{
    ColumnScanExec, ROWS_SKIPPED_BY_BITMAPS, ROWS_SKIPPED_BY_VALUES, ROWS_SKIPPED_BY_ZONE_MAPS, SEGMENTS_READ,
    SEGMENTS_SKIPPED_BY_BITMAPS, SEGMENTS_SKIPPED_BY_VALUES, SEGMENTS_SKIPPED_BY_ZONE_MAPS,
};
use squall_executor::access::path::AccessPath;
use squall_executor::access::scan::RowScanExec;
use squall_executor::operator::Operator as _;
use squall_executor::operators::lookup_join::{IndexLookupJoinExec, Kept};
use squall_executor::operators::{as_hash_join, as_sort, moves_rows};
use squall_executor::star::{SEGMENTS_OF_DICTIONARIES, SEGMENTS_SKIPPED, StarExec, ZONES_ANSWERED, ZONES_READ};
use squall_row_store::Direction;
use std::fmt::{self, Write};
use std::sync::Arc;

/// The plan as a tree; with `actual` each line says what happened when the plan ran.
pub fn explain_tree(plan: &Arc<dyn ExecutionPlan>, actual: bool) -> String {
    lines_of(plan, actual).iter().map(Line::to_string).collect()
}

/// A line of the tree.
pub(super) struct Line {
    /// How far it is below the uppermost line.
    pub depth: usize,
    pub label: String,
    pub cost: Option<f64>,
    pub rows: Option<usize>,
    /// Where a plan has run.
    pub actual: Option<Actual>,
}

/// What an operator did.
pub(super) struct Actual {
    /// Milliseconds and rows; `None` if it never ran.
    pub ran: Option<(f64, usize)>,
    /// More counts, in parentheses.
    pub counts: String,
}

impl Line {
    fn plain(depth: usize, label: String) -> Self {
        Self { depth, label, cost: None, rows: None, actual: None }
    }
}

impl fmt::Display for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:indent$}-> {}", "", self.label, indent = self.depth * 4)?;
        match (self.cost, self.rows) {
            (Some(cost), Some(rows)) => write!(formatter, "  (cost={cost:.2} rows={rows})")?,
            (None, Some(rows)) => write!(formatter, "  (rows={rows})")?,
            _ => {}
        }
        match &self.actual {
            Some(Actual { ran: Some((milliseconds, rows)), counts }) => {
                write!(formatter, " (actual time={milliseconds:.3} rows={rows} loops=1){counts}")?;
            }
            Some(Actual { ran: None, .. }) => formatter.write_str(" (never executed)")?,
            None => {}
        }
        formatter.write_char('\n')
    }
}

/// The lines of a plan, each behind the one it is below.
pub(super) fn lines_of(plan: &Arc<dyn ExecutionPlan>, actual: bool) -> Vec<Line> {
    let mut lines = Vec::new();
    push_node(plan, 0, actual, &mut lines);
    lines
}

/// The operation on the rows of a plan, with the plan as a tree below it; `None` if no plan is needed for them.
pub fn explain_tree_below(label: &str, plan: Option<&Arc<dyn ExecutionPlan>>) -> String {
    let mut lines = vec![Line::plain(0, label.to_owned())];
    if let Some(plan) = plan {
        push_node(plan, 1, false, &mut lines);
    }
    lines.iter().map(Line::to_string).collect()
}

fn push_node(plan: &Arc<dyn ExecutionPlan>, depth: usize, actual: bool, lines: &mut Vec<Line>) {
    let Some(mut label) = label(plan) else {
        // Operators that only move rows about have no line of their own.
        for child in plan.children() {
            push_node(child, depth, actual, lines);
        }
        return;
    };
    name_key_parts(plan, &mut label);
    let (cost, rows) = estimate(plan);
    lines.push(Line { depth, label, cost, rows, actual: actual.then(|| measured(plan)) });
    if let Some(star) = StarExec::of(plan.as_ref()) {
        for child in star.shown_children() {
            push_node(child, depth + 1, actual, lines);
        }
        return;
    }
    for child in plan.children() {
        push_node(child, depth + 1, actual, lines);
    }
    if let Some(join) = IndexLookupJoinExec::of(plan.as_ref()) {
        let inner = join.inner();
        let mut depth = depth + 1;
        if let Some(filter) = &inner.filter {
            let mut condition = readable(over_table(filter, &inner.scan.source));
            name_own_key_parts(plan, &mut condition);
            lines.push(Line::plain(depth, format!("Filter: ({condition})")));
            depth += 1;
        }
        let source = &inner.scan.source;
        if let Some(index) = source.def.indexes.get(inner.index) {
            let unique = (index.unique || index.primary) && inner.keys.len() == index.parts.len();
            let kind = if unique { "Single-row index lookup" } else { "Index lookup" };
            let keys: Vec<String> = inner
                .keys
                .iter()
                .map(|key| {
                    let mut column = source.def.columns[key.column].name.clone();
                    name_own_key_parts(plan, &mut column);
                    format!("{column}={}", shown(&key.outer, join.outer()))
                })
                .collect();
            let line = format!("{kind} on {} using {} ({})", source.alias, index.name, keys.join(", "));
            lines.push(Line::plain(depth, line));
        }
    }
}

/// A table that is read by column.
fn by_column(table: &RowTable) -> String {
    match table.copy_def() {
        Some(copy) => format!("{} using {}", table.alias, copy.name),
        None => table.alias.to_string(),
    }
}

/// The columns of a table that have to be among the keys of joins.
fn by_keys<'a>(columns: impl Iterator<Item = &'a str>) -> String {
    let columns: Vec<&str> = columns.collect();
    if columns.is_empty() { String::new() } else { format!(" by keys of the join: {}", columns.join(", ")) }
}

/// The text of an operator that reads a table; `None` for one with a text of its own.
fn table_label(operator: TableOperator<'_>) -> Option<String> {
    Some(match operator {
        TableOperator::Rows(scan) => scan_label(scan),
        TableOperator::Star(star) => {
            let condition =
                star.filter.as_ref().map(|filter| format!(" ({})", readable(over_table(filter, &star.spec.fact))));
            let condition = condition.unwrap_or_default();
            let keys = by_keys(star.join_key_columns());
            format!("Star aggregate: column scan on {}{condition}{keys}", by_column(&star.spec.fact))
        }
        TableOperator::DocumentValues(scan) => {
            let (table, index) = (&scan.source.table.alias, &scan.index().name);
            format!("Covering index scan on {table} using {index} ({})", scan.source.reader.wanted())
        }
        TableOperator::Columns(scan) => {
            let filter =
                scan.filter.as_ref().map(|filter| format!(" ({})", readable(over_table(filter, &scan.source))));
            let filter = filter.unwrap_or_default();
            let keys = by_keys(scan.join_key_columns());
            format!("Column scan on {}{filter}{keys}", by_column(&scan.source))
        }
        TableOperator::Lookup(join) => match join.kept() {
            Kept::Pairs => "Nested loop inner join",
            Kept::PairsAndUnmatched => "Nested loop left join",
            Kept::Matched => "Nested loop semijoin",
            Kept::Unmatched => "Nested loop antijoin",
        }
        .to_string(),
        TableOperator::Nearest(nearest) => {
            format!("Nearest rows of {} using {}", nearest.scan.source.alias, nearest.index().name)
        }
        TableOperator::Virtual(_) => return None,
    })
}

/// The text of an operator; `None` for one that only moves rows.
pub(super) fn label(plan: &Arc<dyn ExecutionPlan>) -> Option<String> {
    if let Some(label) = TableOperator::of(plan.as_ref()).and_then(table_label) {
        return Some(label);
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>() {
        return Some(format!("Filter: ({})", shown(filter.predicate(), filter.input())));
    }
    if let Some(join) = as_hash_join(plan) {
        let on: Vec<String> = join
            .on()
            .iter()
            .map(|(left, right)| format!("{} = {}", shown(left, join.left()), shown(right, join.right())))
            .collect();
        return Some(format!("{:?} hash join ({})", join.join_type(), on.join(", ")));
    }
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        return Some(format!("{:?} nested loop join (no condition on a key)", join.join_type()));
    }
    if plan.is::<CrossJoinExec>() {
        return Some("Cross join".to_string());
    }
    if let Some(sort) = as_sort(plan) {
        let keys: Vec<String> = sort.expr().iter().map(|key| sort_key(key, sort.input())).collect();
        let limit = sort.fetch().map_or(String::new(), |fetch| format!(", limit input to {fetch} row(s) per chunk"));
        return Some(format!("Sort: {}{limit}", keys.join(", ")));
    }
    if let Some(limit) = plan.downcast_ref::<GlobalLimitExec>() {
        let rows = limit.fetch().map_or("all".to_string(), |fetch| fetch.to_string());
        return Some(match limit.skip() {
            0 => format!("Limit: {rows} row(s)"),
            skip => format!("Limit/Offset: {rows}/{skip} row(s)"),
        });
    }
    if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
        // The first half of an aggregation that is done in two.
        if *aggregate.mode() == AggregateMode::Partial {
            return None;
        }
        let functions: Vec<String> = aggregate.aggr_expr().iter().map(|function| readable(function.name())).collect();
        if functions.is_empty() {
            return Some("Remove duplicates".to_string());
        }
        let kind = if aggregate.group_expr().is_empty() { "Aggregate" } else { "Group aggregate" };
        return Some(format!("{kind}: {}", functions.join(", ")));
    }
    if plan.is::<UnionExec>() {
        return Some("Append".to_string());
    }
    if plan.is::<PlaceholderRowExec>() {
        return Some("Rows fetched before execution".to_string());
    }
    if moves_rows(plan.as_ref()) { None } else { Some(one_line(plan)) }
}

/// The sort expressions with their directions.
fn sort_key(key: &PhysicalSortExpr, rows: &Arc<dyn ExecutionPlan>) -> String {
    let (whole, value) = (readable(key), readable(&key.expr));
    // The direction stands behind the value.
    format!("{}{}", shown(&key.expr, rows), whole.strip_prefix(&value).unwrap_or_default())
}

fn one_line(plan: &Arc<dyn ExecutionPlan>) -> String {
    struct Line<'a>(&'a dyn ExecutionPlan);
    impl std::fmt::Display for Line<'_> {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            self.0.fmt_as(DisplayFormatType::Default, f)
        }
    }
    Line(plan.as_ref()).to_string()
}

fn scan_label(scan: &RowScanExec) -> String {
    let alias = &scan.source.alias;
    let AccessPath { ranges, covering, unique, .. } = &scan.path;
    let index = scan.path.index_def(&scan.source.def);
    let backward = if scan.direction == Direction::Backward { " (reverse)" } else { "" };
    let keys = by_keys(scan.join_key_column().into_iter());
    let prefix = if *covering { "Covering index" } else { "Index" };
    match (ranges, index) {
        (Some(_), Some(index)) if *unique => format!("Rows fetched before execution on {alias} using {}", index.name),
        (Some(ranges), Some(index)) if ranges.parts_constant == ranges.parts_used => {
            format!("{prefix} lookup on {alias} using {}{backward}", index.name)
        }
        (Some(ranges), Some(index)) => {
            let count = ranges.ranges.len();
            let several = if count == 1 { String::new() } else { format!(" over {count} ranges") };
            format!("{prefix} range scan on {alias} using {}{several}{backward}", index.name)
        }
        (None, Some(index)) if !index.primary => {
            format!("{prefix} scan on {alias} using {}{backward}{keys}", index.name)
        }
        _ => format!("Table scan on {alias}{backward}{keys}"),
    }
}

/// The cost and the number of rows, as far as they are known.
fn estimate(plan: &Arc<dyn ExecutionPlan>) -> (Option<f64>, Option<usize>) {
    // A scan's own estimate is of the rows that the conditions above it leave.
    if let Some(scan) = RowScanExec::of(plan.as_ref()).filter(|scan| scan.fetch.is_none()) {
        return (Some(scan.path.cost), Some(scan.path.rows.ceil() as usize));
    }
    let cost = RowScanExec::of(plan.as_ref()).map(|scan| scan.path.cost);
    let statistics = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new());
    (cost, statistics.ok().and_then(|statistics| statistics.num_rows.get_value().copied()))
}

fn measured(plan: &Arc<dyn ExecutionPlan>) -> Actual {
    let never = Actual { ran: None, counts: String::new() };
    let Some(metrics) = plan.metrics() else { return never };
    let metrics = metrics.aggregate_by_name();
    let Some(rows) = metrics.output_rows() else { return never };
    let milliseconds = metrics.elapsed_compute().unwrap_or(0) as f64 / 1e6;
    let counts = if plan.is::<ColumnScanExec>() {
        skipped(&metrics)
    } else if plan.is::<StarExec>() {
        answered(&metrics)
    } else {
        String::new()
    };
    Actual { ran: Some((milliseconds, rows)), counts }
}

/// The counts of the star kernel: zones that it read, and zones that it answered without reading.
fn answered(metrics: &MetricsSet) -> String {
    let count = |name: &str| metrics.sum_by_name(name).map_or(0, |value| value.as_usize());
    let (read, known, dictionaries) = (count(ZONES_READ), count(ZONES_ANSWERED), count(SEGMENTS_OF_DICTIONARIES));
    let mut text = format!(" (zones read={read}");
    if known > 0 {
        let _ = write!(text, "; answered by zone maps={known}");
    }
    if dictionaries > 0 {
        let _ = write!(text, "; segments answered by dictionaries={dictionaries}");
    }
    let rows = [("zone maps", count(ROWS_SKIPPED_BY_ZONE_MAPS)), ("bitmaps", count(ROWS_SKIPPED_BY_BITMAPS))];
    if let Some(rows) = listed(&rows) {
        let _ = write!(text, "; rows skipped by {rows}");
    }
    let segments = count(SEGMENTS_SKIPPED);
    if segments > 0 {
        let _ = write!(text, "; segments skipped={segments}");
    }
    text + ")"
}

/// The numbers that are not zero, with their names.
fn listed(numbers: &[(&str, usize)]) -> Option<String> {
    let shown: Vec<String> =
        numbers.iter().filter(|(_, number)| *number > 0).map(|(what, number)| format!("{what}={number}")).collect();
    (!shown.is_empty()).then(|| shown.join(", "))
}

/// What let a column scan skip rows.
fn skipped(metrics: &MetricsSet) -> String {
    let count = |name: &str| metrics.sum_by_name(name).map_or(0, |value| value.as_usize());
    let rows = [
        ("zone maps", count(ROWS_SKIPPED_BY_ZONE_MAPS)),
        ("bitmaps", count(ROWS_SKIPPED_BY_BITMAPS)),
        ("values", count(ROWS_SKIPPED_BY_VALUES)),
    ];
    let segments = [
        ("zone maps", count(SEGMENTS_SKIPPED_BY_ZONE_MAPS)),
        ("bitmaps", count(SEGMENTS_SKIPPED_BY_BITMAPS)),
        ("values", count(SEGMENTS_SKIPPED_BY_VALUES)),
    ];
    let mut text = format!(" (segments read={}", count(SEGMENTS_READ));
    if let Some(segments) = listed(&segments) {
        let _ = write!(text, ", skipped by {segments}");
    }
    if let Some(rows) = listed(&rows) {
        let _ = write!(text, "; rows skipped by {rows}");
    }
    text + ")"
}
