//! What the planner is told of the rows that a scan by column gives: how many, and bounds and distinct values of their columns. Zone maps
//! and a few thousand rows of the codes themselves tell it, as of this moment, so nothing has to be kept up to date.

use super::table::RowTable;
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue};
use squall_column_store::predicate::{ColumnSource, Condition, DeltaColumns, estimated_share, matching_rows};
use squall_column_store::{Datum, ZoneMap};
use squall_column_tables::{ColumnSnapshot, TableColumns, is_short};
use squall_functions::arrow_map::arrow_type;
use squall_types::SqlType;

/// The share of rows that an unknown condition leaves: DataFusion's own guess.
const SELECTIVITY: f64 = 0.2;
/// Segments, zones of each and rows of each of these that a condition is tried on.
const SEGMENTS_TRIED: usize = 2;
/// See [`SEGMENTS_TRIED`].
const ZONES_TRIED: usize = 4;
/// See [`SEGMENTS_TRIED`].
const ROWS_TRIED: usize = 2048;

/// The share of a table's rows for which a condition is true, nearly.
pub(crate) fn share(condition: &Condition, source: &RowTable, snapshot: &ColumnSnapshot) -> f64 {
    match condition {
        Condition::Constant(true) => return 1.0,
        Condition::Constant(false) => return 0.0,
        _ => {}
    }
    let segments = &snapshot.segments;
    if segments.is_empty() {
        return share_of_delta(condition, source, snapshot).unwrap_or(SELECTIVITY);
    }
    let step = segments.len().div_ceil(SEGMENTS_TRIED).max(1);
    let (mut rows, mut found) = (0.0, 0.0);
    for visible in segments.iter().step_by(step) {
        let columns = TableColumns::new(&source.table, &visible.segment, &snapshot.cache);
        // What cannot be read is an error when the query runs.
        let Ok(Some(share)) = estimated_share(condition, &columns, ZONES_TRIED, ROWS_TRIED) else { return SELECTIVITY };
        rows += columns.rows() as f64;
        found += share * columns.rows() as f64;
    }
    if rows > 0.0 { found / rows } else { SELECTIVITY }
}

/// The same for a table that has few rows, none of them in a segment.
fn share_of_delta(condition: &Condition, source: &RowTable, snapshot: &ColumnSnapshot) -> Option<f64> {
    let mut ordinals = condition.columns();
    ordinals.sort_unstable();
    ordinals.dedup();
    let columns = few_rows(source, snapshot, &ordinals)?;
    let found = matching_rows(condition, &columns, None).ok()?;
    Some(found.len() as f64 / columns.rows() as f64)
}

/// Columns of the delta rows, if they are so few that decoding them costs no time.
fn few_rows(source: &RowTable, snapshot: &ColumnSnapshot, ordinals: &[usize]) -> Option<DeltaColumns> {
    let is_short = |ordinal: &usize| source.def.columns.get(*ordinal).is_some_and(|column| is_short(&column.sql_type));
    let is_worth = (1..=ROWS_TRIED).contains(&snapshot.delta.len()) && ordinals.iter().all(is_short);
    is_worth.then(|| snapshot.delta_columns(&source.table, ordinals).ok()).flatten()
}

/// What is known of a table's columns in all of its rows.
pub(crate) fn columns(source: &RowTable, snapshot: &ColumnSnapshot, projection: &[usize]) -> Vec<ColumnStatistics> {
    let rows: u64 = snapshot.segments.iter().map(|segment| segment.visible_rows()).sum();
    let rows = rows as usize + snapshot.delta.len();
    projection.iter().map(|ordinal| column(source, snapshot, *ordinal, rows)).collect()
}

fn column(source: &RowTable, snapshot: &ColumnSnapshot, ordinal: usize, rows: usize) -> ColumnStatistics {
    let mut known = ColumnStatistics::new_unknown();
    let Some(def) = source.def.columns.get(ordinal) else { return known };
    let sql_type = &def.sql_type;
    let unique = source.def.indexes.iter().any(|index| {
        index.unique | index.primary && source.def.index_ordinals(index) == [ordinal] && index.parts[0].prefix.is_none()
    });
    if unique {
        known.distinct_count = Precision::Inexact(rows);
    }
    if snapshot.segments.is_empty() {
        // A table of few rows.
        if let Some(codes) = few_rows(source, snapshot, &[ordinal]).and_then(|columns| columns.column(ordinal).ok()) {
            known.null_count = Precision::Inexact(codes.null_count());
            if let Some(distinct) = codes.distinct_values() {
                known.distinct_count = Precision::Inexact(distinct);
            }
        }
        return known;
    }
    if matches!(sql_type, SqlType::String { .. }) && !unique {
        known.distinct_count = texts(source, snapshot, ordinal).map_or(Precision::Absent, Precision::Inexact);
    }
    // Zone maps do not have what is in delta rows.
    let mut nulls = 0;
    let mut bounds: Option<(i128, i128)> = None;
    for visible in &snapshot.segments {
        let columns = TableColumns::new(&source.table, &visible.segment, &snapshot.cache);
        let Some(zones) = columns.zone_map(ordinal) else { return known };
        nulls += zones.null_count() as usize;
        if let Some((min, max)) = integer_bounds(zones) {
            bounds = Some(bounds.map_or((min, max), |(least, greatest)| (least.min(min), greatest.max(max))));
        }
    }
    if snapshot.delta.is_empty() {
        known.null_count = Precision::Inexact(nulls);
    }
    let Some((min, max)) = bounds else { return known };
    if !unique {
        let span = usize::try_from(max - min).unwrap_or(usize::MAX).saturating_add(1);
        known.distinct_count = Precision::Inexact(span.min(rows));
    }
    if snapshot.delta.is_empty() && !matches!(sql_type, SqlType::Timestamp { .. }) {
        let bound = |value| scalar(value, sql_type).map_or(Precision::Absent, Precision::Inexact);
        (known.min_value, known.max_value) = (bound(min), bound(max));
    }
    known
}

/// Distinct values of a column of texts, nearly: those of the segment that has the most of a few, if that knows its own.
fn texts(source: &RowTable, snapshot: &ColumnSnapshot, ordinal: usize) -> Option<usize> {
    let step = snapshot.segments.len().div_ceil(SEGMENTS_TRIED).max(1);
    let mut most = None;
    for visible in snapshot.segments.iter().step_by(step) {
        let columns = TableColumns::new(&source.table, &visible.segment, &snapshot.cache);
        most = most.max(Some(columns.dictionary(ordinal).ok()??.len()));
    }
    most
}

/// The bounds of whole numbers.
fn integer_bounds(zones: &ZoneMap) -> Option<(i128, i128)> {
    let bounds = zones.zones.iter().filter_map(|zone| zone.bounds.as_ref());
    let mut all: Option<(i128, i128)> = None;
    for bounds in bounds {
        let (Datum::Integer(min), Datum::Integer(max)) = (&bounds.min, &bounds.max) else { return None };
        all = Some(all.map_or((*min, *max), |(least, greatest)| (least.min(*min), greatest.max(*max))));
    }
    all
}

fn scalar(value: i128, sql_type: &SqlType) -> Option<ScalarValue> {
    use arrow::datatypes::DataType;
    match arrow_type(sql_type) {
        DataType::Int64 => Some(ScalarValue::Int64(Some(i64::try_from(value).ok()?))),
        DataType::UInt64 => Some(ScalarValue::UInt64(Some(u64::try_from(value).ok()?))),
        DataType::Decimal128(precision, scale) => Some(ScalarValue::Decimal128(Some(value), precision, scale)),
        _ => None,
    }
}
