//! JSON_TABLE: each row of the input joined with the rows of its document.

use crate::operator::without_order;
use crate::operator::{Operator, execution_plan, only_input};
use crate::operators::wider_rows::known_of_wider_rows;
use arrow::array::{ArrayRef, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::{FieldRef, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::{DFSchema, DFSchemaRef, Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::execution_plan::EmissionType;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, PlanProperties};
use futures::{StreamExt, TryStreamExt};
use squall_accounting::Charge;
use squall_functions::arrow_map::{ValueArrayBuilder, sql_type_of, value_at};
use squall_functions::expr::datafusion_error;
use squall_functions::json::JsonTable;
use squall_functions::library::support::stored_of;
use squall_statement_context::StatementContext;
use squall_types::{SqlResult, SqlType, Value};
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::env::StatementEnv;

/// Rows of a batch that is handed on.
const OUTPUT_ROWS: usize = 8192;

/// The state of both operators.
#[derive(Clone, Debug)]
pub struct JsonTableSpec {
    /// The table's alias in the statement.
    pub alias: Arc<str>,
    /// How documents are taken apart.
    pub table: JsonTable,
    /// The document's type.
    pub document_type: SqlType,
    /// Whether a row without any stands beside NULLs: LEFT JOIN.
    pub keep_unmatched: bool,
}

/// The logical operator. Its output is its input's columns and then the table's.
#[derive(Clone, Debug)]
pub struct JsonTableNode {
    /// The rows.
    pub input: LogicalPlan,
    /// Their documents.
    pub document: Expr,
    /// The rest.
    pub spec: Arc<JsonTableSpec>,
    schema: DFSchemaRef,
}

impl JsonTableNode {
    /// Builds the node. `outputs` describes the table's columns.
    pub fn new(input: LogicalPlan, document: Expr, spec: JsonTableSpec, outputs: &DFSchema) -> Result<Self> {
        let schema = Arc::new(input.schema().join(outputs)?);
        Ok(Self { input, document, spec: Arc::new(spec), schema })
    }

    /// As a plan.
    pub fn into_plan(self) -> LogicalPlan {
        LogicalPlan::Extension(Extension { node: Arc::new(self) })
    }

    fn added(&self) -> std::ops::Range<usize> {
        self.input.schema().fields().len()..self.schema.fields().len()
    }
}

impl PartialEq for JsonTableNode {
    fn eq(&self, other: &Self) -> bool {
        self.document == other.document
            && self.spec.alias == other.spec.alias
            && self.spec.table == other.spec.table
            && self.spec.keep_unmatched == other.spec.keep_unmatched
            && self.schema == other.schema
            && self.input == other.input
    }
}

impl Eq for JsonTableNode {}

impl Hash for JsonTableNode {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.document.hash(state);
        self.spec.alias.hash(state);
        self.schema.hash(state);
        self.input.hash(state);
    }
}

without_order!(JsonTableNode);

impl UserDefinedLogicalNodeCore for JsonTableNode {
    fn name(&self) -> &str {
        "JsonTable"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        vec![self.document.clone()]
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "JsonTable: {}, document={}", self.spec.alias, self.document)
    }

    fn with_exprs_and_inputs(&self, mut exprs: Vec<Expr>, mut inputs: Vec<LogicalPlan>) -> Result<Self> {
        let (Some(input), Some(document)) = (inputs.pop(), exprs.pop()) else {
            return internal_err!("JsonTable has one input and one expression");
        };
        let outputs = self
            .added()
            .map(|ordinal| {
                let (qualifier, field) = self.schema.qualified_field(ordinal);
                (qualifier.cloned(), Arc::clone(field))
            })
            .collect();
        let outputs = DFSchema::new_with_metadata(outputs, HashMap::new())?;
        let schema = Arc::new(input.schema().join(&outputs)?);
        Ok(Self { input, document, spec: Arc::clone(&self.spec), schema })
    }

    /// Conditions on the input's own columns may be met before documents are read.
    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        self.added().map(|ordinal| self.schema.field(ordinal).name().clone()).collect()
    }

    fn supports_limit_pushdown(&self) -> bool {
        false
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let input_schema = self.input.schema();
        let mut needed: Vec<usize> =
            output_columns.iter().copied().filter(|ordinal| *ordinal < input_schema.fields().len()).collect();
        for column in self.document.column_refs() {
            needed.push(input_schema.maybe_index_of_column(column)?);
        }
        needed.sort_unstable();
        needed.dedup();
        Some(vec![needed])
    }
}

/// The physical operator.
#[derive(Debug)]
pub struct JsonTableExec {
    input: Arc<dyn ExecutionPlan>,
    document: Arc<dyn PhysicalExpr>,
    spec: Arc<JsonTableSpec>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl JsonTableExec {
    /// Builds the operator; `schema` is the logical one's.
    pub fn new(
        input: Arc<dyn ExecutionPlan>,
        document: Arc<dyn PhysicalExpr>,
        spec: Arc<JsonTableSpec>,
        schema: SchemaRef,
    ) -> Self {
        let properties = Arc::new(PlanProperties::new(
            known_of_wider_rows(&input, schema),
            input.output_partitioning().clone(),
            EmissionType::Incremental,
            input.boundedness(),
        ));
        Self { input, document, spec, properties, metrics: ExecutionPlanMetricsSet::new() }
    }

    /// What the statement calls the table.
    pub fn alias(&self) -> &str {
        &self.spec.alias
    }
}

impl Operator for JsonTableExec {
    fn label(&self) -> &str {
        "JsonTableExec"
    }

