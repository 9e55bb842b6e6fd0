//! Rows of a segment in the row store's form.

use crate::listed_segment::ListedSegment;
use crate::{ROW_NUMBER, sql_error};
use arrow::array::{ArrayRef, AsArray};
use arrow::datatypes::UInt64Type;
use squall_column_store::{ColumnCache, ColumnType};
use squall_functions::arrow_map::value_at;
use squall_row_store::Table;
use squall_types::{SqlError, SqlResult, Value};

/// A segment of a table, read row by row.
#[derive(Clone, Copy)]
pub(crate) struct SegmentRows<'a> {
    pub table: &'a Table,
    pub segment: &'a ListedSegment,
    pub cache: &'a ColumnCache,
}

impl SegmentRows<'_> {
    /// Storage keys and encoded rows at some positions.
    pub fn read(&self, positions: &[u32]) -> SqlResult<Vec<(Vec<u8>, Vec<u8>)>> {
        let keys = self.keys(positions)?;
        let def = self.table.def();
        let columns: Vec<Option<ArrayRef>> =
            def.columns.iter().map(|column| self.column(column.id.0, positions)).collect::<SqlResult<_>>()?;
        let row = |(at, key): (usize, Vec<u8>)| {
            let value = |(column, array): (&squall_catalog::ColumnDef, &Option<ArrayRef>)| match array {
                Some(array) => value_at(array, at, &column.sql_type),
                // The segment is older than the column.
                None => Ok(column.value_for_older_rows.clone()),
            };
            let values = def.columns.iter().zip(&columns).map(value).collect::<SqlResult<Vec<Value>>>()?;
            let row = self.table.encode_row(&key, &values)?;
            Ok((key, row))
        };
        keys.into_iter().enumerate().map(row).collect()
    }

    /// Storage keys at some positions.
    pub fn keys(&self, positions: &[u32]) -> SqlResult<Vec<Vec<u8>>> {
        let def = self.table.def();
        let missing = || SqlError::internal(format_args!("a segment of {} lacks the key's column", def.name));
        if self.table.has_hidden_row_id() {
            let numbers = self.column(ROW_NUMBER, positions)?.ok_or_else(missing)?;
            let numbers = numbers.as_primitive_opt::<UInt64Type>().ok_or_else(missing)?;
            return Ok(numbers.values().iter().map(|number| self.table.hidden_row_key(*number)).collect());
        }
        let ordinals = def.primary_key().map(|key| def.index_ordinals(key)).unwrap_or_default();
        let columns: Vec<ArrayRef> = ordinals
            .iter()
            .map(|ordinal| self.column(def.columns[*ordinal].id.0, positions)?.ok_or_else(missing))
            .collect::<SqlResult<_>>()?;
        let key = |at| {
            let value = |(ordinal, array): (&usize, &ArrayRef)| value_at(array, at, &def.columns[*ordinal].sql_type);
            let values = ordinals.iter().zip(&columns).map(value).collect::<SqlResult<Vec<Value>>>()?;
            self.table.row_key(&values)
        };
        (0..positions.len()).map(key).collect()
    }

    /// The first position whose key is not before `key`, or not before or at it if `behind`. Keys are in order.
    pub fn position_of(&self, key: &[u8], behind: bool) -> SqlResult<u32> {
        let (mut low, mut high) = (0, self.segment.segment.rows() as u32);
        while low < high {
            let middle = low + (high - low) / 2;
            let before = match self.keys(&[middle])?.first() {
                Some(found) if behind => found[..] <= *key,
                Some(found) => found[..] < *key,
                None => return Err(SqlError::internal("a position without a key")),
            };
            match before {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        Ok(low)
    }

    /// The position of a key's row, deleted or not.
    pub fn find(&self, key: &[u8]) -> SqlResult<Option<u32>> {
        if !self.segment.entry.may_have(key) {
            return Ok(None);
        }
        let position = self.position_of(key, false)?;
        let is_it = (position as usize) < self.segment.segment.rows()
            && self.keys(&[position])?.first().is_some_and(|found| found == key);
        Ok(is_it.then_some(position))
    }

    /// Values of a column at some positions; `None` if the segment is older than the column.
    pub fn column(&self, id: u32, positions: &[u32]) -> SqlResult<Option<ArrayRef>> {
        let segment = &self.segment.segment;
        let Some(ordinal) = segment.column_ordinal(id) else { return Ok(None) };
        let column_type: ColumnType = segment.column_type(ordinal);
        let column = self.cache.column(segment, ordinal);
        let array = column.and_then(|column| column.to_array(column_type, positions.iter().copied()));
        array.map(Some).map_err(|error| sql_error(&self.table.def().name, error))
    }
}
