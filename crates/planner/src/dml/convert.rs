//! Values on their way into a column.

use super::target::RowMaker;
use squall_catalog::ColumnDef;
use squall_types::{SqlResult, SqlType, Value};

/// A value that is not NULL as the column holds it.
pub(crate) fn to_column(
    maker: &RowMaker<'_>,
    column: &ColumnDef,
    value: Value,
    from: &SqlType,
    row_number: u64,
) -> SqlResult<Value> {
    let _ = (maker, column, from, row_number);
    Ok(value)
}
