//! The physical operator that reads the values under one name from an index of documents.

use super::source::ValuesTable;
use crate::access::key::{storage_index_id, storage_range};
use crate::access::range::EncodedRange;
use crate::access::scan::{BATCH_ROWS, make_batch, stream_of};
use crate::env::StatementEnv;
use crate::operator::{Operator, estimated, execution_plan};
use arrow::array::{Array, ArrayBuilder, ArrayRef, AsArray, Float64Array, StringViewArray, StringViewBuilder};
use arrow::datatypes::{Float64Type, SchemaRef};
use arrow::record_batch::RecordBatch;
use datafusion::catalog::TableProvider;
use datafusion::common::{Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet};
use datafusion::physical_plan::{ExecutionPlan, Partitioning, PlanProperties};
use squall_catalog::{IndexDef, IndexId};
use squall_functions::arrow_map::finish_views;
use squall_functions::expr::{datafusion_error, sql_error_from};
use squall_row_store::{Cursor, Direction, IndexEntry, Table, ValueRange};
use squall_statement_context::TableOperation;
use squall_types::json::quote;
use squall_types::json::terms::value::{Found, Wanted, push_number};
use squall_types::{SqlError, SqlResult};
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

/// Values of one document where many are put together.
const VALUES_PER_DOCUMENT: usize = 512;

/// Bytes of a document beyond which no value is added to it.
const DOCUMENT_BYTES: usize = 16 << 10;

/// Bytes of documents that end a batch early.
const BATCH_BYTES: usize = 1 << 20;

/// Reads the values under one name from an index.
#[derive(Debug)]
pub struct DocumentValuesExec {
    /// The entries to read.
    pub source: ValuesTable,
    /// The conversion of a document to a number, if numbers are the output.
    number: Option<Arc<dyn PhysicalExpr>>,
    /// The range that each partition reads.
    ranges: Vec<EncodedRange>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl DocumentValuesExec {
    /// A scan in up to `partitions` parts.
    pub fn new(source: ValuesTable, number: Option<Arc<dyn PhysicalExpr>>, partitions: usize) -> DocumentValuesExec {
        let range = source.reader.range();
        let mut ranges = Vec::with_capacity(partitions);
        let mut low = range.low;
        for cut in source.sample.cuts(partitions) {
            let cut = source.reader.from_number(cut);
            if cut > low {
                ranges.push(EncodedRange { low: std::mem::replace(&mut low, cut.clone()), high: Some(cut) });
            }
        }
        ranges.push(EncodedRange { low, high: range.high });
        let schema = match number {
            Some(_) => source.schema(),
            None => source.table.projected_schema(&[source.document]),
        };
        let properties = Arc::new(PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(ranges.len()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        ));
        DocumentValuesExec { source, number, ranges, properties, metrics: ExecutionPlanMetricsSet::new() }
    }

    /// The index.
    pub fn index(&self) -> &IndexDef {
        &self.source.table.def.indexes[self.source.index]
    }

    fn open(&self, partition: usize, env: &Arc<StatementEnv>) -> SqlResult<ValuesReader> {
        let table = self.source.table.open(&*env.store)?;
        let range = self.ranges.get(partition).ok_or_else(|| SqlError::internal("a partition that is none"))?;
        let range = storage_range(&table, storage_index_id(self.index()), range)?;
        let cursor = env.view()?.scan(&table, &range, Direction::Forward);
        Ok(ValuesReader {
            env: env.clone(),
            cursor: Some(cursor),
            table,
            source: self.source.clone(),
            number: self.number.clone(),
            schema: self.schema(),
            numbers: Vec::new(),
            documents: Documents::new(self.source.reader.wanted()),
            has_read: false,
            // A table with documents that have no value is not one without documents.
            lacks_document: partition == 0 && matches!(self.source.reader.wanted(), Wanted::Name(_)),
        })
    }
}

impl Operator for DocumentValuesExec {
    fn label(&self) -> &str {
        "DocumentValuesExec"
    }

