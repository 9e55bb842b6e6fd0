//! Collects results as values in memory.

use crate::result::writer::{ColumnMeta, LocalFuture, OkInfo, ResultWriter, StatusInfo};
use squall_accounting::{GrowingCharge, SessionMemory};
use squall_types::json::Document;
use squall_types::{Date, DateTime, Decimal, RowWriter, SqlError, SqlType, Time, Value};
use std::sync::Arc;

/// The answer of one statement.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StatementResult {
    /// Columns; empty for a statement without rows.
    pub columns: Vec<ColumnMeta>,
    /// Rows, a value for each column.
    pub rows: Vec<Vec<Value>>,
    /// Rows changed.
    pub affected_rows: u64,
    /// First AUTO_INCREMENT value made by the statement, or 0.
    pub last_insert_id: u64,
    /// How many warnings `SHOW WARNINGS` has.
    pub warning_count: u16,
}

/// A writer that keeps everything.
#[derive(Debug, Default)]
pub struct Collector {
    results: Vec<StatementResult>,
    error: Option<SqlError>,
    /// The bytes of the rows, roughly, and their bound.
    bytes: usize,
    bytes_max: Option<usize>,
    /// The same, of the memory that all sessions share.
    charge: Option<GrowingCharge>,
    /// Why no more is kept.
    refused: Option<SqlError>,
}

impl Collector {
    /// One whose rows are charged to a session, and stop the statement where there is no memory left for them.
    pub fn charged(memory: &Arc<SessionMemory>) -> Self {
        Self { charge: Some(GrowingCharge::new(memory)), ..Self::default() }
    }

    /// The same, where the rows may not take more than that either way.
    pub fn bounded(bytes_max: usize, memory: &Arc<SessionMemory>) -> Self {
        Self { bytes_max: Some(bytes_max), ..Self::charged(memory) }
    }

    /// Whether there was more than may be kept.
    pub fn is_full(&self) -> bool {
        self.bytes_max.is_some_and(|most| self.bytes > most)
    }

    /// The error of what there was no memory for: the statement's own, if it has one, is that it could not send it.
    pub fn refused(&self) -> Result<(), SqlError> {
        self.refused.clone().map_or(Ok(()), Err)
    }

    /// Everything that was answered, or the error that ended it.
    pub fn into_results(self) -> Result<Vec<StatementResult>, SqlError> {
        self.into_charged_results().map(|(results, _)| results)
    }

    /// The same with what it was charged for, to be kept for as long as the results are.
    pub fn into_charged_results(self) -> Result<(Vec<StatementResult>, Option<GrowingCharge>), SqlError> {
        match self.refused.or(self.error) {
            Some(error) => Err(error),
            None => Ok((self.results, self.charge)),
        }
    }

    fn take_in(&mut self, bytes: usize) {
        self.bytes += bytes;
        if self.refused.is_none()
            && let Some(charge) = &mut self.charge
        {
            self.refused = charge.grow(bytes).err();
        }
    }

    fn put(&mut self, make: impl FnOnce(&SqlType) -> Value) {
        if self.refused.is_some() {
            return;
        }
        if let Some(result) = self.results.last_mut()
            && let Some(row) = result.rows.last_mut()
            && let Some(column) = result.columns.get(row.len())
        {
            row.push(make(&column.sql_type));
        }
    }
}

/// A writer that keeps nothing but the error.
#[derive(Debug, Default)]
pub struct LastError {
    /// The error that ended the statements, if one has.
    pub error: Option<SqlError>,
    /// Rows that they have changed.
    pub affected_rows: u64,
}

impl RowWriter for LastError {
    fn begin_row(&mut self) {}
    fn put_null(&mut self) {}
    fn put_int(&mut self, _value: i64) {}
    fn put_uint(&mut self, _value: u64) {}
    fn put_double(&mut self, _value: f64) {}
    fn put_decimal(&mut self, _value: Decimal) {}
    fn put_bytes(&mut self, _value: &[u8]) {}
    fn put_date(&mut self, _value: Date) {}
    fn put_datetime(&mut self, _value: DateTime) {}
    fn put_time(&mut self, _value: Time) {}
    fn end_row(&mut self) {}
}

impl ResultWriter for LastError {
    fn begin_result_set(&mut self, _columns: &[ColumnMeta]) {}
    fn end_result_set(&mut self, _status: &StatusInfo) {}
    fn ok(&mut self, ok: &OkInfo, _status: &StatusInfo) {
        self.affected_rows += ok.affected_rows;
    }
    fn error(&mut self, error: &SqlError) {
        self.error = Some(error.clone());
    }
}

impl RowWriter for Collector {
    fn begin_row(&mut self) {
        let width = self.results.last().map_or(0, |result| result.columns.len());
        self.take_in(size_of::<Vec<Value>>() + width * size_of::<Value>());
        if self.refused.is_none()
            && let Some(result) = self.results.last_mut()
        {
            result.rows.push(Vec::with_capacity(result.columns.len()));
        }
    }

    fn put_null(&mut self) {
        self.put(|_| Value::Null);
    }

    fn put_int(&mut self, value: i64) {
        self.put(|_| Value::Int(value));
    }

    fn put_uint(&mut self, value: u64) {
        self.put(|_| Value::UInt(value));
    }

    fn put_double(&mut self, value: f64) {
        self.put(|_| Value::Double(value));
    }

    fn put_decimal(&mut self, value: Decimal) {
        self.put(|_| Value::Decimal(value));
    }

    fn put_bytes(&mut self, value: &[u8]) {
        self.take_in(value.len());
        let text = || String::from_utf8_lossy(value).into_owned();
        self.put(|sql_type| match sql_type {
            SqlType::Json => Value::Json(Document::from_stored(text())),
            _ if sql_type.is_binary_string() => Value::Bytes(value.to_vec()),
            _ => Value::String(text()),
        });
    }

    fn put_date(&mut self, value: Date) {
        self.put(|_| Value::Date(value));
    }

    fn put_datetime(&mut self, value: DateTime) {
        self.put(|_| Value::DateTime(value));
    }

    fn put_time(&mut self, value: Time) {
        self.put(|_| Value::Time(value));
    }

    fn end_row(&mut self) {}
}

impl ResultWriter for Collector {
    fn begin_result_set(&mut self, columns: &[ColumnMeta]) {
        self.results.push(StatementResult { columns: columns.to_vec(), ..StatementResult::default() });
    }

    fn end_result_set(&mut self, status: &StatusInfo) {
        if let Some(result) = self.results.last_mut() {
            result.warning_count = status.warnings;
        }
    }

    fn ok(&mut self, ok: &OkInfo, status: &StatusInfo) {
        self.results.push(StatementResult {
            affected_rows: ok.affected_rows,
            last_insert_id: ok.last_insert_id,
            warning_count: status.warnings,
            ..StatementResult::default()
        });
    }

    fn error(&mut self, error: &SqlError) {
        self.error = Some(error.clone());
    }

    fn needs_flush(&self) -> bool {
        self.is_full() || self.refused.is_some()
    }

    fn flush(&mut self) -> LocalFuture<'_, std::io::Result<()>> {
        let result = if self.needs_flush() { Err(std::io::ErrorKind::OutOfMemory.into()) } else { Ok(()) };
        Box::pin(async { result })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_beyond_the_bound_stop_the_statement() {
        let mut collector = Collector::bounded(100, &Arc::default());
        collector.begin_result_set(&[]);
        assert!(!collector.needs_flush());
        collector.put_bytes(&[0; 101]);
        assert!(collector.is_full() && collector.needs_flush());
        assert!(!Collector::default().is_full());
    }
}
