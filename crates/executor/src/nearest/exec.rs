//! The physical operator that reads rows near a vector by a vector index.

use crate::access::scan::{RowScanExec, decode_columns, make_batch};
use crate::env::StatementEnv;
use crate::operator::{Operator, estimated, execution_plan};
use arrow::array::{AsArray, BooleanArray};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::common::{DataFusionError, Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExprRef};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, RecordOutput};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, Partitioning, PlanProperties};
use futures::{StreamExt, TryStreamExt};
use rustc_hash::FxHashSet;
use squall_accounting::GrowingCharge;
use squall_catalog::IndexDef;
use squall_functions::expr::{datafusion_error, sql_error_from};
use squall_row_store::Row;
use squall_statement_context::TableOperation;
use squall_types::{SqlError, SqlResult};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// The least width of the first search: the number of vectors that it compares. A wider search finds a larger share of the nearest
/// rows.
const WIDTH_MIN: usize = 128;
/// The factor by which the next search is wider, if too few rows meet the condition.
const WIDTH_FACTOR: usize = 4;
/// The greatest width. If a wider search is needed, all rows are read.
const WIDTH_MAX: usize = 8192;
/// A row of a search costs as much as this many of a scan.
const ROWS_PER_FOUND: usize = 4;

/// The search.
#[derive(Clone, Debug)]
pub struct Search {
    /// The vector index's position among the table's.
    pub index: usize,
    /// The vector, an expression without columns.
    pub vector: PhysicalExprRef,
    /// How many rows are wanted.
    pub wanted: usize,
    /// The condition on rows.
    pub predicate: Option<PhysicalExprRef>,
}

/// Reads rows whose vectors are nearest to one: at least as many as are wanted that meet the condition, or all that do.
#[derive(Debug)]
pub struct NearestRowsExec {
    /// The scan of all rows.
    pub scan: Arc<RowScanExec>,
    /// What is searched for.
    pub search: Search,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl NearestRowsExec {
    /// In the place of a scan of all rows.
    pub fn new(scan: Arc<RowScanExec>, search: Search) -> NearestRowsExec {
        let properties = Arc::new(PlanProperties::new(
            EquivalenceProperties::new(scan.schema()),
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        ));
        NearestRowsExec { scan, search, properties, metrics: ExecutionPlanMetricsSet::new() }
    }

    /// The index.
    pub fn index(&self) -> &IndexDef {
        &self.scan.source.def.indexes[self.search.index]
    }
}

impl Operator for NearestRowsExec {
    fn label(&self) -> &str {
        "NearestRowsExec"
    }

    fn output(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (table, index) = (&self.scan.source.def.name, &self.index().name);
        write!(f, ": table={table}, index={index}, wanted={}", self.search.wanted)
    }

    fn stream(&self, _partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let env = StatementEnv::of(context.session_config())?;
        let (scan, search) = (Arc::clone(&self.scan), self.search.clone());
        let metrics = BaselineMetrics::new(&self.metrics, 0);
        let schema = self.schema();
        let rows = async move {
            let found = {
                let _timer = metrics.elapsed_compute().timer();
                Searching::new(&env, &scan, &search).and_then(Searching::rows).map_err(datafusion_error)?
            };
            let stream: SendableRecordBatchStream = match found {
                Some(Found { batches, charge }) => {
                    let batches = futures::stream::iter(batches.into_iter().map(Ok)).inspect(move |_| {
                        // For as long as rows come.
                        let _ = &charge;
                    });
                    Box::pin(RecordBatchStreamAdapter::new(scan.schema(), batches))
                }
                None => CoalescePartitionsExec::new(scan).execute(0, context)?,
            };
            Ok::<_, DataFusionError>(stream.map(move |batch| batch.record_output(&metrics)))
        };
        let stream = futures::stream::once(rows).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, stream)))
    }

    fn counters(&self) -> Option<&ExecutionPlanMetricsSet> {
        Some(&self.metrics)
    }

    fn estimate(&self, _: &[Arc<Statistics>], _: Option<usize>) -> Result<Arc<Statistics>> {
        Ok(estimated(&self.schema(), self.search.wanted as f64, None))
    }
}

execution_plan!(NearestRowsExec);

/// The result of a search.
struct Found {
    batches: Vec<RecordBatch>,
    charge: GrowingCharge,
}

