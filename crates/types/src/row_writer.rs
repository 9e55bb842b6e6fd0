//! [`RowWriter`]: receives finished rows, value by value.

use crate::{Date, DateTime, Decimal, SqlResult, StoredBytes, Time};
use std::sync::Arc;

/// Writes one row, value by value, in the encoding of the current result set (text or binary).
///
/// The caller puts exactly as many values as there are columns, each by the method that fits the column's type as
/// [`SqlType`](crate::SqlType) documents: integers, BIT, YEAR by `put_int`/`put_uint`; ENUM and SET as their text by `put_bytes`.
pub trait RowWriter {
    /// Begins a row.
    fn begin_row(&mut self);
    /// NULL.
    fn put_null(&mut self);
    /// A signed integer.
    fn put_int(&mut self, value: i64);
    /// An unsigned integer, a YEAR or a BIT (its column's type tells which).
    fn put_uint(&mut self, value: u64);
    /// DOUBLE or FLOAT (the column's type tells which).
    fn put_double(&mut self, value: f64);
    /// DECIMAL.
    fn put_decimal(&mut self, value: Decimal);
    /// A character or byte string, ENUM, SET and JSON text, in UTF-8; conversion to the client's character set is the
    /// writer's.
    fn put_bytes(&mut self, value: &[u8]);
    /// A string of a stored row, offered before it is read: a writer that takes it (`true`) reads it in pieces later, and gets no
    /// [`RowWriter::put_bytes`] for it. What is offered is none if the value is NULL, or not stored as it is read.
    fn take_stored(&mut self, _open: &dyn Fn() -> SqlResult<Option<Arc<dyn StoredBytes>>>) -> SqlResult<bool> {
        Ok(false)
    }
    /// DATE.
    fn put_date(&mut self, value: Date);
    /// DATETIME, TIMESTAMP.
    fn put_datetime(&mut self, value: DateTime);
    /// TIME.
    fn put_time(&mut self, value: Time);
    /// Ends the row.
    fn end_row(&mut self);
}
