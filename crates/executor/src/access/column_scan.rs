//! The operator that reads a column table: conditions become rows of segments before anything is decoded.

use super::column_estimate;
use super::scan::{BATCH_ROWS, decode_columns, make_batch, stream_of};
use super::table::RowTable;
use crate::env::StatementEnv;
use crate::operator::{Operator, estimated, execution_plan};
use crate::runtime_filters::JoinKeys;
use arrow::array::{ArrayRef, AsArray, BinaryViewBuilder, Int64Array};
use arrow::datatypes::{Int64Type, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder};
use datafusion::physical_plan::{ExecutionPlan, Partitioning, PlanProperties};
use parking_lot::Mutex;
use squall_column_store::predicate::{Condition, Predicate, ZoneRows, matching_rows, matching_zones};
use squall_column_tables::{ColumnSnapshot, ListedSegment, TableColumns, from_utc};
use squall_row_store::Row;
use squall_statement_context::TableOperation;
use squall_types::temporal::TimeZone;
use squall_types::{DateTime, SqlResult, SqlType};
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Counters of a scan: rows that did not have to be read, by what told it.
pub const ROWS_SKIPPED_BY_ZONE_MAPS: &str = "rows_skipped_by_zone_maps";
/// See [`ROWS_SKIPPED_BY_ZONE_MAPS`].
pub const ROWS_SKIPPED_BY_BITMAPS: &str = "rows_skipped_by_bitmaps";
/// See [`ROWS_SKIPPED_BY_ZONE_MAPS`].
pub const ROWS_SKIPPED_BY_VALUES: &str = "rows_skipped_by_values";
/// Segments of which some row was read.
pub const SEGMENTS_READ: &str = "segments_read";
/// Segments of which no row was left, by what took the last ones.
pub const SEGMENTS_SKIPPED_BY_ZONE_MAPS: &str = "segments_skipped_by_zone_maps";
/// See [`SEGMENTS_SKIPPED_BY_ZONE_MAPS`].
pub const SEGMENTS_SKIPPED_BY_BITMAPS: &str = "segments_skipped_by_bitmaps";
/// See [`SEGMENTS_SKIPPED_BY_ZONE_MAPS`].
pub const SEGMENTS_SKIPPED_BY_VALUES: &str = "segments_skipped_by_values";

