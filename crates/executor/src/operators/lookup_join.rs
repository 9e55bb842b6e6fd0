//! The index nested-loop join: for each row of one side, its partners are looked up in an index of a row table.

use crate::access::TableLock;
use crate::access::filter::scalar_value;
use crate::access::key::{index_prefix, storage_index_id};
use crate::access::predicate::{CompareOp, Predicate};
use crate::access::range::after_prefix;
use crate::access::scan::{BATCH_ROWS, RowScanExec, decode_columns, make_batch};
use crate::env::StatementEnv;
use crate::operator::{Operator, execution_plan, only_input};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, UInt32Array};
use arrow::compute::{and, take};
use arrow::datatypes::{Int64Type, SchemaRef, UInt64Type};
use arrow::record_batch::RecordBatch;
use datafusion::common::cast::as_boolean_array;
use datafusion::common::stats::Precision;
use datafusion::common::{JoinSide, Result, ScalarValue, Statistics, internal_datafusion_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, Partitioning, PlanProperties};
use futures::StreamExt;
use squall_functions::expr::datafusion_error;
use squall_row_store::{Direction, KeyRange, Row, Table};
use squall_statement_context::TableOperation;
use squall_types::{SqlResult, SqlType, Value};
use std::collections::HashMap;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

/// Which rows come out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Pairs of partners: an inner join.
    Pairs,
    /// Pairs, and rows without partners beside NULLs: an outer join.
    PairsAndUnmatched,
    /// Rows that have partners: a semi-join.
    Matched,
    /// Rows that have none: an anti-join.
    Unmatched,
}

/// How the other side's expression gives a key part's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// As itself.
    Value,
    /// As the sort key of a text.
    SortKey,
}

/// One part of the key that is looked up.
#[derive(Clone, Debug)]
pub struct LookupKey {
    /// Its value, over the outer side.
    pub outer: Arc<dyn PhysicalExpr>,
    /// How the value stands there.
    pub source: KeySource,
    /// Which equality of the join it is.
    pub pair: usize,
    /// The table's column.
    pub column: usize,
}

/// The table that is looked into.
#[derive(Clone, Debug)]
pub struct InnerTable {
    /// The scan that the look-ups replace: its table and columns.
    pub scan: RowScanExec,
    /// Position of the index.
    pub index: usize,
    /// The parts of the key, in order.
    pub keys: Vec<LookupKey>,
    /// The condition on the table's rows, over the scan's columns.
    pub filter: Option<Arc<dyn PhysicalExpr>>,
    /// The output expressions over the scan's columns; `None` for the columns themselves.
    pub output: Option<Vec<Arc<dyn PhysicalExpr>>>,
}

impl InnerTable {
    /// Rows that one look-up gives, nearly.
    fn rows_per_key(&self) -> f64 {
        let source = &self.scan.source;
        let found = source.def.indexes.get(self.index).map(|index| source.rows_per_key(index, self.keys.len()));
        found.unwrap_or(1.0) * self.scan.share_left()
    }
}

/// The operator.
#[derive(Debug)]
pub struct IndexLookupJoinExec {
    outer: Arc<dyn ExecutionPlan>,
    inner: InnerTable,
    kept: Kept,
    /// Which side of the join the table is.
    inner_side: JoinSide,
    /// Further equalities: an expression over the outer side and one over the scan's columns.
    rest: Vec<(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)>,
    condition: Option<JoinFilter>,
    join_schema: SchemaRef,
    projection: Option<Vec<usize>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl IndexLookupJoinExec {
    /// Builds the operator; `join_schema` is that of the join before `projection`.
    #[allow(clippy::too_many_arguments, reason = "the parts of a join, each of its own type")]
    pub fn try_new(
        outer: Arc<dyn ExecutionPlan>,
        inner: InnerTable,
        kept: Kept,
        inner_side: JoinSide,
        rest: Vec<(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)>,
        condition: Option<JoinFilter>,
        join_schema: SchemaRef,
        projection: Option<Vec<usize>>,
    ) -> Result<Self> {
        let schema = match &projection {
            Some(projection) => Arc::new(join_schema.project(projection)?),
            None => join_schema.clone(),
        };
        let partitions = outer.output_partitioning().partition_count();
        let properties = Arc::new(PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        ));
        Ok(IndexLookupJoinExec {
            outer,
            inner,
            kept,
            inner_side,
            rest,
            condition,
            join_schema,
            projection,
            properties,
            metrics: ExecutionPlanMetricsSet::new(),
        })
    }

