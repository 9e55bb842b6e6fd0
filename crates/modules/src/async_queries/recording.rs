//! Records the answer of a query as its job's output.
//!
//! An output is a list of entries: the columns of a result set, a row, the end of a result set, a success without rows,
//! a warning. Parts of an output end between entries, and are read one by one.

use squall_row_store::{Writer, write_type, write_value};
use squall_session::api::{ColumnFlags, ColumnMeta, LocalFuture, OkInfo, ResultWriter, StatusInfo};
use squall_types::{Date, DateTime, Decimal, ErrorCode, Level, RowWriter, SqlError, SqlResult, Time, Value, Warning};

/// Version of the layout, in front of every part.
pub(super) const FORMAT: u8 = 1;
pub(super) const COLUMNS: u8 = 1;
pub(super) const ROW: u8 = 2;
pub(super) const END: u8 = 3;
pub(super) const SUCCESS: u8 = 4;
pub(super) const WARNING: u8 = 5;

/// A part is written when it is this long; only the last may be shorter.
pub(super) const PART_BYTES: usize = 256 << 10;

/// How much an answer may be.
#[derive(Clone, Copy)]
pub(super) struct Bound {
    /// The variable that says so, and its value.
    pub variable: &'static str,
    pub value: u64,
    pub bytes_max: u64,
}

/// A writer that keeps everything.
pub(super) struct Recorder<'a> {
    part: Writer,
    part_bytes: usize,
    bytes: u64,
    bound: Bound,
    cells: Vec<Value>,
    add: &'a dyn Fn(Vec<u8>) -> SqlResult<()>,
    /// The query's error, or why its answer could not be kept.
    error: Option<SqlError>,
}

impl<'a> Recorder<'a> {
    /// A recorder that hands its parts to `add`.
    pub fn new(bound: Bound, add: &'a dyn Fn(Vec<u8>) -> SqlResult<()>) -> Self {
        let part = Writer::new(FORMAT);
        Self { part, part_bytes: 0, bytes: 0, bound, cells: Vec::new(), add, error: None }
    }

    /// Ends the recording with the warnings of the query.
    ///
    /// # Errors
    /// The query's, or that of keeping its answer.
    pub fn finish(mut self, warnings: &[Warning]) -> SqlResult<()> {
        for warning in warnings {
            self.entry(WARNING, |out| {
                out.u8(match warning.level {
                    Level::Note => 0,
                    Level::Warning => 1,
                    Level::Error => 2,
                });
                out.uint(u64::from(warning.error.code));
                out.str(warning.error.sqlstate_str());
                out.str(&warning.error.message);
            });
        }
        self.flush_part();
        self.error.map_or(Ok(()), Err)
    }

    fn entry(&mut self, tag: u8, write: impl FnOnce(&mut Writer)) {
        if self.error.is_some() {
            return;
        }
        let mut entry = Writer::new(tag);
        write(&mut entry);
        let entry = entry.finish();
        // As it will be in the part, behind its length; and a part begins with its version.
        let length_bytes = (usize::BITS - entry.len().leading_zeros()).div_ceil(7).max(1) as usize;
        let bytes = entry.len() + length_bytes + usize::from(self.part_bytes == 0);
        self.part_bytes += bytes;
        self.bytes += bytes as u64;
        if self.bytes > self.bound.bytes_max {
            let message = format!("The result is larger than {} ({})", self.bound.variable, self.bound.value);
            self.error = Some(SqlError::with_message(ErrorCode::UnknownError, message));
            return;
        }
        self.part.bytes(&entry);
        if self.part_bytes >= PART_BYTES {
            self.flush_part();
        }
    }

    fn flush_part(&mut self) {
        if self.part_bytes == 0 || self.error.is_some() {
            return;
        }
        let part = std::mem::replace(&mut self.part, Writer::new(FORMAT));
        self.part_bytes = 0;
        if let Err(error) = (self.add)(part.finish()) {
            self.error = Some(error);
        }
    }
}

fn write_column(out: &mut Writer, column: &ColumnMeta) {
    for name in [&column.database, &column.table, &column.org_table, &column.name, &column.org_name] {
        out.str(name);
    }
    write_type(out, &column.sql_type);
    let ColumnFlags {
        not_null,
        primary_key,
        unique_key,
        multiple_key,
        part_key,
        auto_increment,
        no_default_value,
        on_update_now,
    } = column.flags;
    let flags =
        [not_null, primary_key, unique_key, multiple_key, part_key, auto_increment, no_default_value, on_update_now];
    out.u8(flags.iter().enumerate().fold(0, |bits, (at, flag)| bits | u8::from(*flag) << at));
}

impl RowWriter for Recorder<'_> {
    fn begin_row(&mut self) {
        self.cells.clear();
    }
    fn put_null(&mut self) {
        self.cells.push(Value::Null);
    }
    fn put_int(&mut self, value: i64) {
        self.cells.push(Value::Int(value));
    }
    fn put_uint(&mut self, value: u64) {
        self.cells.push(Value::UInt(value));
    }
    fn put_double(&mut self, value: f64) {
        self.cells.push(Value::Double(value));
    }
    fn put_decimal(&mut self, value: Decimal) {
        self.cells.push(Value::Decimal(value));
    }
    fn put_bytes(&mut self, value: &[u8]) {
        self.cells.push(Value::Bytes(value.to_vec()));
    }
    fn put_date(&mut self, value: Date) {
        self.cells.push(Value::Date(value));
    }
    fn put_datetime(&mut self, value: DateTime) {
        self.cells.push(Value::DateTime(value));
    }
    fn put_time(&mut self, value: Time) {
        self.cells.push(Value::Time(value));
    }
    fn end_row(&mut self) {
        let cells = std::mem::take(&mut self.cells);
        self.entry(ROW, |out| out.list(&cells, write_value));
        self.cells = cells;
    }
}

impl ResultWriter for Recorder<'_> {
    fn begin_result_set(&mut self, columns: &[ColumnMeta]) {
        self.entry(COLUMNS, |out| out.list(columns, write_column));
    }
    fn end_result_set(&mut self, status: &StatusInfo) {
        self.entry(END, |out| out.uint(u64::from(status.warnings)));
    }
    fn ok(&mut self, ok: &OkInfo, _status: &StatusInfo) {
        self.entry(SUCCESS, |out| {
            out.uint(ok.affected_rows);
            out.uint(ok.last_insert_id);
            out.str(&ok.info);
        });
    }
    fn error(&mut self, error: &SqlError) {
        self.error = Some(error.clone());
    }
    fn needs_flush(&self) -> bool {
        self.error.is_some()
    }
    /// Keeping the answer has failed, so the statement need not go on.
    fn flush(&mut self) -> LocalFuture<'_, std::io::Result<()>> {
        let result = match &self.error {
            Some(error) => Err(std::io::Error::other(error.message.clone())),
            None => Ok(()),
        };
        Box::pin(async { result })
    }
    fn local_infile<'a>(&'a mut self, _name: &'a str) -> LocalFuture<'a, Result<(), SqlError>> {
        Box::pin(async { Err(SqlError::new(ErrorCode::LocalInfileDisabled, &[])) })
    }
    fn local_infile_chunk(&mut self) -> LocalFuture<'_, Result<Option<Vec<u8>>, SqlError>> {
        Box::pin(async { Ok(None) })
    }
}