/// Reads a column table.
#[derive(Debug)]
pub struct ColumnScanExec {
    /// The table reference.
    pub source: Arc<RowTable>,
    /// Ordinals of the columns that come out.
    pub projection: Arc<[usize]>,
    /// The condition on rows, which EXPLAIN shows.
    pub filter: Option<Arc<dyn PhysicalExpr>>,
    /// Rows that are enough.
    pub fetch: Option<usize>,
    condition: Arc<Condition>,
    /// Columns, by their ordinals, whose values have to be among the keys of a join to have a partner.
    join_keys: Vec<(usize, Arc<JoinKeys>)>,
    snapshot: Arc<ColumnSnapshot>,
    work: Arc<Mutex<Work>>,
    /// What is told of the rows, once it has been asked for.
    known: Arc<OnceLock<Known>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

/// What the planner is told.
#[derive(Debug)]
struct Known {
    /// The share of rows for which the condition is true.
    share: f64,
    /// Of all rows.
    columns: Vec<ColumnStatistics>,
}

/// The rest to be read, for the next free partition.
#[derive(Debug, Default)]
struct Work {
    /// The next segment whose rows are not known yet.
    next_segment: usize,
    /// Rows of segments, a zone at a time.
    zones: VecDeque<SegmentRows>,
    delta_read: bool,
}

/// Rows of one zone, and the segment that they are of.
type SegmentRows = (usize, ZoneRows);

impl ColumnScanExec {
    /// A scan of what a statement sees of a column table.
    pub fn new(
        source: Arc<RowTable>,
        snapshot: Arc<ColumnSnapshot>,
        projection: Arc<[usize]>,
        predicate: &Predicate,
        filter: Option<Arc<dyn PhysicalExpr>>,
        fetch: Option<usize>,
        partitions: usize,
    ) -> ColumnScanExec {
        // A zone is the least that is worth a thread.
        let zones: usize = snapshot.segments.iter().map(|segment| segment.zones()).sum();
        let partitions = if fetch.is_some() { 1 } else { partitions.min(zones).max(1) };
        let properties = PlanProperties::new(
            EquivalenceProperties::new(source.projected_schema(&projection)),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        let condition = Condition::from(predicate);
        ColumnScanExec {
            source,
            projection,
            filter,
            fetch,
            condition: Arc::new(condition),
            join_keys: Vec::new(),
            snapshot,
            work: Arc::default(),
            known: Arc::default(),
            properties: Arc::new(properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// Rows of the table that the statement sees.
    pub fn visible_rows(&self) -> u64 {
        let sealed: u64 = self.snapshot.segments.iter().map(|segment| segment.visible_rows()).sum();
        sealed + self.snapshot.delta.len() as u64
    }

    /// The same for rows whose value of a column is among the keys of a join.
    pub fn with_join_keys(&self, ordinal: usize, keys: Arc<JoinKeys>) -> Arc<ColumnScanExec> {
        let mut scan = self.anew(self.fetch);
        scan.join_keys.push((ordinal, keys));
        Arc::new(scan)
    }

    /// Names of the columns that have to be among keys of joins.
    pub fn join_key_columns(&self) -> impl Iterator<Item = &str> {
        let column = |(ordinal, _): &(usize, Arc<JoinKeys>)| self.source.def.columns.get(*ordinal);
        self.join_keys.iter().filter_map(column).map(|column| column.name.as_str())
    }

    /// The same scan, with its work not begun.
    fn anew(&self, fetch: Option<usize>) -> ColumnScanExec {
        ColumnScanExec {
            source: self.source.clone(),
            projection: self.projection.clone(),
            filter: self.filter.clone(),
            fetch,
            condition: self.condition.clone(),
            join_keys: self.join_keys.clone(),
            snapshot: self.snapshot.clone(),
            work: Arc::default(),
            known: self.known.clone(),
            properties: self.properties.clone(),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    fn reader(&self, partition: usize, env: Arc<StatementEnv>, batch_rows: usize) -> Reader {
        let counter = |name: &'static str| MetricBuilder::new(&self.metrics).counter(name, partition);
        Reader {
            env,
            source: self.source.clone(),
            projection: self.projection.clone(),
            schema: self.schema(),
            condition: self.condition.clone(),
            join_keys: self.join_keys.clone(),
            snapshot: self.snapshot.clone(),
            work: self.work.clone(),
            batch_rows,
            remaining: self.fetch.unwrap_or(usize::MAX),
            zone: None,
            delta: None,
            by_zone_maps: counter(ROWS_SKIPPED_BY_ZONE_MAPS),
            by_bitmaps: counter(ROWS_SKIPPED_BY_BITMAPS),
            by_values: counter(ROWS_SKIPPED_BY_VALUES),
            segments: counter(SEGMENTS_READ),
            segments_by_zone_maps: counter(SEGMENTS_SKIPPED_BY_ZONE_MAPS),
            segments_by_bitmaps: counter(SEGMENTS_SKIPPED_BY_BITMAPS),
            segments_by_values: counter(SEGMENTS_SKIPPED_BY_VALUES),
        }
    }
}

impl Operator for ColumnScanExec {
    fn label(&self) -> &str {
        "ColumnScanExec"
    }

    fn output(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ": table={}, segments={}", self.source.def.name, self.snapshot.segments.len())?;
        match self.fetch {
            Some(fetch) => write!(f, ", fetch={fetch}"),
            None => Ok(()),
        }
    }

    fn over(self: Arc<Self>, _inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<Self>> {
        Ok(Arc::new(self.anew(self.fetch)))
    }

    fn stream(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let env = StatementEnv::of(context.session_config())?;
        let batch_rows = context.session_config().batch_size().clamp(1, BATCH_ROWS);
        let reader = self.reader(partition, env, batch_rows);
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        Ok(stream_of(reader, self.schema(), metrics, Reader::next_batch))
    }

    fn counters(&self) -> Option<&ExecutionPlanMetricsSet> {
        Some(&self.metrics)
    }

    fn estimate(&self, _: &[Arc<Statistics>], partition: Option<usize>) -> Result<Arc<Statistics>> {
        let known = self.known.get_or_init(|| Known {
            share: column_estimate::share(&self.condition, &self.source, &self.snapshot),
            columns: column_estimate::columns(&self.source, &self.snapshot, &self.projection),
        });
        let found = self.visible_rows() as f64 * known.share;
        let found = if matches!(*self.condition, Condition::Constant(_)) { found } else { found.max(1.0) };
        let mut rows = found.min(self.fetch.map_or(f64::MAX, |fetch| fetch as f64));
        if partition.is_some() {
            rows /= self.properties.partitioning.partition_count().max(1) as f64;
        }
        let estimated = estimated(&self.schema(), rows, Some(self.source.row_bytes(&self.projection)));
        let mut estimated = Arc::unwrap_or_clone(estimated);
        estimated.column_statistics.clone_from(&known.columns);
        let rows = rows.ceil() as usize;
        for column in &mut estimated.column_statistics {
            let at_most = |count: &Precision<usize>| {
                count.get_value().map_or(Precision::Absent, |count| Precision::Inexact(*count.min(&rows)))
            };
            (column.distinct_count, column.null_count) = (at_most(&column.distinct_count), at_most(&column.null_count));
        }
        Ok(Arc::new(estimated))
    }

    fn limit(&self) -> Option<usize> {
        self.fetch
    }

    fn with_limit(&self, limit: Option<usize>) -> Option<Self> {
        Some(self.anew(limit))
    }
}

execution_plan!(ColumnScanExec);

/// Reads for one partition.
struct Reader {
    env: Arc<StatementEnv>,
    source: Arc<RowTable>,
    projection: Arc<[usize]>,
    schema: SchemaRef,
    condition: Arc<Condition>,
    /// Keys of joins that have not become a part of the condition yet.
    join_keys: Vec<(usize, Arc<JoinKeys>)>,
    snapshot: Arc<ColumnSnapshot>,
    work: Arc<Mutex<Work>>,
    batch_rows: usize,
    remaining: usize,
    /// The zone that is read, and how many of its rows have been.
    zone: Option<(SegmentRows, usize)>,
    /// Delta rows that satisfy the condition, and how many have come out.
    delta: Option<(Vec<Row>, usize)>,
    by_zone_maps: Count,
    by_bitmaps: Count,
    by_values: Count,
    segments: Count,
    segments_by_zone_maps: Count,
    segments_by_bitmaps: Count,
    segments_by_values: Count,
}

impl Reader {
    fn next_batch(&mut self) -> SqlResult<Option<RecordBatch>> {
        self.add_join_keys();
        let started = Instant::now();
        while self.remaining > 0 {
            self.env.context.kill.check()?;
            let batch = match &mut self.zone {
                Some(((segment, rows), done)) => {
                    let next = *done..rows.len().min(*done + self.batch_rows.min(self.remaining));
                    if next.is_empty() {
                        self.zone = None;
                        continue;
                    }
                    *done = next.end;
                    let segment = *segment;
                    let Some(((_, rows), _)) = &self.zone else { continue };
                    match rows {
                        ZoneRows::Range(range) => {
                            let start = range.start;
                            self.segment_batch(segment, start + next.start as u32..start + next.end as u32)?
                        }
                        ZoneRows::Positions(positions) => {
                            self.segment_batch(segment, positions[next].iter().copied())?
                        }
                    }
                }
                None => match self.next_zone()? {
                    Some(zone) => {
                        self.zone = Some((zone, 0));
                        continue;
                    }
                    None => match self.delta_batch()? {
                        Some(batch) => batch,
                        None => return Ok(None),
                    },
                },
            };
            self.remaining -= batch.num_rows();
            self.env.context.examined(batch.num_rows());
            let (table, rows) = (self.source.def.id, batch.num_rows() as u64);
            self.env.context.table_uses.note(table, None, TableOperation::Fetch, rows, Some(started.elapsed()));
            return Ok(Some(batch));
        }
        Ok(None)
    }

    /// Adds the keys of joins, which are complete by the time that a row is asked for, to the condition.
    fn add_join_keys(&mut self) {
        let keys = std::mem::take(&mut self.join_keys);
        let mut conditions: Vec<Condition> =
            keys.into_iter().filter_map(|(ordinal, keys)| keys.condition(ordinal)).collect();
        if conditions.is_empty() {
            return;
        }
        if !matches!(&*self.condition, Condition::Constant(true)) {
            conditions.insert(0, (*self.condition).clone());
        }
        self.condition = Arc::new(Condition::And(conditions));
    }

    /// The next zone that has rows: one that is known, or the first of a segment whose rows are found out now.
    fn next_zone(&mut self) -> SqlResult<Option<SegmentRows>> {
        loop {
            let segment = {
                let mut work = self.work.lock();
                if let Some(zone) = work.zones.pop_front() {
                    return Ok(Some(zone));
                }
                if work.next_segment >= self.snapshot.segments.len() {
                    return Ok(None);
                }
                work.next_segment += 1;
                work.next_segment - 1
            };
            let visible = &self.snapshot.segments[segment];
            let columns = TableColumns::new(&self.source.table, &visible.segment, &self.snapshot.cache);
            let (zones, skipped) = matching_zones(&self.condition, &columns, Some(&visible.hidden))
                .map_err(|error| squall_column_tables::sql_error(&self.source.def.name, error))?;
            self.by_zone_maps.add(skipped.by_zone_maps as usize);
            self.by_bitmaps.add(skipped.by_bitmaps as usize);
            self.by_values.add(skipped.by_values as usize);
            if zones.is_empty() {
                let skipping = match (skipped.by_values, skipped.by_bitmaps) {
                    (1.., _) => &self.segments_by_values,
                    (_, 1..) => &self.segments_by_bitmaps,
                    _ => &self.segments_by_zone_maps,
                };
                skipping.add(usize::from(skipped.total() > 0));
                continue;
            }
            self.segments.add(1);
            self.work.lock().zones.extend(zones.into_iter().map(|rows| (segment, rows)));
        }
    }

    fn segment_batch(
        &self,
        segment: usize,
        positions: impl ExactSizeIterator<Item = u32> + Clone,
    ) -> SqlResult<RecordBatch> {
        let segment = &self.snapshot.segments[segment].segment;
        let columns = TableColumns::new(&self.source.table, segment, &self.snapshot.cache);
        let array = |ordinal: &usize| {
            if *ordinal == self.source.def.columns.len() {
                return Ok(row_addresses(segment, positions.clone()));
            }
            let array = columns.array(*ordinal, positions.clone())?;
            match self.source.def.columns.get(*ordinal).map(|column| &column.sql_type) {
                Some(SqlType::Timestamp { .. }) => Ok(in_zone(&array, &self.env.context.settings.time_zone)),
                _ => Ok(array),
            }
        };
        let arrays = self.projection.iter().map(array).collect::<SqlResult<Vec<_>>>()?;
        make_batch(self.schema.clone(), arrays, positions.len())
    }

    fn delta_batch(&mut self) -> SqlResult<Option<RecordBatch>> {
        if self.delta.is_none() {
            if std::mem::replace(&mut self.work.lock().delta_read, true) {
                return Ok(None);
            }
            self.delta = Some((self.matching_delta_rows()?, 0));
        }
        let Some((rows, done)) = &mut self.delta else { return Ok(None) };
        let end = rows.len().min(*done + self.batch_rows.min(self.remaining));
        if *done == end {
            return Ok(None);
        }
        let rows = &rows[std::mem::replace(done, end)..end];
        let arrays = decode_columns(&self.source.table, rows, &self.projection, &self.env)?;
        make_batch(self.schema.clone(), arrays, rows.len()).map(Some)
    }

    fn matching_delta_rows(&self) -> SqlResult<Vec<Row>> {
        let delta = &self.snapshot.delta;
        match &*self.condition {
            Condition::Constant(true) => return Ok(delta.clone()),
            _ if delta.is_empty() => return Ok(Vec::new()),
            _ => {}
        }
        let mut columns = self.condition.columns();
        columns.sort_unstable();
        columns.dedup();
        let source = self.snapshot.delta_columns(&self.source.table, &columns)?;
        let failed = |error| squall_column_tables::sql_error(&self.source.def.name, error);
        let rows = matching_rows(&self.condition, &source, None).map_err(failed)?;
        Ok(rows.iter().filter_map(|row| delta.get(row as usize).cloned()).collect())
    }
}

/// What stands for the keys of segment rows.
fn row_addresses(segment: &ListedSegment, positions: impl ExactSizeIterator<Item = u32>) -> ArrayRef {
    let mut addresses = BinaryViewBuilder::with_capacity(positions.len());
    for position in positions {
        addresses.append_value(segment.address(position).encode());
    }
    Arc::new(addresses.finish())
}

/// TIMESTAMPs, which are in UTC, as the session sees them.
fn in_zone(array: &ArrayRef, zone: &TimeZone) -> ArrayRef {
    let Some(moments) = array.as_primitive_opt::<Int64Type>() else { return array.clone() };
    let local: Int64Array = moments.unary(|packed| from_utc(zone, DateTime::from_packed(packed)).to_packed());
    Arc::new(local)
}
