//! Virtual tables, as queries read them.

use super::filter::{equal_texts, predicate_of, with_constants};
use super::predicate::{CompareOp, Predicate};
use super::scan::{make_batch, stream_of};
use crate::env::StatementEnv;
use crate::operator::{Operator, execution_plan};
use crate::runtime_filters::noted_bounds::NotedBounds;
use crate::runtime_filters::scalar_bound::ScalarBound;
use arrow::compute::SortOptions;
use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::record_batch::RecordBatch;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet};
use datafusion::physical_plan::{ExecutionPlan, Partitioning, PlanProperties};
use squall_accounting::GrowingCharge;
use squall_catalog::{ColumnDef, ColumnDefault, ColumnId, TableDef, TableId};
use squall_functions::arrow_map::{ValueArrayBuilder, field_for};
use squall_functions::expr::datafusion_error;
use squall_registry::{ColumnRange, ExprType, RowParts, VirtualColumn, VirtualScan, VirtualTable};
use squall_statement_context::StatementContext;
use squall_types::{CollationId, SqlResult, SqlType, Value};
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

/// Marks the Arrow field of a column that `*` leaves out.
const INVISIBLE: &str = "squall:invisible";
/// Rows of a scan's first batch: a query that wants few rows is not kept waiting for many.
const FIRST_BATCH_ROWS: usize = 64;

/// Whether `*` leaves a column out.
pub fn is_invisible(field: &Field) -> bool {
    field.metadata().contains_key(INVISIBLE)
}

/// Whether a table has rows without end.
pub fn is_endless(table: &dyn TableProvider) -> bool {
    let table = table.downcast_ref::<VirtualTableProvider>();
    table.is_some_and(|provider| provider.table.is_endless())
}

/// Gives a virtual table's rows: all of them when the query is planned, or part by part while it runs.
#[derive(Debug)]
pub struct VirtualTableProvider {
    table: Arc<dyn VirtualTable>,
    schema: SchemaRef,
}

impl VirtualTableProvider {
    /// A provider of a table's rows.
    pub fn new(table: Arc<dyn VirtualTable>) -> Self {
        let fields: Vec<_> = table
            .columns()
            .iter()
            .map(|column| {
                let sql_type = column.sql_type.clone();
                let field = field_for(&column.name, &ExprType::of_column(sql_type, column.nullable));
                if !column.invisible {
                    return field;
                }
                let mut metadata = field.metadata().clone();
                metadata.insert(INVISIBLE.to_string(), String::new());
                field.with_metadata(metadata)
            })
            .collect();
        VirtualTableProvider { table, schema: Arc::new(Schema::new(fields)) }
    }

    fn batch(&self, env: &StatementEnv, filters: &[Expr]) -> SqlResult<RecordBatch> {
        let equals = equal_texts(&self.schema, filters);
        let ranges = ranges(self.table.columns(), filters, &env.context);
        let scan = VirtualScan { equals: &equals, ranges: &ranges, ..VirtualScan::all(&env.context) };
        let rows = self.table.rows(&scan)?;
        // Rows and their arrays: if they do not fit into the memory limit this is an error, although they are freed
        // soon.
        let mut charge = GrowingCharge::new(&env.context.memory);
        for row in &rows {
            charge.grow(row.iter().map(|value| 2 * (size_of::<Value>() + value.heap_bytes())).sum())?;
        }
        let ordinals: Vec<usize> = (0..self.table.columns().len()).collect();
        batch_of(&rows, self.table.columns(), &ordinals, &self.schema)
    }
}

/// Columns of rows, by ordinal.
fn batch_of(
    rows: &[Vec<Value>],
    columns: &[VirtualColumn],
    ordinals: &[usize],
    schema: &SchemaRef,
) -> SqlResult<RecordBatch> {
    let mut arrays = Vec::with_capacity(ordinals.len());
    for ordinal in ordinals {
        let mut builder = ValueArrayBuilder::new(&columns[*ordinal].sql_type, rows.len());
        rows.iter().try_for_each(|row| builder.append(row.get(*ordinal).unwrap_or(&Value::Null)))?;
        arrays.push(builder.finish());
    }
    make_batch(schema.clone(), arrays, rows.len())
}

#[async_trait]
impl TableProvider for VirtualTableProvider {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let env = StatementEnv::of(state.config())?;
        if self.table.has_parts() {
            let all = || (0..self.schema.fields().len()).collect();
            let projection = projection.cloned().unwrap_or_else(all);
            let equals = equal_texts(&self.schema, filters);
            let ranges = ranges(self.table.columns(), filters, &env.context);
            let schema = Arc::new(self.schema.project(&projection)?);
            return Ok(Arc::new(PartsExec::new(self.table.clone(), schema, projection, equals, ranges, false)));
        }
        let batch = self.batch(&env, filters).map_err(datafusion_error)?;
        let exec = MemorySourceConfig::try_new_exec(&[vec![batch]], self.schema.clone(), projection.cloned())?;
        Ok(exec)
    }
}

