//! Passes the results of a procedure's statements on to the client.

use crate::result::writer::{ColumnMeta, LocalFuture, OkInfo, ResultWriter, StatusInfo};
use squall_types::{Date, DateTime, Decimal, RowWriter, SqlError, Time};

/// Passes result sets on as parts of a CALL's answer. Successes without rows are not told to the client, and an error
/// is kept for the procedure to decide about.
pub(crate) struct PassOn<'a> {
    pub writer: &'a mut dyn ResultWriter,
    pub ok: Option<OkInfo>,
    pub error: Option<SqlError>,
}

impl<'a> PassOn<'a> {
    pub fn new(writer: &'a mut dyn ResultWriter) -> Self {
        Self { writer, ok: None, error: None }
    }
}

impl RowWriter for PassOn<'_> {
    fn begin_row(&mut self) {
        self.writer.begin_row();
    }
    fn put_null(&mut self) {
        self.writer.put_null();
    }
    fn put_int(&mut self, value: i64) {
        self.writer.put_int(value);
    }
    fn put_uint(&mut self, value: u64) {
        self.writer.put_uint(value);
    }
    fn put_double(&mut self, value: f64) {
        self.writer.put_double(value);
    }
    fn put_decimal(&mut self, value: Decimal) {
        self.writer.put_decimal(value);
    }
    fn put_bytes(&mut self, value: &[u8]) {
        self.writer.put_bytes(value);
    }
    fn put_date(&mut self, value: Date) {
        self.writer.put_date(value);
    }
    fn put_datetime(&mut self, value: DateTime) {
        self.writer.put_datetime(value);
    }
    fn put_time(&mut self, value: Time) {
        self.writer.put_time(value);
    }
    fn end_row(&mut self) {
        self.writer.end_row();
    }
}

impl ResultWriter for PassOn<'_> {
    fn begin_result_set(&mut self, columns: &[ColumnMeta]) {
        self.writer.begin_result_set(columns);
    }
    fn end_result_set(&mut self, status: &StatusInfo) {
        self.writer.end_result_set(&StatusInfo { more_results: true, ..status.clone() });
    }
    fn ok(&mut self, ok: &OkInfo, _status: &StatusInfo) {
        self.ok = Some(ok.clone());
    }
    fn error(&mut self, error: &SqlError) {
        self.error = Some(error.clone());
    }
    fn is_satisfied(&self) -> bool {
        self.writer.is_satisfied()
    }
    fn needs_flush(&self) -> bool {
        self.writer.needs_flush()
    }
    fn flush(&mut self) -> LocalFuture<'_, std::io::Result<()>> {
        self.writer.flush()
    }
    fn local_infile<'a>(&'a mut self, name: &'a str) -> LocalFuture<'a, Result<(), SqlError>> {
        self.writer.local_infile(name)
    }
    fn local_infile_chunk(&mut self) -> LocalFuture<'_, Result<Option<Vec<u8>>, SqlError>> {
        self.writer.local_infile_chunk()
    }
}