    /// The table that is looked into.
    pub fn inner(&self) -> &InnerTable {
        &self.inner
    }

    /// The other side.
    pub fn outer(&self) -> &Arc<dyn ExecutionPlan> {
        &self.outer
    }

    /// Which rows come out.
    pub fn kept(&self) -> Kept {
        self.kept
    }
}

impl Operator for IndexLookupJoinExec {
    fn label(&self) -> &str {
        "IndexLookupJoinExec"
    }

    fn asks_inputs(&self) -> bool {
        true
    }

    fn output(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let def = &self.inner.scan.source.def;
        let index = def.indexes.get(self.inner.index).map_or("", |index| &index.name);
        write!(f, ": table={}, index={index}, kept={:?}", def.name, self.kept)
    }

    fn inputs(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.outer]
    }

    fn expressions(&self) -> impl Iterator<Item = &Arc<dyn PhysicalExpr>> {
        let keys = self.inner.keys.iter().map(|key| &key.outer);
        let rest = self.rest.iter().flat_map(|(outer, inner)| [outer, inner]);
        keys.chain(rest).chain(&self.inner.filter)
    }

    fn over(self: Arc<Self>, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<Self>> {
        Ok(Arc::new(IndexLookupJoinExec::try_new(
            only_input(inputs)?,
            self.inner.clone(),
            self.kept,
            self.inner_side,
            self.rest.clone(),
            self.condition.clone(),
            self.join_schema.clone(),
            self.projection.clone(),
        )?))
    }

    fn stream(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let env = StatementEnv::of(context.session_config())?;
        let input = self.outer.execute(partition, context)?;
        let scan = &self.inner.scan;
        let table = scan.source.open(&*env.store).map_err(datafusion_error)?;
        let joiner = Joiner {
            inner: self.inner.clone(),
            kept: self.kept,
            inner_side: self.inner_side,
            rest: self.rest.clone(),
            condition: self.condition.clone(),
            join_schema: self.join_schema.clone(),
            projection: self.projection.clone(),
            schema: self.schema(),
            env,
            table,
            current: None,
        };
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let stream = futures::stream::unfold((joiner, input, metrics), |(mut joiner, mut input, metrics)| async move {
            loop {
                let timer = metrics.elapsed_compute().timer();
                let joined = joiner.next_batch();
                timer.done();
                match joined {
                    Ok(Some(batch)) if batch.num_rows() == 0 => {}
                    Ok(Some(batch)) => {
                        metrics.record_output(batch.num_rows());
                        return Some((Ok(batch), (joiner, input, metrics)));
                    }
                    Ok(None) => match input.next().await? {
                        Ok(batch) => {
                            if let Err(error) = joiner.begin(batch) {
                                return Some((Err(error), (joiner, input, metrics)));
                            }
                        }
                        Err(error) => return Some((Err(error), (joiner, input, metrics))),
                    },
                    Err(error) => return Some((Err(error), (joiner, input, metrics))),
                }
            }
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream)))
    }

    fn counters(&self) -> Option<&ExecutionPlanMetricsSet> {
        Some(&self.metrics)
    }

    fn estimate(&self, inputs: &[Arc<Statistics>], _: Option<usize>) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema());
        if let Some(outer) = inputs.first() {
            let found = self.inner.rows_per_key();
            let of_each = match self.kept {
                Kept::Pairs => found,
                Kept::PairsAndUnmatched => found.max(1.0),
                Kept::Matched | Kept::Unmatched => found.min(1.0),
            };
            let rows = |rows: &usize| Precision::Inexact((*rows as f64 * of_each).ceil() as usize);
            statistics.num_rows = outer.num_rows.get_value().map_or(Precision::Absent, rows);
        }
        Ok(Arc::new(statistics))
    }
}

execution_plan!(IndexLookupJoinExec);

/// A batch of the outer side, on its way.
struct Current {
    batch: RecordBatch,
    /// The key of each row; `None` if it cannot have partners.
    keys: Vec<Option<Vec<u8>>>,
    /// The next row.
    next: usize,
}