/// Conditions of filters that compare columns with constants.
fn ranges(columns: &[VirtualColumn], filters: &[Expr], context: &StatementContext) -> Vec<ColumnRange> {
    // What constants warn of is said when the filter runs.
    let warnings = context.diagnostics.count();
    let filters: Vec<Expr> = filters.iter().map(with_constants).collect();
    context.diagnostics.truncate(warnings);
    let conditions = match predicate_of(&definition(columns), &filters, &context.settings.time_zone) {
        Predicate::And(conditions) => conditions,
        condition => vec![condition],
    };
    let range = |condition: Predicate| {
        let (column, low, high) = match condition {
            Predicate::Compare { column, op, value } => match op {
                CompareOp::Equal => (column, Bound::Included(value.clone()), Bound::Included(value)),
                CompareOp::Less => (column, Bound::Unbounded, Bound::Excluded(value)),
                CompareOp::LessOrEqual => (column, Bound::Unbounded, Bound::Included(value)),
                CompareOp::Greater => (column, Bound::Excluded(value), Bound::Unbounded),
                CompareOp::GreaterOrEqual => (column, Bound::Included(value), Bound::Unbounded),
                CompareOp::NullSafeEqual => return None,
            },
            _ => return None,
        };
        Some(ColumnRange { column, low, high })
    };
    conditions.into_iter().filter_map(range).collect()
}