/// A search that is under way.
struct Searching<'s> {
    env: &'s StatementEnv,
    scan: &'s RowScanExec,
    search: &'s Search,
    schema: SchemaRef,
    table: Arc<squall_row_store::Table>,
    vector: Vec<u8>,
    /// Keys of rows that have been looked at.
    seen: FxHashSet<Box<[u8]>>,
    found: Found,
}

impl<'s> Searching<'s> {
    fn new(env: &'s StatementEnv, scan: &'s RowScanExec, search: &'s Search) -> SqlResult<Searching<'s>> {
        Ok(Searching {
            env,
            scan,
            search,
            schema: scan.schema(),
            table: scan.source.open(&*env.store)?,
            vector: vector_of(&search.vector)?.unwrap_or_default(),
            seen: FxHashSet::default(),
            found: Found { batches: Vec::new(), charge: GrowingCharge::new(&env.context.memory) },
        })
    }

    /// The rows; `None` if all have to be read.
    fn rows(mut self) -> SqlResult<Option<Found>> {
        let started = Instant::now();
        let index = self.scan.source.def.indexes[self.search.index].id;
        let rows = self.env.store.table_stats(&self.table).row_count as usize;
        let mut width = WIDTH_MIN.max(self.search.wanted.saturating_mul(2));
        let mut found = 0;
        loop {
            self.env.context.kill.check()?;
            // A scan of a small table costs no more, but a reader of EXPLAIN expects the index.
            if width > WIDTH_MAX || width > WIDTH_MIN && width * ROWS_PER_FOUND > rows {
                return Ok(None);
            }
            let view = self.env.view()?;
            let nearest = self.env.store.nearest(view, &self.table, index, &self.vector, width)?;
            let Some(nearest) = nearest else { return Ok(None) };
            self.read(nearest.changed.iter().map(|key| &**key))?;
            found += self.read(nearest.found.iter().map(|key| &**key))?;
            if nearest.is_all || found >= self.search.wanted {
                break;
            }
            width *= WIDTH_FACTOR;
        }
        let (context, count) = (&self.env.context, self.seen.len());
        let counted = count.max(1) as u64;
        let table = self.table.def().id;
        context.table_uses.note(table, Some(index), TableOperation::Fetch, counted, Some(started.elapsed()));
        context.examined(count);
        Ok(Some(self.found))
    }

    /// Reads those rows that have not been looked at; how many of them meet the condition.
    fn read<'k>(&mut self, keys: impl Iterator<Item = &'k [u8]>) -> SqlResult<usize> {
        let view = self.env.view()?;
        let mut rows: Vec<Row> = Vec::new();
        let mut bytes = 0;
        for key in keys {
            if self.seen.contains(key) {
                continue;
            }
            bytes += key.len();
            self.seen.insert(key.into());
            rows.extend(view.get(&self.table, key)?);
        }
        bytes += rows.iter().map(Row::size_bytes).sum::<usize>();
        self.found.charge.grow(bytes)?;
        if rows.is_empty() {
            return Ok(0);
        }
        let arrays = decode_columns(&self.table, &rows, &self.scan.projection, self.env)?;
        let batch = make_batch(self.schema.clone(), arrays, rows.len())?;
        let batch = match &self.search.predicate {
            Some(predicate) => {
                // The filter above looks at it again, and warns.
                let diagnostics = &self.env.context.diagnostics;
                let warnings = diagnostics.count();
                let met = predicate.evaluate(&batch).and_then(|met| met.into_array(batch.num_rows()));
                diagnostics.truncate(warnings);
                let met = met.map_err(sql_error_from)?;
                filter_record_batch(&batch, met_rows(&met)?).map_err(SqlError::internal)?
            }
            None => batch,
        };
        let count = batch.num_rows();
        self.found.batches.push(batch);
        Ok(count)
    }
}

fn met_rows(met: &arrow::array::ArrayRef) -> SqlResult<&BooleanArray> {
    met.as_boolean_opt().ok_or_else(|| SqlError::internal("a condition that is none"))
}

/// The value of an expression without columns; `None` for NULL.
fn vector_of(expr: &PhysicalExprRef) -> SqlResult<Option<Vec<u8>>> {
    let row = make_batch(Arc::new(Schema::empty()), Vec::new(), 1)?;
    let value = expr.evaluate(&row).and_then(|value| value.into_array(1)).map_err(sql_error_from)?;
    if value.data_type().is_null() {
        return Ok(None);
    }
    let values = value.as_binary_view_opt().ok_or_else(|| SqlError::internal("a vector of another type"))?;
    Ok(values.iter().next().flatten().map(<[u8]>::to_vec))
}
