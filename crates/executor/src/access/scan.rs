//! The operator that reads a row table.

use super::candidate_rows::{CHUNK_ROWS, CandidateRows, ENTRIES_PER_CHECK, SeenRows, ranges_of_join_keys};
use super::chosen_path::ChosenPath;
use super::key::storage_range;
use super::lock::TableLock;
use super::path::{AccessPath, KeySpace, is_usable};
use super::range::EncodedRange;
use super::scan_conditions::ScanConditions;
use super::table::{RowTable, SortExprs};
use crate::env::StatementEnv;
use crate::operator::{Operator, estimated, execution_plan};
use crate::runtime_filters::JoinKeys;
use arrow::array::RecordBatchOptions;
use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use datafusion::common::{Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, Partitioning, PlanProperties};
use squall_catalog::IndexId;
use squall_column_tables::{ColumnDecoder, append_column};
use squall_functions::expr::datafusion_error;
use squall_row_store::{Cursor, Direction, IndexEntry, KeyRange, PiecewiseSearch, ReadView, Row, Table, ValueRef};
use squall_statement_context::TableOperation;
use squall_types::SqlResult;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// Rows of a full batch.
pub const BATCH_ROWS: usize = 8192;
/// Rows of a scan's first batch: a query that wants few rows is not kept waiting for many.
const FIRST_BATCH_ROWS: usize = 256;
/// Bytes of stored rows that end a batch early, for each row that it might have: rows may be of any length, and operators
/// hold whole batches.
const BATCH_BYTES_PER_ROW: usize = 128;
/// The assumed bytes of a row before the first batch.
const ROW_BYTES_ASSUMED: usize = 4 << 10;
/// Rows that make a scan worth splitting among threads.
const PARALLEL_ROWS_MIN: f64 = 50_000.0;

