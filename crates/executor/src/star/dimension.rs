//! Turns a dimension's rows into the kernel's map of keys.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Int64Type, SchemaRef, UInt64Type};
use arrow::record_batch::RecordBatch;
use arrow::row::{RowConverter, SortField};
use datafusion::common::{Result, internal_datafusion_err};
use rustc_hash::FxHashMap;
use squall_column_store::star::KeyMap;
use std::sync::Arc;

/// The rows of a dimension that qualify.
pub struct DimensionRows {
    /// From a row's key to its group.
    pub keys: Arc<KeyMap>,
    /// The columns behind the key, one row for each group.
    pub groups: Vec<ArrayRef>,
}

impl DimensionRows {
    /// The columns of a dimension's plan: the key, `groups` columns of the group, and others. `None` if a key is beyond the
    /// kernel's 64 bits.
    pub fn new(schema: &SchemaRef, batches: &[RecordBatch], groups: usize) -> Result<Option<DimensionRows>> {
        let rows = concat_batches(schema, batches)?;
        let (numbers, first_rows) = group_numbers(&rows, groups)?;
        let Some(keys) = keys(rows.column(0))? else { return Ok(None) };
        let pairs: Vec<(i64, u32)> =
            keys.into_iter().zip(numbers).filter_map(|(key, number)| Some((key?, number))).collect();
        let failed = |error: squall_column_store::Error| internal_datafusion_err!("{error}");
        let keys = KeyMap::new(&pairs, (first_rows.len() as u32).max(1)).map_err(failed)?;
        let first_rows = arrow::array::UInt32Array::from(first_rows);
        let behind = rows.columns().iter().skip(1);
        let groups =
            behind.map(|column| Ok(arrow::compute::take(column, &first_rows, None)?)).collect::<Result<_>>()?;
        Ok(Some(DimensionRows { keys: Arc::new(keys), groups }))
    }
}

fn keys(column: &ArrayRef) -> Result<Option<Vec<Option<i64>>>> {
    match column.data_type() {
        DataType::Int64 => Ok(Some(column.as_primitive::<Int64Type>().iter().collect())),
        DataType::UInt64 => {
            let keys = column.as_primitive::<UInt64Type>().iter();
            Ok(keys.map(|key| key.map(i64::try_from).transpose().ok()).collect())
        }
        other => Err(internal_datafusion_err!("a dimension's key of type {other}")),
    }
}

/// For each row the number of its group, and for each group its first row. Without columns that tell groups apart there is
/// one group.
fn group_numbers(rows: &RecordBatch, groups: usize) -> Result<(Vec<u32>, Vec<u32>)> {
    let count = rows.num_rows();
    if groups == 0 {
        return Ok((vec![0; count], if count == 0 { Vec::new() } else { vec![0] }));
    }
    let columns: Vec<ArrayRef> = rows.columns()[1..=groups].to_vec();
    let fields = columns.iter().map(|column| SortField::new(column.data_type().clone())).collect();
    let converter = RowConverter::new(fields)?;
    let encoded = converter.convert_columns(&columns)?;
    let mut known: FxHashMap<&[u8], u32> = FxHashMap::default();
    let (mut numbers, mut first_rows) = (Vec::with_capacity(count), Vec::new());
    for row in 0..count {
        let number = *known.entry(encoded.row(row).data()).or_insert_with(|| {
            first_rows.push(row as u32);
            first_rows.len() as u32 - 1
        });
        numbers.push(number);
    }
    Ok((numbers, first_rows))
}
