//! The answers of a correlated subquery for all values of its placeholders, made in one run.

use crate::operators::key_table::KeyTable;
use crate::operators::subquery_result::SubqueryResult;
use crate::operators::unnest::Unnested;
use arrow::array::{Array, ArrayRef, UInt32Array};
use arrow::compute::{concat_batches, take_record_batch};
use arrow::datatypes::{Field, Schema, SchemaRef};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use arrow::row::{RowConverter, SortField};
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, DFSchema, Result};
use datafusion::execution::context::SessionState;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::PhysicalExpr;
use squall_functions::expr::datafusion_error;
use squall_statement_context::StatementContext;
use std::ops::Range;
use std::sync::Arc;

/// Rows between two looks at KILL.
const ROWS_UNCHECKED: usize = 1 << 16;

/// The answers.
#[derive(Debug)]
pub(crate) struct Answers {
    /// The rows of each key, one key's after another's, and the rows of no key at the end.
    rows: RecordBatch,
    groups: KeyTable,
    /// Where the rows of each group begin, and the last ones end.
    bounds: Vec<u32>,
    /// The rows where there are none with the keys.
    of_none: Range<usize>,
    /// The keys over the outer values.
    keys: Vec<Arc<dyn PhysicalExpr>>,
    outer_schema: SchemaRef,
    converter: RowConverter,
    _reservation: MemoryReservation,
}

impl Answers {
    /// Files rows, which are charged to `reservation`, by their keys, the last columns of them. `of_none` are the rows where there is no
    /// key; `outer` are the outer values' names and types. `None` if there is no memory for them.
    pub(crate) fn new(
        unnested: &Unnested,
        rows: RecordBatch,
        of_none: &RecordBatch,
        outer: &[(String, Field)],
        session: &SessionState,
        context: &StatementContext,
        reservation: MemoryReservation,
    ) -> Result<Option<Self>> {
        let first_key = rows.num_columns() - unnested.outer.len();
        let keys = rows.columns().iter().skip(first_key).cloned().collect::<Vec<_>>();
        let fields = keys.iter().map(|key| SortField::new(key.data_type().clone())).collect();
        let converter = RowConverter::new(fields)?;
        let encoded = converter.convert_columns(&keys)?;
        let bytes = rows.num_rows() * (KeyTable::KEY_BYTES + 4 * size_of::<u32>()) + encoded.size();
        if u32::try_from(rows.num_rows()).is_err() || reservation.try_grow(bytes).is_err() {
            return Ok(None);
        }
        let mut groups = KeyTable::default();
        let mut counts: Vec<u32> = Vec::new();
        let mut group_of = Vec::with_capacity(rows.num_rows());
        for (row, key) in encoded.iter().enumerate() {
            if row.is_multiple_of(ROWS_UNCHECKED) {
                context.kill.check().map_err(datafusion_error)?;
            }
            let group = groups.add(key.as_ref());
            counts.resize(groups.len(), 0);
            if let Some(count) = counts.get_mut(group as usize) {
                *count += 1;
            }
            group_of.push(group);
        }
        drop(encoded);
        let bounds: Vec<u32> = std::iter::once(0)
            .chain(counts.iter().scan(0, |end, count| {
                *end += count;
                Some(*end)
            }))
            .collect();
        let columns: Vec<usize> = (0..first_key).collect();
        let rows = by_group(&rows.project(&columns)?, &group_of, &bounds)?;
        let of_none_at = rows.num_rows()..rows.num_rows() + of_none.num_rows();
        let schema = of_none.schema();
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        let rows = RecordBatch::try_new_with_options(Arc::clone(&schema), rows.columns().to_vec(), &options)?;
        let rows = if of_none.num_rows() > 0 { concat_batches(&schema, [&rows, of_none])? } else { rows };
        let outer_schema = Arc::new(Schema::new(
            outer.iter().map(|(name, field)| field.clone().with_name(name).with_nullable(true)).collect::<Vec<_>>(),
        ));
        let over = DFSchema::try_from(Arc::clone(&outer_schema))?;
        let keys = unnested.outer.iter().map(|key| session.create_physical_expr(over_columns(key)?, &over));
        let keys = keys.collect::<Result<Vec<_>>>()?;
        Ok(Some(Self {
            rows,
            groups,
            bounds,
            of_none: of_none_at,
            keys,
            outer_schema,
            converter,
            _reservation: reservation,
        }))
    }

    /// All rows.
    pub(crate) fn rows(&self) -> &RecordBatch {
        &self.rows
    }

    /// Which of the rows are the answer for each row of outer values.
    pub(crate) fn of(&self, outer: &[ArrayRef], rows: usize) -> Result<Vec<Range<usize>>> {
        let batch = RecordBatch::try_new(Arc::clone(&self.outer_schema), outer.to_vec())?;
        let keys = self.keys.iter().map(|key| key.evaluate(&batch)?.into_array(rows)).collect::<Result<Vec<_>>>()?;
        let encoded = self.converter.convert_columns(&keys)?;
        let of_row = |row: usize| {
            // NULL equals nothing.
            let is_known = keys.iter().all(|key| key.is_valid(row));
            let group = if is_known { self.groups.find(encoded.row(row).as_ref()) } else { None };
            let bounds = group.and_then(|group| self.bounds.get(group as usize..)?.first_chunk());
            bounds.map_or(self.of_none.clone(), |[begin, end]| *begin as usize..*end as usize)
        };
        Ok((0..rows).map(of_row).collect())
    }

    /// The same as answers of their own.
    pub(crate) fn results(&self, ranges: &[Range<usize>]) -> Vec<SubqueryResult> {
        ranges.iter().map(|range| SubqueryResult::part_of(&self.rows, range.start, range.len())).collect()
    }
}

/// Rows in the order of their groups, those of a group in the order that they had.
fn by_group(rows: &RecordBatch, group_of: &[u32], bounds: &[u32]) -> Result<RecordBatch> {
    let mut next = bounds.to_vec();
    let mut order = vec![0_u32; group_of.len()];
    for (row, group) in group_of.iter().enumerate() {
        let Some(place) = next.get_mut(*group as usize) else { continue };
        if let Some(at) = order.get_mut(*place as usize) {
            *at = row as u32;
        }
        *place += 1;
    }
    if rows.num_columns() == 0 {
        return Ok(rows.clone());
    }
    Ok(take_record_batch(rows, &UInt32Array::from(order))?)
}

/// A key over columns that are named as the placeholders are.
fn over_columns(key: &Expr) -> Result<Expr> {
    key.clone()
        .transform_up(|expr| match &expr {
            Expr::Placeholder(placeholder) => {
                Ok(Transformed::yes(Expr::Column(Column::new_unqualified(placeholder.id.clone()))))
            }
            _ => Ok(Transformed::no(expr)),
        })
        .data()
}