    fn output(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ": table={}, index={}", self.source.table.def.name, self.index().name)
    }

    fn stream(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let env = StatementEnv::of(context.session_config())?;
        let reader = self.open(partition, &env).map_err(datafusion_error)?;
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        Ok(stream_of(reader, self.schema(), metrics, ValuesReader::next_batch))
    }

    fn counters(&self) -> Option<&ExecutionPlanMetricsSet> {
        Some(&self.metrics)
    }

    fn estimate(&self, _: &[Arc<Statistics>], partition: Option<usize>) -> Result<Arc<Statistics>> {
        let mut rows = self.source.sample.entries();
        if partition.is_some() {
            rows /= self.ranges.len().max(1) as f64;
        }
        Ok(estimated(&self.schema(), rows, None))
    }
}

execution_plan!(DocumentValuesExec);

/// Reads the entries of one partition.
struct ValuesReader {
    env: Arc<StatementEnv>,
    table: Arc<Table>,
    source: ValuesTable,
    number: Option<Arc<dyn PhysicalExpr>>,
    schema: SchemaRef,
    /// `None` at the end.
    cursor: Option<Cursor>,
    numbers: Vec<f64>,
    documents: Documents,
    has_read: bool,
    /// Whether a document without values is to be given if there is any at all.
    lacks_document: bool,
}

impl ValuesReader {
    fn next_batch(&mut self) -> SqlResult<Option<RecordBatch>> {
        self.env.context.kill.check()?;
        let started = Instant::now();
        let mut entries = 0;
        while self.numbers.len() + self.documents.len() < BATCH_ROWS && self.documents.bytes < BATCH_BYTES {
            let Some(entry) = self.cursor.as_mut().map(Cursor::next_entry).transpose()?.flatten() else {
                self.cursor = None;
                break;
            };
            entries += 1;
            // Entries of which nothing is wanted make no rows.
            if entries % BATCH_ROWS == 0 {
                self.env.context.kill.check()?;
            }
            self.take(&entry)?;
        }
        if self.cursor.is_none()
            && std::mem::take(&mut self.lacks_document)
            && self.documents.is_empty()
            && self.has_document()?
        {
            self.documents.push_empty();
        }
        // A read that finds nothing is one, too.
        if entries > 0 || !std::mem::replace(&mut self.has_read, true) {
            let index = storage_index_id(&self.source.table.def.indexes[self.source.index]);
            let (table, context) = (self.table.def().id, &self.env.context);
            let counted = entries.max(1) as u64;
            context.table_uses.note(table, Some(index), TableOperation::Fetch, counted, Some(started.elapsed()));
            context.examined(entries);
        }
        let array: ArrayRef = match self.number.clone() {
            None => Arc::new(self.documents.take()),
            Some(number) => {
                let mut numbers = std::mem::take(&mut self.numbers);
                if !self.documents.is_empty() {
                    self.convert(number.as_ref(), &mut numbers)?;
                }
                Arc::new(Float64Array::from(numbers))
            }
        };
        if array.is_empty() {
            return Ok(None);
        }
        let rows = array.len();
        make_batch(self.schema.clone(), vec![array], rows).map(Some)
    }
}