/// Reads rows of a table along an access path.
#[derive(Clone, Debug)]
pub struct RowScanExec {
    /// The table reference.
    pub source: Arc<RowTable>,
    /// The way it is read.
    pub path: AccessPath,
    /// Ordinals of the columns that come out; the row key stands behind the last column.
    pub projection: Arc<[usize]>,
    /// The order of the rows: that of the indexed columns.
    sort_exprs: Arc<SortExprs>,
    /// From which end.
    pub direction: Direction,
    /// Rows that are enough.
    pub fetch: Option<usize>,
    /// Whether the operators above may stop before the end: then rows are locked only when they are returned.
    may_end_early: bool,
    /// Whether its ranges are the only place where a condition of the statement is: nothing above looks at it again.
    answers: bool,
    /// The choice of its path, if that depends on parameters. Another path may have taken the place of the chosen one since.
    chosen: Option<Arc<ChosenPath>>,
    /// The conditions above it, by which it estimates.
    conditions: Arc<ScanConditions>,
    /// Keys of a join that one of the columns has, and the position of an index that begins with it.
    join_keys: Option<(usize, Arc<JoinKeys>)>,
    /// The ranges that each partition reads.
    partitions: Arc<Vec<Vec<EncodedRange>>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl RowScanExec {
    /// A scan in one partition.
    pub fn new(
        source: Arc<RowTable>,
        path: AccessPath,
        projection: Arc<[usize]>,
        sort_exprs: Arc<SortExprs>,
        direction: Direction,
        fetch: Option<usize>,
    ) -> Self {
        let partitions = Arc::new(vec![path.encoded_ranges()]);
        Self::with_partitions(source, path, projection, sort_exprs, direction, fetch, partitions)
    }

    fn with_partitions(
        source: Arc<RowTable>,
        path: AccessPath,
        projection: Arc<[usize]>,
        sort_exprs: Arc<SortExprs>,
        direction: Direction,
        fetch: Option<usize>,
        partitions: Arc<Vec<Vec<EncodedRange>>>,
    ) -> Self {
        let schema = source.projected_schema(&projection);
        let mut equivalences = EquivalenceProperties::new(schema);
        equivalences.add_orderings(source.orderings(&path, &sort_exprs, direction));
        let properties = Arc::new(PlanProperties::new(
            equivalences,
            Partitioning::UnknownPartitioning(partitions.len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        ));
        RowScanExec {
            source,
            path,
            projection,
            sort_exprs,
            direction,
            fetch,
            may_end_early: false,
            answers: false,
            chosen: None,
            conditions: Arc::default(),
            join_keys: None,
            partitions,
            properties,
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    /// The same rows from the other end.
    pub fn reversed(&self) -> Self {
        let direction = match self.direction {
            Direction::Forward => Direction::Backward,
            Direction::Backward => Direction::Forward,
        };
        let reversed = Self::with_partitions(
            self.source.clone(),
            self.path.clone(),
            self.projection.clone(),
            self.sort_exprs.clone(),
            direction,
            self.fetch,
            self.partitions.clone(),
        );
        RowScanExec { chosen: self.chosen.clone(), conditions: self.conditions.clone(), ..reversed }
    }

    /// The same scan with the choice of its path.
    pub(super) fn chosen_by(self, chosen: Option<Arc<ChosenPath>>) -> Self {
        RowScanExec { chosen, ..self }
    }

    /// The same scan with the conditions above it.
    pub(super) fn below(self, conditions: Arc<ScanConditions>) -> Self {
        RowScanExec { conditions, ..self }
    }

    /// The index by which rows are found that have some values in a column, if all rows are read otherwise: in the order of their keys, or in
    /// that of such an index which has all that is wanted.
    pub fn index_of_keys(&self, ordinal: usize) -> Option<usize> {
        let source = &self.source;
        let is_plain = self.path.is_full()
            && self.direction == Direction::Forward
            && self.fetch.is_none()
            && !self.may_end_early
            && source.lock.is_none()
            && source.def.partitioning.is_none();
        if !is_plain || self.join_keys.is_some() {
            return None;
        }
        let is_read =
            |position| self.path.index_id == IndexId(0) || self.path.covering && self.path.index == Some(position);
        let mut usable = source.def.indexes.iter().enumerate().filter(|(position, index)| {
            is_read(*position)
                && is_usable(index)
                && source.hints.allows(*position)
                && index.parts.first().is_some_and(|part| part.prefix.is_none())
        });
        usable
            .find(|(_, index)| source.def.index_ordinals(index).first() == Some(&ordinal))
            .map(|(position, _)| position)
    }

    /// The same scan of nothing but rows with keys of a join, where these are few: of the first column of an index.
    pub fn with_join_keys(&self, index: usize, keys: Arc<JoinKeys>) -> Arc<RowScanExec> {
        Arc::new(RowScanExec { join_keys: Some((index, keys)), ..self.fresh() })
    }

    /// The name of the column that may have to be among keys of a join.
    pub fn join_key_column(&self) -> Option<&str> {
        let (index, _) = self.join_keys.as_ref()?;
        let ordinal = self.source.def.index_ordinals(&self.source.def.indexes[*index]).first().copied()?;
        self.source.def.columns.get(ordinal).map(|column| column.name.as_str())
    }

    /// The share of the table's rows that the conditions above it leave, as far as that is known.
    pub fn share_left(&self) -> f64 {
        self.conditions.share_left(&self.source, &self.path)
    }

    /// Whether its estimate reckons with the conditions above it.
    pub fn knows_conditions(&self) -> bool {
        self.conditions.is_known(&self.source, &self.path)
    }

    /// The same scan along a path that differs in nothing but the keys of its ranges.
    fn along_alike(&self, path: AccessPath) -> Self {
        let partitions = Arc::new(vec![path.encoded_ranges()]);
        RowScanExec { path, partitions, ..self.fresh() }
    }

    /// The same scan, as if it had never run.
    fn fresh(&self) -> Self {
        RowScanExec { metrics: ExecutionPlanMetricsSet::new(), ..self.clone() }
    }

    /// The same scan, for operators above that may stop before its end.
    pub fn ending_early(&self) -> Self {
        RowScanExec { may_end_early: true, ..self.fresh() }
    }

    /// The same scan where its ranges answer a condition that no other operator applies.
    pub fn answering(self) -> Self {
        RowScanExec { answers: true, ..self }
    }

    /// A scan of rows, unless no other way of reading the table would give the same.
    pub fn replaceable(plan: &Arc<dyn ExecutionPlan>) -> Option<&Self> {
        Self::of(plan.as_ref()).filter(|scan| !scan.answers)
    }

    /// The same table along another path.
    pub fn along(&self, path: AccessPath, direction: Direction) -> Self {
        let (source, projection, sort_exprs) = (self.source.clone(), self.projection.clone(), self.sort_exprs.clone());
        Self::new(source, path, projection, sort_exprs, direction, self.fetch)
            .chosen_by(self.chosen.clone())
            .below(self.conditions.clone())
    }

    /// Splits the scan among up to `count` partitions if it is big, each a run of keys.
    pub fn split(self, view: &ReadView, table: &Arc<Table>, count: usize) -> SqlResult<Self> {
        let rows = self.path.rows;
        // Partitions could not tell what others have found.
        if self.path.repeats()
            || count < 2
            || rows < PARALLEL_ROWS_MIN
            || self.fetch.is_some()
            || self.source.lock.is_some()
        {
            return Ok(self);
        }
        let [range] = self.partitions.first().map_or(&[][..], |ranges| ranges) else { return Ok(self) };
        let Some(space) = KeySpace::of(view, table, self.path.index_id)? else { return Ok(self) };
        let space = space.within(range);
        let mut pieces = Vec::with_capacity(count);
        let mut low = range.low.clone();
        for cut in space.cuts(count) {
            if cut > low && range.high.as_ref().is_none_or(|high| cut < *high) {
                pieces.push(vec![EncodedRange { low: std::mem::replace(&mut low, cut.clone()), high: Some(cut) }]);
            }
        }
        pieces.push(vec![EncodedRange { low, high: range.high.clone() }]);
        let RowScanExec { source, path, projection, sort_exprs, direction, fetch, chosen, conditions, .. } = self;
        let split = Self::with_partitions(source, path, projection, sort_exprs, direction, fetch, Arc::new(pieces));
        Ok(split.chosen_by(chosen).below(conditions))
    }

    /// Whether [`RowScanExec::for_values`] can give the scan for other values.
    pub fn takes_other_values(&self) -> bool {
        match &self.chosen {
            None => true,
            // Several partitions have cut the ranges. Other ranges than the chosen ones are a rule's own.
            Some(chosen) => {
                self.partitions.len() == 1
                    && !self.answers
                    && (self.path.is_full()
                        || self.path.index == chosen.path.index && self.path.ranges == chosen.path.ranges)
            }
        }
    }

    /// The scan for the values that the parameters have now, with its path chosen again; `None` if these values want another plan.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub fn for_values(&self, env: &StatementEnv) -> SqlResult<Option<RowScanExec>> {
        let Some(chosen) = &self.chosen else { return Ok(Some(self.fresh())) };
        let path = self.source.choose_path(env, &self.projection, &chosen.filters)?;
        if !path.is_alike(&chosen.path) {
            return Ok(None);
        }
        // A scan of a whole index for its order stays one.
        let path = match self.path.is_full() {
            true => AccessPath { partitions: path.partitions, ..self.path.clone() },
            false => path,
        };
        Ok(Some(self.along_alike(path)))
    }

    fn open(&self, partition: usize, env: &Arc<StatementEnv>, batch_rows_max: usize) -> SqlResult<RowReader> {
        let mut table = self.source.open(&*env.store)?;
        if let Some(partitions) = &self.path.partitions {
            table = table.restricted(partitions);
        }
        let mut ranges = self.partitions.get(partition).cloned().unwrap_or_default();
        if self.direction == Direction::Backward {
            ranges.reverse();
        }
        let ranges = ranges
            .iter()
            .map(|range| storage_range(&table, self.path.index_id, range))
            .collect::<SqlResult<VecDeque<_>>>()?;
        Ok(RowReader {
            env: env.clone(),
            ranges,
            cursor: None,
            index_id: self.path.index_id,
            used_index: self.path.used_index(&self.source.def),
            has_read: false,
            covering: self.covering_parts(&table),
            has_terms: self.path.index_def(&self.source.def).is_some_and(|index| index.files_by_terms()),
            direction: self.direction,
            lock: self.source.lock,
            is_point: self.path.unique,
            searched: None,
            // A row that may be met twice is known by its key, not by its place.
            ends_early: (self.may_end_early || self.fetch.is_some()) && !self.path.repeats(),
            has_fetch: self.fetch.is_some(),
            search: None,
            remaining: self.fetch.unwrap_or(usize::MAX),
            batch_rows: FIRST_BATCH_ROWS.min(batch_rows_max),
            batch_rows_max,
            projection: self.projection.clone(),
            schema: self.schema(),
            rows: Vec::new(),
            row_bytes: ROW_BYTES_ASSUMED,
            seen: self.path.repeats().then(|| SeenRows::new(env)),
            candidates: None,
            join_keys: self.join_keys.clone(),
            table,
        })
    }

    /// For each output column the part of the index that holds it, if the index alone is read.
    fn covering_parts(&self, table: &Table) -> Option<Vec<usize>> {
        if !self.path.covering || self.source.lock.is_some() {
            return None;
        }
        let def = table.def();
        let index = match self.path.index_def(def)? {
            // An entry of such an index has its row's key.
            index if index.files_by_terms() => def.primary_key(),
            index => Some(index),
        };
        let columns = index.map_or_else(Vec::new, |index| def.index_ordinals(index));
        self.projection.iter().map(|ordinal| columns.iter().position(|column| column == ordinal)).collect()
    }
}

impl Operator for RowScanExec {
    fn label(&self) -> &str {
        "RowScanExec"
    }

    fn output(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ": table={}", self.source.def.name)?;
        if let Some(index) = self.path.index_def(&self.source.def) {
            write!(f, ", index={}", index.name)?;
        }
        if let Some(ranges) = &self.path.ranges {
            write!(f, ", ranges={}", ranges.ranges.len())?;
        }
        if self.direction == Direction::Backward {
            write!(f, ", backward")?;
        }
        match self.fetch {
            Some(fetch) => write!(f, ", fetch={fetch}"),
            None => Ok(()),
        }
    }

    fn over(self: Arc<Self>, _inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<Self>> {
        Ok(Arc::new(self.fresh()))
    }

    fn stream(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let env = StatementEnv::of(context.session_config())?;
        // Small where memory is: what sorts and joins hold is counted in batches.
        let batch_rows_max = context.session_config().batch_size().clamp(1, BATCH_ROWS);
        let reader = self.open(partition, &env, batch_rows_max).map_err(datafusion_error)?;
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        Ok(stream_of(reader, self.schema(), metrics, RowReader::next_batch))
    }

    fn counters(&self) -> Option<&ExecutionPlanMetricsSet> {
        Some(&self.metrics)
    }

    fn estimate(&self, _: &[Arc<Statistics>], partition: Option<usize>) -> Result<Arc<Statistics>> {
        let left = self.conditions.rows_left(&self.source, &self.path);
        let mut rows = left.min(self.fetch.map_or(f64::MAX, |fetch| fetch as f64)).max(0.0);
        if partition.is_some() {
            rows /= self.partitions.len().max(1) as f64;
        }
        let estimated = estimated(&self.schema(), rows, Some(self.source.row_bytes(&self.projection)));
        let mut estimated = Arc::unwrap_or_clone(estimated);
        estimated.column_statistics = self.conditions.columns(&self.source, &self.path, &self.projection);
        Ok(Arc::new(estimated))
    }

    fn limit(&self) -> Option<usize> {
        self.fetch
    }

    fn with_limit(&self, limit: Option<usize>) -> Option<Self> {
        Some(RowScanExec { fetch: limit, ..self.fresh() })
    }

    fn in_order(&self, order: &[PhysicalSortExpr]) -> Result<Option<Self>> {
        if self.fetch.is_some() || self.source.lock.is_some() {
            return Ok(None);
        }
        for scan in [self.clone(), self.reversed()] {
            if scan.properties.equivalence_properties().ordering_satisfy(order.to_vec())? {
                return Ok(Some(scan));
            }
        }
        Ok(None)
    }
}

execution_plan!(RowScanExec);

/// The batches of a scan's reader, with metrics.
pub fn stream_of<R: Send + 'static>(
    reader: R,
    schema: SchemaRef,
    metrics: BaselineMetrics,
    next_batch: fn(&mut R) -> SqlResult<Option<RecordBatch>>,
) -> SendableRecordBatchStream {
    let stream = futures::stream::unfold((reader, metrics), move |(mut reader, metrics)| async move {
        let timer = metrics.elapsed_compute().timer();
        let batch = next_batch(&mut reader).map_err(datafusion_error).transpose();
        timer.done();
        if let Some(Ok(batch)) = &batch {
            metrics.record_output(batch.num_rows());
        }
        batch.map(|batch| (batch, (reader, metrics)))
    });
    Box::pin(RecordBatchStreamAdapter::new(schema, stream))
}

/// Reads the ranges of one partition, one after the other.
struct RowReader {
    env: Arc<StatementEnv>,
    table: Arc<Table>,
    ranges: VecDeque<KeyRange>,
    cursor: Option<Cursor>,
    index_id: squall_catalog::IndexId,
    /// The index as reads are counted by it.
    used_index: Option<squall_catalog::IndexId>,
    has_read: bool,
    covering: Option<Vec<usize>>,
    /// Whether the index is one of terms.
    has_terms: bool,
    direction: Direction,
    lock: Option<TableLock>,
    /// Each range is one key of a unique index.
    is_point: bool,
    /// Whether the searched ranges are locked, and the view that is read then in place of the statement's.
    searched: Option<Option<ReadView>>,
    /// Whether rows are locked piece by piece, and the piece that has been come to.
    ends_early: bool,
    has_fetch: bool,
    search: Option<PiecewiseSearch>,
    remaining: usize,
    batch_rows: usize,
    batch_rows_max: usize,
    projection: Arc<[usize]>,
    schema: SchemaRef,
    /// Kept for its memory.
    rows: Vec<Row>,
    /// The average bytes of a row in the last batch.
    row_bytes: usize,
    seen: Option<SeenRows>,
    /// Rows that entries of terms or keys of a join have named, in the order of their keys.
    candidates: Option<CandidateRows>,
    /// See [`RowScanExec::with_join_keys`].
    join_keys: Option<(usize, Arc<JoinKeys>)>,
}

impl RowReader {
    fn next_batch(&mut self) -> SqlResult<Option<RecordBatch>> {
        self.env.context.kill.check()?;
        let limit = self.batch_rows.min(self.remaining);
        self.batch_rows = self.batch_rows_max;
        let started = Instant::now();
        let batch = match self.covering.clone() {
            Some(parts) => self.entries_batch(&parts, limit)?,
            None => self.rows_batch(limit)?,
        };
        let rows = batch.as_ref().map_or(0, RecordBatch::num_rows);
        // A read that finds nothing is one, too.
        if rows > 0 || !self.has_read {
            self.has_read = true;
            let (table, context) = (self.table.def().id, &self.env.context);
            let (counted, time) = (rows.max(1) as u64, started.elapsed());
            context.table_uses.note(table, self.used_index, TableOperation::Fetch, counted, Some(time));
        }
        if batch.is_some() {
            self.remaining -= rows;
            self.env.context.examined(rows);
        }
        Ok(batch)
    }

    /// The cursor on the current range; `None` when all ranges have been read.
    fn cursor(&mut self) -> SqlResult<Option<&mut Cursor>> {
        if self.cursor.is_none()
            && let Some(range) = self.ranges.pop_front()
        {
            let view = match &self.searched {
                Some(Some(view)) => view,
                _ => self.env.view()?,
            };
            self.cursor = Some(view.scan(&self.table, &range, self.direction));
        }
        Ok(self.cursor.as_mut())
    }

    /// Finds out which rows entries of terms name, or have keys of a join, where these are few. Where a few rows are wanted, they are read as
    /// their entries come.
    fn name_rows(&mut self) -> SqlResult<()> {
        if self.candidates.is_some() || self.has_read {
            return Ok(());
        }
        if let Some((index, keys)) = self.join_keys.take() {
            let index = &self.table.def().indexes[index];
            if let Some(entries) = ranges_of_join_keys(&self.env, &self.table, index, &keys)? {
                let found = CandidateRows::of_entries(&self.env, &self.table, index, &entries, &self.ranges)?;
                self.candidates = Some(found);
            }
            return Ok(());
        }
        if !self.has_terms || self.lock.is_some() || self.has_fetch {
            return Ok(());
        }
        let mut seen = SeenRows::new(&self.env);
        let mut read = 0;
        while let Some(cursor) = self.cursor()? {
            let Some(entry) = cursor.next_entry()? else {
                self.cursor = None;
                continue;
            };
            seen.is_first(&entry.row_key(&self.table)?)?;
            read += 1;
            if read % ENTRIES_PER_CHECK == 0 {
                self.env.context.kill.check()?;
            }
        }
        self.candidates = Some(CandidateRows::new(&self.env, &self.table, seen)?);
        Ok(())
    }

    fn rows_batch(&mut self, limit: usize) -> SqlResult<Option<RecordBatch>> {
        self.name_rows()?;
        let mut rows = std::mem::take(&mut self.rows);
        rows.clear();
        if let Some(candidates) = &mut self.candidates {
            let bytes_max = self.batch_rows_max * BATCH_BYTES_PER_ROW;
            candidates.read(&self.env, &self.table, (limit, bytes_max), &mut rows)?;
            let batch = (!rows.is_empty()).then(|| self.decode(&rows)).transpose()?;
            rows.clear();
            self.rows = rows;
            return Ok(batch);
        }
        match self.lock {
            Some(lock) if self.is_point => {
                self.lock_points(lock, limit, &mut rows)?;
                return (!rows.is_empty()).then(|| self.decode(&rows)).transpose();
            }
            Some(lock) if self.ends_early => {
                self.lock_next(lock, limit, &mut rows)?;
                return (!rows.is_empty()).then(|| self.decode(&rows)).transpose();
            }
            Some(lock) if self.searched.is_none() => {
                let ranges = self.ranges.make_contiguous();
                self.searched = Some(lock.lock_ranges(&self.env, &self.table, ranges)?);
            }
            _ => {}
        }
        let bytes_max = self.batch_rows_max * BATCH_BYTES_PER_ROW;
        let mut bytes = 0;
        while rows.len() < limit && bytes < bytes_max {
            let known = rows.len();
            let fitting = (bytes_max - bytes) / self.row_bytes + 1;
            let missing = (limit - known).min(CHUNK_ROWS).min(fitting);
            let Some(cursor) = self.cursor()? else { break };
            if !cursor.next_batch(missing, &mut rows)? {
                self.cursor = None;
            }
            if let Some(seen) = &mut self.seen {
                let mut kept = known;
                for at in known..rows.len() {
                    if seen.is_first(rows[at].key_bytes())? {
                        rows.swap(kept, at);
                        kept += 1;
                    }
                }
                rows.truncate(kept);
            }
            bytes += rows[known..].iter().map(Row::size_bytes).sum::<usize>();
            if !rows.is_empty() {
                self.row_bytes = (bytes / rows.len()).max(1);
            }
        }
        if let Some(lock) = self.lock {
            lock.lock_rows(&self.env, &self.table, &mut rows)?;
        }
        let batch = (!rows.is_empty()).then(|| self.decode(&rows)).transpose()?;
        // The client that takes the batch may be slow: only the buffer for rows is kept.
        rows.clear();
        self.rows = rows;
        match batch {
            // Every row of this round was skipped because it is locked; others follow.
            None if self.lock.is_some() && self.cursor()?.is_some() && limit > 0 => self.rows_batch(limit),
            batch => Ok(batch),
        }
    }

    /// Locks the rows of the next keys, or the keys themselves if there is no row.
    fn lock_points(&mut self, lock: TableLock, limit: usize, rows: &mut Vec<Row>) -> SqlResult<()> {
        while rows.len() < limit
            && let Some(range) = self.ranges.pop_front()
        {
            let Some(row) = lock.lock_point(&self.env, &self.table, &range)? else { continue };
            let is_first = match &mut self.seen {
                Some(seen) => seen.is_first(row.key_bytes())?,
                None => true,
            };
            rows.extend(is_first.then_some(row));
        }
        Ok(())
    }

    /// Locks the next rows, as few as there have to be.
    fn lock_next(&mut self, lock: TableLock, limit: usize, rows: &mut Vec<Row>) -> SqlResult<()> {
        while rows.is_empty() && limit > 0 {
            self.env.context.kill.check()?;
            let search = match &mut self.search {
                Some(search) => search,
                None => match self.ranges.pop_front() {
                    Some(range) => self.search.insert(PiecewiseSearch::new(range, self.direction)),
                    None => return Ok(()),
                },
            };
            let count = if self.has_fetch { limit } else { limit.min(search.next_count()) };
            match lock.lock_next_rows(&self.env, &self.table, search, count)? {
                Some(mut found) => rows.append(&mut found),
                None => self.search = None,
            }
        }
        Ok(())
    }

    fn decode(&self, rows: &[Row]) -> SqlResult<RecordBatch> {
        let arrays = decode_columns(&self.table, rows, &self.projection, &self.env)?;
        make_batch(self.schema.clone(), arrays, rows.len())
    }

    /// Reads no entries but those with keys of a join, where these are few.
    fn narrow_to_join_keys(&mut self) -> SqlResult<()> {
        let Some((index, keys)) = self.join_keys.take() else { return Ok(()) };
        let index = &self.table.def().indexes[index];
        let Some(entries) = ranges_of_join_keys(&self.env, &self.table, index, &keys)? else { return Ok(()) };
        let ranges = std::mem::take(&mut self.ranges);
        let common = ranges.iter().flat_map(|range| entries.iter().map(|entries| entries.intersection(range)));
        self.ranges = common.filter(|range| !range.is_empty()).collect();
        Ok(())
    }

    fn entries_batch(&mut self, parts: &[usize], limit: usize) -> SqlResult<Option<RecordBatch>> {
        self.narrow_to_join_keys()?;
        let mut decoders = decoders(&self.table, &self.projection, &self.env, limit);
        let mut count = 0;
        while count < limit {
            let Some(cursor) = self.cursor()? else { break };
            let Some(entry) = cursor.next_entry()? else {
                self.cursor = None;
                continue;
            };
            if let Some(seen) = &mut self.seen
                && !seen.is_first(&entry.row_key(&self.table)?)?
            {
                continue;
            }
            count += 1;
            self.append_entry(&entry, parts, &mut decoders)?;
        }
        if count == 0 {
            return Ok(None);
        }
        let arrays = decoders.iter_mut().map(ColumnDecoder::finish).collect();
        make_batch(self.schema.clone(), arrays, count).map(Some)
    }

    fn append_entry(&self, entry: &IndexEntry, parts: &[usize], decoders: &mut [ColumnDecoder]) -> SqlResult<()> {
        if parts.is_empty() {
            return Ok(());
        }
        let values = match self.has_terms {
            true => self.table.decode_key(squall_catalog::IndexId(0), &entry.row_key(&self.table)?)?,
            false => self.table.decode_key(self.index_id, entry.key())?,
        };
        for (decoder, part) in decoders.iter_mut().zip(parts) {
            match values.get(*part) {
                Some(Some(value)) => decoder.append(ValueRef::from(value))?,
                _ => return Err(squall_types::SqlError::internal("an index entry without a column it covers")),
            }
        }
        Ok(())
    }
}

fn decoders(table: &Table, projection: &[usize], env: &StatementEnv, capacity: usize) -> Vec<ColumnDecoder> {
    let columns = &table.def().columns;
    projection
        .iter()
        .map(|ordinal| match columns.get(*ordinal) {
            Some(column) => ColumnDecoder::new(&column.sql_type, &env.context.settings.time_zone, capacity),
            None => ColumnDecoder::bytes(capacity),
        })
        .collect()
}

/// Decodes the wanted columns of rows; an ordinal beyond the last column is the row's key.
pub fn decode_columns(
    table: &Table,
    rows: &[Row],
    projection: &[usize],
    env: &StatementEnv,
) -> SqlResult<Vec<arrow::array::ArrayRef>> {
    let mut decoders = decoders(table, projection, env, rows.len());
    let column_count = table.def().columns.len();
    for (decoder, ordinal) in decoders.iter_mut().zip(projection) {
        if *ordinal >= column_count {
            rows.iter().try_for_each(|row| decoder.append(ValueRef::Bytes(row.key_bytes())))?;
            continue;
        }
        append_column(table, rows, *ordinal, decoder)?;
    }
    Ok(decoders.iter_mut().map(ColumnDecoder::finish).collect())
}

/// A batch that knows its number of rows even without columns.
pub fn make_batch(schema: SchemaRef, arrays: Vec<arrow::array::ArrayRef>, rows: usize) -> SqlResult<RecordBatch> {
    RecordBatch::try_new_with_options(schema, arrays, &RecordBatchOptions::new().with_row_count(Some(rows)))
        .map_err(squall_types::SqlError::internal)
}