/// Joins batch after batch.
struct Joiner {
    inner: InnerTable,
    kept: Kept,
    inner_side: JoinSide,
    rest: Vec<(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)>,
    condition: Option<JoinFilter>,
    join_schema: SchemaRef,
    projection: Option<Vec<usize>>,
    schema: SchemaRef,
    env: Arc<StatementEnv>,
    table: Arc<Table>,
    current: Option<Current>,
}

impl Joiner {
    fn begin(&mut self, batch: RecordBatch) -> Result<()> {
        let keys = self.keys(&batch)?;
        self.current = Some(Current { batch, keys, next: 0 });
        Ok(())
    }

    /// The storage key prefix that each row's partners begin with.
    fn keys(&self, batch: &RecordBatch) -> Result<Vec<Option<Vec<u8>>>> {
        let index = &self.table.def().indexes[self.inner.index];
        let index_id = storage_index_id(index);
        let prefix = index_prefix(&self.table, index_id).map_err(datafusion_error)?;
        let mut keys: Vec<Option<Vec<u8>>> = vec![Some(prefix); batch.num_rows()];
        for (part, key) in self.inner.keys.iter().enumerate() {
            let array = key.outer.evaluate(batch)?.into_array(batch.num_rows())?;
            let sql_type = &self.table.def().columns[key.column].sql_type;
            for (row, bytes) in keys.iter_mut().enumerate() {
                let Some(prefix) = bytes else { continue };
                let value = part_value(&array, row, key, sql_type)?;
                let encoded = value.and_then(|value| self.table.encode_part(index_id, part, &value).ok());
                match encoded {
                    Some(encoded) => prefix.extend_from_slice(&encoded),
                    None => *bytes = None,
                }
            }
        }
        Ok(keys)
    }