impl ValuesReader {
    /// Takes in what an entry says.
    fn take(&mut self, entry: &IndexEntry) -> SqlResult<()> {
        let term = entry.term()?;
        match self.source.reader.read(term) {
            Found::Nothing => {}
            // There is one value at a path.
            Found::Number { value, .. } if self.number.is_some() => self.numbers.push(value),
            // Sums are of numbers, however they are written.
            Found::Number { value, floating, times, as_printed } if as_printed || self.documents.is_list => {
                self.documents.push(times, |text| push_number(value, floating, text));
            }
            Found::Null { times } => self.documents.push(times, |text| text.push_str("null")),
            Found::Bool { truth, times } => {
                self.documents.push(times, |text| text.push_str(if truth { "true" } else { "false" }));
            }
            Found::Look | Found::Number { .. } => {
                let row = self.env.view()?.get(&self.table, &entry.row_key(&self.table)?)?;
                let Some(row) = row else { return Ok(()) };
                let row = row.view(&self.table);
                let Some(document) = row.get_str(self.source.document)? else { return Ok(()) };
                let documents = &mut self.documents;
                let looked = self.source.reader.look(document, term, |value| {
                    documents.push(1, |text| text.push_str(value));
                });
                looked.map_err(|_| SqlError::internal("a stored document that is none"))?;
            }
        }
        Ok(())
    }

    /// Has the query's own expression make numbers of the documents.
    fn convert(&mut self, number: &dyn PhysicalExpr, numbers: &mut Vec<f64>) -> SqlResult<()> {
        let documents = self.documents.take();
        let rows = documents.len();
        let schema = self.source.table.projected_schema(&[self.source.document]);
        let batch = make_batch(schema, vec![Arc::new(documents)], rows)?;
        let found = number.evaluate(&batch).and_then(|found| found.into_array(rows)).map_err(sql_error_from)?;
        let found =
            found.as_primitive_opt::<Float64Type>().ok_or_else(|| SqlError::internal("a number of another type"))?;
        numbers.extend(found.iter().flatten());
        Ok(())
    }

    /// Whether the table has any document.
    fn has_document(&self) -> SqlResult<bool> {
        let range = self.table.range(IndexId(0), ValueRange::ALL)?;
        let mut rows = self.env.view()?.scan(&self.table, &range, Direction::Forward);
        while let Some(row) = rows.next_row()? {
            if !row.view(&self.table).is_null(self.source.document) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Documents with nothing but the values that are asked for, where they are asked for.
struct Documents {
    /// The text before a value, and how many objects end behind it.
    before: String,
    ends: usize,
    /// Whether a document takes many values.
    is_list: bool,
    /// The document that takes further values, and how many it has.
    open: String,
    values: usize,
    done: StringViewBuilder,
    /// Of all of them.
    bytes: usize,
}

impl Documents {
    fn new(wanted: &Wanted) -> Documents {
        let (before, ends, is_list) = match wanted {
            Wanted::Name(name) => (format!("{{{}: [", quote(name)), 1, true),
            Wanted::Path(path) => {
                let names = path.names();
                (names.iter().map(|name| format!("{{{}: ", quote(name))).collect(), names.len(), false)
            }
        };
        let (open, done) = (String::new(), StringViewBuilder::new());
        Documents { before, ends, is_list, open, values: 0, done, bytes: 0 }
    }

    fn len(&self) -> usize {
        self.done.len() + usize::from(self.values > 0)
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Adds a value that occurs more than once.
    fn push(&mut self, times: u8, write: impl Fn(&mut String)) {
        for _ in 0..times {
            self.open.push_str(if self.values > 0 { ", " } else { &self.before });
            write(&mut self.open);
            self.values += 1;
            if !self.is_list || self.values == VALUES_PER_DOCUMENT || self.open.len() > DOCUMENT_BYTES {
                self.end();
            }
        }
    }

    /// Adds a document without values.
    fn push_empty(&mut self) {
        self.done.append_value("{}");
    }

    fn end(&mut self) {
        if self.values == 0 {
            return;
        }
        if self.is_list {
            self.open.push(']');
        }
        self.open.extend(std::iter::repeat_n('}', self.ends));
        self.done.append_value(&self.open);
        self.bytes += self.open.len();
        self.open.clear();
        self.values = 0;
    }

    /// All documents; there are none afterwards.
    fn take(&mut self) -> StringViewArray {
        self.end();
        self.bytes = 0;
        finish_views(&mut self.done)
    }
}
