//! ANY and ALL: each row's operands beside the rows of its subquery, with three-valued logic.

use crate::operators::key_table::KeyTable;
use crate::operators::subquery_result::SubqueryResult;
use arrow::array::{Array, ArrayRef, AsArray, Int64Array, UInt64Array, new_null_array};
use arrow::compute::{concat_batches, take};
use arrow::datatypes::{DataType, Int64Type, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use arrow::row::{RowConverter, SortField};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, Column};
use std::sync::Arc;

/// Pairs of a row and a row of its subquery that are compared together.
const PAIRS_MAX: usize = 8192;
/// Subqueries of fewer rows are compared row by row.
const ROWS_SUMMED_UP_MIN: usize = 16;

/// The comparison, and whether it has to hold for any row or for all.
#[derive(Debug)]
pub(crate) struct Quantifier<'s> {
    pub is_any: bool,
    pub comparison: &'s Arc<dyn PhysicalExpr>,
    /// The operands, and then the subquery's columns.
    pub schema: &'s SchemaRef,
}

/// What the values of a subquery's rows are, for comparisons of one value with them.
#[derive(Debug)]
pub(crate) struct Summary {
    of: SubqueryResult,
    converter: RowConverter,
    has_null: bool,
    /// The least and the greatest.
    ends: Option<(Vec<u8>, Vec<u8>)>,
    /// All of them, if equality is asked for.
    values: KeyTable,
    /// The memory of the values.
    _reservation: MemoryReservation,
}