    /// Joins some of the current batch's rows; `None` when it is done.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let Some(mut current) = self.current.take() else { return Ok(None) };
        if current.next >= current.batch.num_rows() {
            return Ok(None);
        }
        self.env.context.kill.check().map_err(datafusion_error)?;
        let first = current.next;
        let mut found: Vec<Row> = Vec::new();
        let mut outer_indices: Vec<u32> = Vec::new();
        let mut inner_indices: Vec<u32> = Vec::new();
        let mut by_key: HashMap<&[u8], std::ops::Range<u32>> = HashMap::new();
        while current.next < current.batch.num_rows() && inner_indices.len() < BATCH_ROWS {
            let row = current.next;
            current.next += 1;
            let Some(key) = &current.keys[row] else { continue };
            let range = match by_key.get(key.as_slice()) {
                Some(range) => range.clone(),
                None => {
                    let start = found.len() as u32;
                    self.look_up(key, &mut found).map_err(datafusion_error)?;
                    let range = start..found.len() as u32;
                    by_key.insert(key, range.clone());
                    range
                }
            };
            for inner in range {
                outer_indices.push(row as u32);
                inner_indices.push(inner);
            }
        }
        drop(by_key);
        let last = current.next;
        let inner = self.inner_batch(&found)?;
        let (outer_indices, inner_indices) = self.matching(&current.batch, &inner, outer_indices, inner_indices)?;
        let joined = self.output(&current.batch, &inner, first..last, &outer_indices, &inner_indices)?;
        self.current = Some(current);
        Ok(Some(joined))
    }

    /// Appends the rows whose keys begin with `key`.
    fn look_up(&self, key: &[u8], found: &mut Vec<Row>) -> SqlResult<()> {
        let end = after_prefix(key).map_or(Bound::Unbounded, Bound::Excluded);
        let range = KeyRange { start: Bound::Included(key.to_vec()), end };
        let index = &self.table.def().indexes[self.inner.index];
        let is_whole = self.inner.keys.len() == index.parts.len();
        if let Some(lock) = self.inner.scan.source.lock {
            return self.look_up_locked(lock, range, (index.unique || index.primary) && is_whole, found);
        }
        if index.primary && is_whole {
            found.extend(self.env.view()?.get(&self.table, key)?);
            return Ok(());
        }
        let mut cursor = self.env.view()?.scan(&self.table, &range, Direction::Forward);
        while cursor.next_batch(BATCH_ROWS, found)? {
            self.env.context.kill.check()?;
        }
        Ok(())
    }

    /// The same, where rows are locked and read as they are then: their keys may be others.
    fn look_up_locked(&self, lock: TableLock, range: KeyRange, is_point: bool, found: &mut Vec<Row>) -> SqlResult<()> {
        if is_point {
            found.extend(lock.lock_point(&self.env, &self.table, &range)?);
            return Ok(());
        }
        let searched = lock.lock_ranges(&self.env, &self.table, std::slice::from_ref(&range))?;
        let view = match &searched {
            Some(view) => view,
            None => self.env.view()?,
        };
        let mut cursor = view.scan(&self.table, &range, Direction::Forward);
        let mut rows = Vec::new();
        while cursor.next_batch(BATCH_ROWS, &mut rows)? {
            self.env.context.kill.check()?;
        }
        lock.lock_rows(&self.env, &self.table, &mut rows)?;
        found.append(&mut rows);
        Ok(())
    }

    /// The found rows' columns as the scan would give them.
    fn inner_batch(&self, found: &[Row]) -> Result<RecordBatch> {
        let scan = &self.inner.scan;
        self.env.context.examined(found.len());
        self.count_found(found.len() as u64);
        let arrays = decode_columns(&self.table, found, &scan.projection, &self.env).map_err(datafusion_error)?;
        make_batch(scan.schema(), arrays, found.len()).map_err(datafusion_error)
    }

    /// Counts the rows that were looked up for a batch; time is counted with the statement's.
    fn count_found(&self, rows: u64) {
        let def = self.table.def();
        let index = def.indexes.get(self.inner.index).map(|index| index.id);
        self.env.context.table_uses.note(def.id, index, TableOperation::Fetch, rows.max(1), None);
    }

    /// The pairs that satisfy everything that the index does not decide.
    fn matching(
        &self,
        outer: &RecordBatch,
        inner: &RecordBatch,
        outer_indices: Vec<u32>,
        inner_indices: Vec<u32>,
    ) -> Result<(Vec<u32>, Vec<u32>)> {
        let accepted = match &self.inner.filter {
            Some(filter) => Some(boolean(filter.evaluate(inner)?.into_array(inner.num_rows())?)?),
            None => None,
        };
        let (outer_indices, inner_indices): (Vec<u32>, Vec<u32>) = match accepted {
            None => (outer_indices, inner_indices),
            Some(accepted) => {
                outer_indices.into_iter().zip(inner_indices).filter(|(_, at)| is_true(&accepted, *at as usize)).unzip()
            }
        };
        if self.rest.is_empty() && self.condition.is_none() {
            return Ok((outer_indices, inner_indices));
        }
        let outer_at = UInt32Array::from(outer_indices.clone());
        let inner_at = UInt32Array::from(inner_indices.clone());
        let mut mask: Option<BooleanArray> = None;
        let mut add = |next: BooleanArray| -> Result<()> {
            mask = Some(match mask.take() {
                Some(mask) => and(&mask, &next)?,
                None => next,
            });
            Ok(())
        };
        for (left, right) in &self.rest {
            let left = take(&left.evaluate(outer)?.into_array(outer.num_rows())?, &outer_at, None)?;
            let right = take(&right.evaluate(inner)?.into_array(inner.num_rows())?, &inner_at, None)?;
            add(arrow::compute::kernels::cmp::eq(&left, &right)?)?;
        }
        if let Some(condition) = &self.condition {
            let columns = condition
                .column_indices()
                .iter()
                .map(|column| {
                    if column.side == self.inner_side {
                        Ok(take(&self.inner_column(inner, column.index)?, &inner_at, None)?)
                    } else {
                        Ok(take(outer.column(column.index), &outer_at, None)?)
                    }
                })
                .collect::<Result<Vec<_>>>()?;
            let batch = make_batch(condition.schema().clone(), columns, inner_at.len()).map_err(datafusion_error)?;
            add(boolean(condition.expression().evaluate(&batch)?.into_array(batch.num_rows())?)?)?;
        }
        let Some(mask) = mask else { return Ok((outer_indices, inner_indices)) };
        Ok(outer_indices
            .into_iter()
            .zip(inner_indices)
            .enumerate()
            .filter(|(at, _)| is_true(&mask, *at))
            .map(|(_, pair)| pair)
            .unzip())
    }

    /// A column of the inner side, for each of the found rows.
    fn inner_column(&self, inner: &RecordBatch, at: usize) -> Result<ArrayRef> {
        match &self.inner.output {
            Some(output) => output[at].evaluate(inner)?.into_array(inner.num_rows()),
            None => Ok(inner.column(at).clone()),
        }
    }

    /// The rows that come out for outer rows `rows`, whose pairs these are, in order of the outer rows.
    fn output(
        &self,
        outer: &RecordBatch,
        inner: &RecordBatch,
        rows: std::ops::Range<usize>,
        outer_indices: &[u32],
        inner_indices: &[u32],
    ) -> Result<RecordBatch> {
        let mut outer_at: Vec<u32> = Vec::with_capacity(outer_indices.len());
        let mut inner_at: Vec<Option<u32>> = Vec::with_capacity(outer_indices.len());
        let mut pair = 0;
        for row in rows {
            let row = row as u32;
            let from = pair;
            while outer_indices.get(pair) == Some(&row) {
                pair += 1;
            }
            let matched = pair > from;
            match self.kept {
                Kept::Pairs | Kept::PairsAndUnmatched if matched => {
                    for inner in &inner_indices[from..pair] {
                        outer_at.push(row);
                        inner_at.push(Some(*inner));
                    }
                }
                Kept::PairsAndUnmatched | Kept::Unmatched if !matched => {
                    outer_at.push(row);
                    inner_at.push(None);
                }
                Kept::Matched if matched => {
                    outer_at.push(row);
                    inner_at.push(None);
                }
                _ => {}
            }
        }
        let count = outer_at.len();
        let outer_at = UInt32Array::from(outer_at);
        let all = || (0..self.join_schema.fields().len()).collect();
        let wanted: Vec<usize> = self.projection.clone().unwrap_or_else(all);
        let inner_at = match self.kept {
            Kept::Matched | Kept::Unmatched => None,
            Kept::Pairs | Kept::PairsAndUnmatched => Some(UInt32Array::from(inner_at)),
        };
        // Where each side's columns begin.
        let (outer_first, inner_first) = match (self.inner_side, &inner_at) {
            (JoinSide::Left, Some(_)) => (self.join_schema.fields().len() - outer.num_columns(), 0),
            _ => (0, outer.num_columns()),
        };
        let column = |at: usize| match &inner_at {
            Some(inner_at) if !(outer_first..outer_first + outer.num_columns()).contains(&at) => {
                Ok(take(&self.inner_column(inner, at - inner_first)?, inner_at, None)?)
            }
            _ => Ok(take(outer.column(at - outer_first), &outer_at, None)?),
        };
        let columns = wanted.into_iter().map(column).collect::<Result<Vec<_>>>()?;
        make_batch(self.schema.clone(), columns, count).map_err(datafusion_error)
    }
}

