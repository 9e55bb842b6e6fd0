//! The forms that results are written in.

pub mod arrow;
pub mod csv;
pub mod json;
pub mod ndjson;
pub mod parquet;
mod row_batch;
pub mod values;

use crate::answer::{Answer, of_problem};
use crate::problem::Problem;
use squall_session::api::{ColumnMeta, OkInfo};
use squall_types::{Date, DateTime, Decimal, SqlResult, Time, Warning};
use std::time::Duration;

/// A value of a row, as its column's type has it.
#[derive(Clone, Copy, Debug)]
pub enum Cell<'v> {
    /// NULL.
    Null,
    /// A signed integer.
    Int(i64),
    /// An unsigned integer, a YEAR or a BIT.
    UInt(u64),
    /// DOUBLE or FLOAT.
    Double(f64),
    /// DECIMAL.
    Decimal(Decimal),
    /// A string, bytes, ENUM, SET or JSON.
    Bytes(&'v [u8]),
    /// DATE.
    Date(Date),
    /// DATETIME or TIMESTAMP.
    DateTime(DateTime),
    /// TIME.
    Time(Time),
}

/// Writes results in a form. All methods append to `out`.
pub trait Form {
    /// The media type.
    const MEDIA_TYPE: &'static str;
    /// Whether an answer without a result set has no body.
    const IS_OF_SETS: bool = true;

    /// A result set begins.
    ///
    /// # Errors
    /// When the form has no such columns.
    fn begin_set(&mut self, columns: &[ColumnMeta], out: &mut Vec<u8>) -> SqlResult<()>;
    /// A row begins.
    fn begin_row(&mut self, out: &mut Vec<u8>);
    /// The next value of the row.
    ///
    /// # Errors
    /// When the form has no such value.
    fn cell(&mut self, cell: Cell<'_>, out: &mut Vec<u8>) -> SqlResult<()>;
    /// The row ends.
    ///
    /// # Errors
    /// When the form cannot have it.
    fn end_row(&mut self, out: &mut Vec<u8>) -> SqlResult<()>;
    /// The result set ends; it is `truncated` if it had more rows than were asked for.
    ///
    /// # Errors
    /// When the form cannot have its rows.
    fn end_set(&mut self, truncated: bool, out: &mut Vec<u8>) -> SqlResult<()>;
    /// A statement without rows has succeeded.
    fn ok(&mut self, _ok: &OkInfo, _out: &mut Vec<u8>) {}
    /// Warnings and notes of the result before.
    fn conditions(&mut self, _conditions: &[Warning], _out: &mut Vec<u8>) {}
    /// Everything has succeeded, or `problem` has ended it after a part was sent. Whether the form can tell of a problem.
    fn end(&mut self, problem: Option<&Problem>, _elapsed: Duration, _out: &mut Vec<u8>) -> bool {
        problem.is_none()
    }
    /// The answer for a problem before anything was sent.
    fn refusal(&self, problem: &Problem) -> Answer {
        of_problem(problem)
    }
    /// Whether results after the first result set are dropped.
    fn is_full(&self) -> bool {
        false
    }
}