impl Quantifier<'_> {
    /// Whether the comparison holds: 1, 0 or NULL for each row.
    pub(crate) fn truths(
        &self,
        operands: &[ArrayRef],
        results: &[SubqueryResult],
        summary: &mut Option<Summary>,
        reservation: impl FnOnce() -> MemoryReservation,
    ) -> Result<ArrayRef> {
        match results {
            [first, ..] if results.iter().all(|result| result.id() == first.id()) => {
                self.truths_of_one(operands, first, results.len(), summary, reservation)
            }
            _ => self.by_pairs(operands, results),
        }
    }

    /// The same for so many rows that have one subquery's rows beside them.
    pub(crate) fn truths_of_one(
        &self,
        operands: &[ArrayRef],
        result: &SubqueryResult,
        rows: usize,
        summary: &mut Option<Summary>,
        reservation: impl FnOnce() -> MemoryReservation,
    ) -> Result<ArrayRef> {
        if result.row_count() >= ROWS_SUMMED_UP_MIN {
            if summary.as_ref().is_none_or(|summary| summary.of.id() != result.id()) {
                *summary = self.summary(result, reservation())?;
            }
            if let Some(summary) = summary {
                return self.by_summary(summary, operands, rows);
            }
        }
        self.by_pairs(operands, &vec![result.clone(); rows])
    }

    /// The comparison, if its sides are of the operands alone and of the subquery's rows alone.
    fn sides(&self, operands: usize) -> Option<&BinaryExpr> {
        let comparison = self.comparison.downcast_ref::<BinaryExpr>()?;
        let reads = |expr: &Arc<dyn PhysicalExpr>, is_operand: bool| {
            let mut only = true;
            let visited = expr.apply(|expr| {
                only &= expr.downcast_ref::<Column>().is_none_or(|column| (column.index() < operands) == is_operand);
                Ok(TreeNodeRecursion::Continue)
            });
            visited.is_ok() && only
        };
        let (left, right) = (comparison.left(), comparison.right());
        let data_type = left.data_type(self.schema).ok()?;
        // Numbers with two zeros are not compared as bytes.
        let is_exact = !matches!(data_type, DataType::Float16 | DataType::Float32 | DataType::Float64 | DataType::Null);
        let is_ordered = matches!(
            comparison.op(),
            Operator::Eq | Operator::NotEq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq
        );
        let is_same = right.data_type(self.schema).is_ok_and(|right| right == data_type);
        (reads(left, true) && reads(right, false) && is_exact && is_ordered && is_same).then_some(comparison)
    }

    fn operand_count(&self, result: &SubqueryResult) -> usize {
        self.schema.fields().len() - result.rows().num_columns()
    }

    /// `None` if the comparison is of another form, or there is no memory.
    fn summary(&self, result: &SubqueryResult, reservation: MemoryReservation) -> Result<Option<Summary>> {
        let operands = self.operand_count(result);
        let Some(comparison) = self.sides(operands) else { return Ok(None) };
        let nulls = self.schema.fields().iter().take(operands);
        let nulls = nulls.map(|field| new_null_array(field.data_type(), result.row_count()));
        let columns = nulls.chain(result.rows().columns().iter().cloned()).collect();
        let pairs = self.batch(columns, result.row_count())?;
        let values = comparison.right().evaluate(&pairs)?.into_array(result.row_count())?;
        let converter = RowConverter::new(vec![SortField::new(values.data_type().clone())])?;
        let rows = converter.convert_columns(std::slice::from_ref(&values))?;
        let is_equality = matches!(comparison.op(), Operator::Eq | Operator::NotEq);
        let bytes = if is_equality { rows.size() + values.len() * KeyTable::KEY_BYTES } else { 0 };
        if reservation.try_grow(bytes).is_err() {
            return Ok(None);
        }
        let known = || (0..values.len()).filter(|row| values.is_valid(*row)).map(|row| rows.row(row));
        let ends = known().min().zip(known().max());
        let ends = ends.map(|(least, greatest)| (least.as_ref().to_vec(), greatest.as_ref().to_vec()));
        let has_null = values.null_count() > 0;
        let mut different = KeyTable::default();
        if is_equality {
            known().for_each(|row| _ = different.add(row.as_ref()));
        }
        Ok(Some(Summary {
            of: result.clone(),
            converter,
            has_null,
            ends,
            values: different,
            _reservation: reservation,
        }))
    }

    fn by_summary(&self, summary: &Summary, operands: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        let Some(comparison) = self.sides(operands.len()) else { return internal_err!("the sides are apart") };
        let nulls = self.schema.fields().iter().skip(operands.len());
        let nulls = nulls.map(|field| new_null_array(field.data_type(), rows));
        let columns = operands.iter().cloned().chain(nulls).collect();
        let values = comparison.left().evaluate(&self.batch(columns, rows)?)?.into_array(rows)?;
        let encoded = summary.converter.convert_columns(std::slice::from_ref(&values))?;
        // For all rows it holds if the opposite holds for none.
        let op = if self.is_any { Some(*comparison.op()) } else { comparison.op().negate() };
        let Some(op) = op else { return internal_err!("a comparison has an opposite") };
        let truths: Int64Array = (0..rows)
            .map(|row| {
                let any = if values.is_null(row) { None } else { summary.any(op, encoded.row(row).as_ref()) };
                any.map(|any| i64::from(any == self.is_any))
            })
            .collect();
        Ok(Arc::new(truths))
    }

    fn by_pairs(&self, operands: &[ArrayRef], results: &[SubqueryResult]) -> Result<ArrayRef> {
        let mut truths: Vec<Option<bool>> = vec![Some(!self.is_any); results.len()];
        let (mut rows, mut parts) = (Vec::new(), Vec::new());
        for (row, result) in results.iter().enumerate() {
            let mut begin = 0;
            while begin < result.row_count() && truths[row] != Some(self.is_any) {
                let count = (result.row_count() - begin).min(PAIRS_MAX - rows.len());
                rows.extend(std::iter::repeat_n(row as u64, count));
                parts.push(result.rows().slice(begin, count));
                begin += count;
                if rows.len() == PAIRS_MAX {
                    self.compare(operands, std::mem::take(&mut rows), &std::mem::take(&mut parts), &mut truths)?;
                }
            }
        }
        if !rows.is_empty() {
            self.compare(operands, rows, &parts, &mut truths)?;
        }
        Ok(Arc::new(truths.into_iter().map(|truth| truth.map(i64::from)).collect::<Int64Array>()))
    }

    /// Compares pairs: what is known of their rows becomes what is known with these.
    fn compare(
        &self,
        operands: &[ArrayRef],
        rows: Vec<u64>,
        parts: &[RecordBatch],
        truths: &mut [Option<bool>],
    ) -> Result<()> {
        let Some(first) = parts.first() else { return Ok(()) };
        let indices = UInt64Array::from(rows);
        let own = operands.iter().map(|operand| Ok(take(operand, &indices, None)?));
        let mut columns = own.collect::<Result<Vec<_>>>()?;
        columns.extend(concat_batches(&first.schema(), parts)?.columns().iter().cloned());
        let compared = self.comparison.evaluate(&self.batch(columns, indices.len())?)?.into_array(indices.len())?;
        for (pair, row) in indices.values().iter().enumerate() {
            let Some(known) = truths.get_mut(*row as usize) else { continue };
            match truth_at(&compared, pair)? {
                Some(truth) if truth == self.is_any => *known = Some(self.is_any),
                None if *known != Some(self.is_any) => *known = None,
                _ => {}
            }
        }
        Ok(())
    }

    fn batch(&self, columns: Vec<ArrayRef>, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(self.schema), columns, &options)?)
    }
}

impl Summary {
    /// Whether a comparison holds between a value and any of these.
    fn any(&self, op: Operator, value: &[u8]) -> Option<bool> {
        let found = self.ends.as_ref().is_some_and(|(least, greatest)| match op {
            Operator::Eq => self.values.find(value).is_some(),
            Operator::NotEq => value != least || value != greatest,
            Operator::Lt => value < greatest.as_slice(),
            Operator::LtEq => value <= greatest.as_slice(),
            Operator::Gt => value > least.as_slice(),
            _ => value >= least.as_slice(),
        });
        if found || !self.has_null { Some(found) } else { None }
    }
}

/// Whether a condition holds for a row; `None` is unknown.
fn truth_at(compared: &ArrayRef, row: usize) -> Result<Option<bool>> {
    Ok(match compared.data_type() {
        _ if compared.is_null(row) => None,
        DataType::Boolean => Some(compared.as_boolean().value(row)),
        DataType::Int64 => Some(compared.as_primitive::<Int64Type>().value(row) != 0),
        DataType::Null => None,
        other => return internal_err!("a comparison gave {other}"),
    })
}