/// The value of one key part for one outer row; `None` if no row of the table can have it.
fn part_value(array: &ArrayRef, row: usize, key: &LookupKey, sql_type: &SqlType) -> Result<Option<Value>> {
    if array.is_null(row) {
        return Ok(None);
    }
    if key.source == KeySource::SortKey {
        return Ok(array.as_binary_view_opt().map(|keys| Value::Bytes(keys.value(row).to_vec())));
    }
    let value = match sql_type {
        SqlType::Int { unsigned: false, .. } if let Some(numbers) = array.as_primitive_opt::<Int64Type>() => {
            return Ok(Some(Value::Int(numbers.value(row))));
        }
        SqlType::Int { unsigned: true, .. } | SqlType::Enum { .. } | SqlType::Set { .. }
            if let Some(numbers) = array.as_primitive_opt::<UInt64Type>() =>
        {
            return Ok(Some(Value::UInt(numbers.value(row))));
        }
        _ => scalar_value(&ScalarValue::try_from_array(array, row)?, sql_type),
    };
    let Some(value) = value else { return Ok(None) };
    match Predicate::compare(key.column, sql_type, CompareOp::Equal, &value) {
        Predicate::Compare { value, .. } => Ok(Some(value)),
        Predicate::Never => Ok(None),
        _ => Err(internal_datafusion_err!("a look-up by a value of another type")),
    }
}

fn boolean(array: ArrayRef) -> Result<BooleanArray> {
    Ok(as_boolean_array(&array)?.clone())
}

fn is_true(mask: &BooleanArray, at: usize) -> bool {
    mask.is_valid(at) && mask.value(at)
}
