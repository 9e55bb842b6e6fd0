//! Takes the result of a query for one value.

use sha2::{Digest as _, Sha256};
use squall_session::api::{ColumnMeta, GrowingCharge, LocalFuture, OkInfo, ResultWriter, SessionMemory, StatusInfo};
use squall_types::{Date, DateTime, Decimal, ErrorCode, RowWriter, SqlError, SqlResult, StoredBytes, Time};
use std::io;
use std::sync::Arc;

/// A value that was found.
#[derive(Debug)]
pub(super) enum Found {
    /// A string where it lies.
    Stored(Arc<dyn StoredBytes>),
    /// What a query has computed.
    Whole(Vec<u8>),
    /// NULL.
    Null,
}

impl Found {
    /// Its bytes, if it has some.
    pub fn source(self) -> Option<Arc<dyn StoredBytes>> {
        match self {
            Found::Stored(value) => Some(value),
            Found::Whole(value) => Some(Arc::new(WholeBytes(value))),
            Found::Null => None,
        }
    }
}

/// A string in memory, which is read as one in a table is.
#[derive(Debug)]
struct WholeBytes(Vec<u8>);

impl StoredBytes for WholeBytes {
    fn length(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, at: u64, bytes_max: usize) -> SqlResult<Vec<u8>> {
        let start = usize::try_from(at).unwrap_or(usize::MAX).min(self.0.len());
        let end = start.saturating_add(bytes_max).min(self.0.len());
        Ok(self.0[start..end].to_vec())
    }

    fn digest(&self) -> SqlResult<u128> {
        let digest: [u8; 32] = Sha256::digest(&self.0).into();
        Ok(digest.iter().take(16).fold(0, |all, byte| all << 8 | u128::from(*byte)))
    }
}

/// Keeps the first row of a result: a value, and a text if there is a second column.
pub(super) struct ValueWriter {
    pub found: Option<Found>,
    /// The text of the second column.
    pub text: Option<String>,
    pub error: Option<SqlError>,
    /// The memory of a value that a query has computed.
    charge: GrowingCharge,
    rows: u64,
    column: usize,
}

impl ValueWriter {
    /// One whose memory is charged to a session.
    pub fn new(memory: &Arc<SessionMemory>) -> ValueWriter {
        ValueWriter { found: None, text: None, error: None, charge: GrowingCharge::new(memory), rows: 0, column: 0 }
    }

    /// Rows that came.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// The charge of what it holds, to be kept as long as that.
    pub fn into_charge(self) -> GrowingCharge {
        self.charge
    }

    fn put(&mut self, value: impl FnOnce() -> Found) {
        match (self.rows, self.column) {
            (1, 0) => self.found = Some(value()),
            (1, 1) => {
                if let Found::Whole(bytes) = value() {
                    self.text = String::from_utf8(bytes).ok();
                }
            }
            _ => {}
        }
        self.column += 1;
    }

    /// A value that is no string.
    fn refuse(&mut self) {
        self.fail(SqlError::new(ErrorCode::WrongArguments, &[&"/1.0/blob: the column has no strings"]));
    }

    fn fail(&mut self, error: SqlError) {
        self.error.get_or_insert(error);
    }
}

impl RowWriter for ValueWriter {
    fn begin_row(&mut self) {
        self.rows += 1;
        self.column = 0;
    }

    fn put_null(&mut self) {
        self.put(|| Found::Null);
    }

    fn put_int(&mut self, _value: i64) {
        self.refuse();
    }

    fn put_uint(&mut self, _value: u64) {
        self.refuse();
    }

    fn put_double(&mut self, _value: f64) {
        self.refuse();
    }

    fn put_decimal(&mut self, _value: Decimal) {
        self.refuse();
    }

    fn put_bytes(&mut self, value: &[u8]) {
        if let Err(error) = self.charge.grow(value.len()) {
            return self.fail(error);
        }
        self.put(|| Found::Whole(value.to_vec()));
    }

    fn take_stored(&mut self, open: &dyn Fn() -> SqlResult<Option<Arc<dyn StoredBytes>>>) -> SqlResult<bool> {
        if self.column > 0 || self.rows > 1 {
            return Ok(false);
        }
        let Some(stored) = open()? else { return Ok(false) };
        self.put(|| Found::Stored(stored));
        Ok(true)
    }

    fn put_date(&mut self, _value: Date) {
        self.refuse();
    }

    fn put_datetime(&mut self, _value: DateTime) {
        self.refuse();
    }

    fn put_time(&mut self, _value: Time) {
        self.refuse();
    }

    fn end_row(&mut self) {}
}

impl ResultWriter for ValueWriter {
    fn begin_result_set(&mut self, _columns: &[ColumnMeta]) {}

    fn end_result_set(&mut self, _status: &StatusInfo) {}

    fn ok(&mut self, _ok: &OkInfo, _status: &StatusInfo) {}

    fn error(&mut self, error: &SqlError) {
        self.fail(error.clone());
    }

    fn needs_flush(&self) -> bool {
        self.error.is_some()
    }

    fn flush(&mut self) -> LocalFuture<'_, io::Result<()>> {
        let flushed = if self.needs_flush() { Err(io::ErrorKind::InvalidData.into()) } else { Ok(()) };
        Box::pin(async { flushed })
    }
}