/// The columns in the form that conditions are read with.
fn definition(columns: &[VirtualColumn]) -> TableDef {
    let column = |(at, column): (usize, &VirtualColumn)| ColumnDef {
        id: ColumnId(at as u32),
        name: column.name.to_string(),
        sql_type: column.sql_type.clone(),
        nullable: column.nullable,
        default: ColumnDefault::None,
        on_update_now: false,
        auto_increment: false,
        generated: None,
        invisible: column.invisible,
        comment: String::new(),
        value_for_older_rows: Value::Null,
    };
    TableDef {
        id: TableId(0),
        name: String::new(),
        version: 0,
        columns: columns.iter().enumerate().map(column).collect(),
        indexes: Vec::new(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        triggers: Vec::new(),
        partitioning: None,
        collation: CollationId::UTF8MB4_0900_AI_CI,
        comment: String::new(),
        engine: Default::default(),
        auto_increment_start: 1,
        options: Vec::new(),
        next_column_id: columns.len() as u32,
        next_index_id: 0,
        created_micros: 0,
        temporary: false,
    }
}

/// Reads a virtual table part by part.
#[derive(Clone, Debug)]
pub struct PartsExec {
    table: Arc<dyn VirtualTable>,
    schema: SchemaRef,
    /// Ordinals of the columns that come out.
    projection: Arc<[usize]>,
    equals: Arc<[(usize, Value)]>,
    ranges: Arc<[ColumnRange]>,
    backward: bool,
    /// Rows that are enough.
    fetch: Option<usize>,
    /// Bounds of the column that orders the parts, found while the query runs.
    bounds: Option<Arc<NotedBounds>>,
    /// The same, of subqueries that it is compared with.
    scalar_bounds: Arc<[Arc<ScalarBound>]>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl PartsExec {
    fn new(
        table: Arc<dyn VirtualTable>,
        schema: SchemaRef,
        projection: impl Into<Arc<[usize]>>,
        equals: impl Into<Arc<[(usize, Value)]>>,
        ranges: impl Into<Arc<[ColumnRange]>>,
        backward: bool,
    ) -> PartsExec {
        let projection = projection.into();
        let mut equivalences = EquivalenceProperties::new(schema.clone());
        let ordered = table.order().and_then(|order| projection.iter().position(|ordinal| *ordinal == order));
        if let Some(at) = ordered {
            let column = Arc::new(Column::new(schema.field(at).name(), at));
            let options = SortOptions { descending: backward, nulls_first: !backward };
            equivalences.add_ordering([PhysicalSortExpr::new(column, options)]);
        }
        let properties = Arc::new(PlanProperties::new(
            equivalences,
            Partitioning::UnknownPartitioning(1),
            EmissionType::Incremental,
            Boundedness::Bounded,
        ));
        let metrics = ExecutionPlanMetricsSet::new();
        let (equals, ranges) = (equals.into(), ranges.into());
        let scalar_bounds = Arc::default();
        PartsExec {
            table,
            schema,
            projection,
            equals,
            ranges,
            backward,
            fetch: None,
            bounds: None,
            scalar_bounds,
            properties,
            metrics,
        }
    }

    /// The row with the least value of a column, or the greatest, if rows come in its order.
    pub(crate) fn first_of(&self, column: usize, greatest: bool) -> Option<PartsExec> {
        let is_order = self.projection.get(column).is_some_and(|ordinal| self.table.order() == Some(*ordinal));
        let scan = if greatest == self.backward { self.clone() } else { self.reversed() };
        is_order.then_some(PartsExec { fetch: Some(1), ..scan })
    }

    /// The type of a column, if rows come in its order.
    pub(crate) fn order_type(&self, column: usize) -> Option<&SqlType> {
        let ordinal = self.projection.get(column).filter(|ordinal| self.table.order() == Some(**ordinal))?;
        self.table.columns().get(*ordinal).map(|column| &column.sql_type)
    }

    /// The parts between bounds that become known while the query runs, and perhaps others.
    pub(crate) fn within(&self, bounds: Arc<NotedBounds>) -> PartsExec {
        PartsExec { bounds: Some(bounds), ..self.clone() }
    }

    /// The parts that subqueries leave, when they have been run before, and perhaps others.
    pub(crate) fn within_scalars(&self, bounds: impl Iterator<Item = Arc<ScalarBound>>) -> PartsExec {
        let scalar_bounds = self.scalar_bounds.iter().cloned().chain(bounds).collect();
        PartsExec { scalar_bounds, ..self.clone() }
    }

    /// Whether it has bounds that the other side of a join notes.
    pub(crate) fn is_bounded(&self) -> bool {
        self.bounds.is_some()
    }

    /// The parts as far as they are wanted by now.
    fn parts(&self, env: &StatementEnv) -> SqlResult<RowParts> {
        let mut ranges = self.ranges.to_vec();
        if let (Some(known), Some(column)) =
            (self.bounds.as_ref().and_then(|bounds| bounds.known()), self.table.order())
        {
            let Some((low, high)) = known else { return Ok(Box::new(std::iter::empty())) };
            ranges.push(ColumnRange { column, low: Bound::Included(low), high: Bound::Included(high) });
        }
        for bound in self.scalar_bounds.iter() {
            match self.table.order().and_then(|column| bound.range(column)) {
                Some(Some(range)) => ranges.push(range),
                Some(None) => return Ok(Box::new(std::iter::empty())),
                None => {}
            }
        }
        self.table.parts(&VirtualScan {
            context: &env.context,
            equals: &self.equals,
            ranges: &ranges,
            wanted: Some(&self.projection),
            backward: self.backward,
        })
    }

    /// The same rows from the other end.
    pub(crate) fn reversed(&self) -> PartsExec {
        let (table, schema, projection) = (self.table.clone(), self.schema.clone(), self.projection.clone());
        let reversed = Self::new(table, schema, projection, self.equals.clone(), self.ranges.clone(), !self.backward);
        PartsExec { bounds: self.bounds.clone(), scalar_bounds: self.scalar_bounds.clone(), ..reversed }
    }
}

impl Operator for PartsExec {
    fn label(&self) -> &str {
        "PartsExec"
    }

    fn output(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ": table={}, ranges={}", self.table.name(), self.ranges.len())?;
        if self.backward {
            write!(f, ", backward")?;
        }
        if self.is_bounded() || !self.scalar_bounds.is_empty() {
            write!(f, ", bounded")?;
        }
        match self.fetch {
            Some(fetch) => write!(f, ", fetch={fetch}"),
            None => Ok(()),
        }
    }

    fn over(self: Arc<Self>, _inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<Self>> {
        Ok(Arc::new(PartsExec { metrics: ExecutionPlanMetricsSet::new(), ..(*self).clone() }))
    }

    fn stream(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let env = StatementEnv::of(context.session_config())?;
        let batch_rows_max = context.session_config().batch_size().max(1);
        let remaining = self.fetch.unwrap_or(usize::MAX);
        let batch_rows = FIRST_BATCH_ROWS.min(remaining);
        let reader = PartsReader { env, exec: self.clone(), parts: None, batch_rows, batch_rows_max, remaining };
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        Ok(stream_of(reader, self.schema.clone(), metrics, PartsReader::next_batch))
    }

    fn counters(&self) -> Option<&ExecutionPlanMetricsSet> {
        Some(&self.metrics)
    }

    fn in_order(&self, order: &[PhysicalSortExpr]) -> Result<Option<Self>> {
        for scan in [self.clone(), self.reversed()] {
            if scan.properties.equivalence_properties().ordering_satisfy(order.to_vec())? {
                return Ok(Some(scan));
            }
        }
        Ok(None)
    }
}

execution_plan!(PartsExec);

/// Makes batches of parts.
struct PartsReader {
    env: Arc<StatementEnv>,
    exec: PartsExec,
    /// Asked for when the first row is wanted.
    parts: Option<RowParts>,
    batch_rows: usize,
    batch_rows_max: usize,
    remaining: usize,
}

impl PartsReader {
    fn next_batch(&mut self) -> SqlResult<Option<RecordBatch>> {
        let parts = match &mut self.parts {
            Some(parts) => parts,
            none => none.insert(self.exec.parts(&self.env)?),
        };
        let mut rows = Vec::new();
        while rows.len() < self.batch_rows.min(self.remaining) {
            self.env.context.kill.check()?;
            let Some(part) = parts.next() else { break };
            let mut part = part?;
            rows.append(&mut part);
        }
        rows.truncate(self.remaining);
        self.remaining -= rows.len();
        self.batch_rows = (self.batch_rows * 2).min(self.batch_rows_max);
        if rows.is_empty() {
            return Ok(None);
        }
        self.env.context.examined(rows.len());
        batch_of(&rows, self.exec.table.columns(), &self.exec.projection, &self.exec.schema).map(Some)
    }
}