    fn keeps_order(&self) -> bool {
        true
    }

    fn output(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn describe(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ": {}, document={}", self.spec.alias, self.document)
    }

    fn inputs(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn expressions(&self) -> impl Iterator<Item = &Arc<dyn PhysicalExpr>> {
        std::iter::once(&self.document)
    }

    fn over(self: Arc<Self>, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<Self>> {
        let input = only_input(inputs)?;
        Ok(Arc::new(Self::new(input, Arc::clone(&self.document), Arc::clone(&self.spec), self.schema())))
    }

    fn stream(&self, partition: usize, task: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let env = StatementEnv::of(task.session_config())?;
        let input = self.input.execute(partition, task)?;
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let expander = Expander {
            document: Arc::clone(&self.document),
            spec: Arc::clone(&self.spec),
            schema: self.schema(),
            input_columns: self.input.schema().fields().len(),
            context: Arc::clone(&env.context),
        };
        let stream = input
            .map(move |batch| expander.expand(&batch?))
            .map_ok(|(batches, charge)| {
                let rows = batches.into_iter().map(move |batch| {
                    // It goes with the last of them.
                    let _ = &charge;
                    Ok(batch)
                });
                futures::stream::iter(rows)
            })
            .try_flatten()
            .inspect_ok(move |batch: &RecordBatch| metrics.record_output(batch.num_rows()));
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream)))
    }

    fn counters(&self) -> Option<&ExecutionPlanMetricsSet> {
        Some(&self.metrics)
    }
}

execution_plan!(JsonTableExec);

struct Expander {
    document: Arc<dyn PhysicalExpr>,
    spec: Arc<JsonTableSpec>,
    schema: SchemaRef,
    input_columns: usize,
    context: Arc<StatementContext>,
}

/// Rows that are not yet a batch.
struct Pending {
    /// For each row, the input's row that it belongs to.
    indices: Vec<u64>,
    builders: Vec<ValueArrayBuilder>,
}

impl Pending {
    fn new(fields: &[FieldRef]) -> Pending {
        let builders = fields.iter().map(|field| ValueArrayBuilder::new(&sql_type_of(field), 0)).collect();
        Pending { indices: Vec::new(), builders }
    }

    fn push(&mut self, index: u64, row: &[Value]) -> SqlResult<()> {
        self.indices.push(index);
        self.builders.iter_mut().zip(row).try_for_each(|(builder, value)| builder.append(value))
    }
}

impl Expander {
    /// The rows of a batch's documents, and what they are charged with.
    fn expand(&self, batch: &RecordBatch) -> Result<(Vec<RecordBatch>, Charge)> {
        let documents = self.document.evaluate(batch)?.into_array(batch.num_rows())?;
        let fields: Vec<FieldRef> = self.schema.fields().iter().skip(self.input_columns).cloned().collect();
        let mut output = Vec::new();
        let (mut charge, mut held) = (self.context.memory.charge(), 0);
        let mut pending = Pending::new(&fields);
        let unmatched = vec![Value::Null; fields.len()];
        for (row, index) in (0..batch.num_rows()).zip(0u64..) {
            let value = value_at(&documents, row, &self.spec.document_type).map_err(datafusion_error)?;
            let mut any = false;
            if !value.is_null() {
                let document =
                    stored_of(&value, &self.spec.document_type, 0, "json_table").map_err(datafusion_error)?;
                let mut full = None;
                self.spec
                    .table
                    .rows(&document, &self.context, &mut |values| {
                        any = true;
                        pending.push(index, values)?;
                        if pending.indices.len() >= OUTPUT_ROWS {
                            match self.beside(batch, &mut pending) {
                                Ok(batch) => {
                                    held += batch.get_array_memory_size();
                                    charge.resize(held)?;
                                    output.push(batch);
                                }
                                Err(error) => full = Some(error),
                            }
                        }
                        Ok(())
                    })
                    .map_err(datafusion_error)?;
                if let Some(error) = full {
                    return Err(error);
                }
            }
            if !any && self.spec.keep_unmatched {
                pending.push(index, &unmatched).map_err(datafusion_error)?;
            }
        }
        if !pending.indices.is_empty() {
            output.push(self.beside(batch, &mut pending)?);
        }
        Ok((output, charge))
    }

    /// The pending rows as a batch.
    fn beside(&self, batch: &RecordBatch, pending: &mut Pending) -> Result<RecordBatch> {
        let indices = UInt64Array::from(std::mem::take(&mut pending.indices));
        let mut columns: Vec<ArrayRef> =
            batch.columns().iter().map(|column| Ok(take(column, &indices, None)?)).collect::<Result<_>>()?;
        columns.extend(pending.builders.iter_mut().map(ValueArrayBuilder::finish));
        let options = RecordBatchOptions::new().with_row_count(Some(indices.len()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}
