//! Prepared statements of a session: those of the protocol by number, those of PREPARE by name.

use crate::plans::prepared::PreparedStatement;
use crate::plans::shared_cache::PlanUse;
use crate::plans::slot::PlanSlot;
use crate::result::ResultSet;
use rustc_hash::FxHashMap;
use squall_accounting::{GrowingCharge, SessionMemory};
use squall_catalog::NameKey;
use squall_types::{SqlError, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Rows of an open cursor that have not been fetched.
#[derive(Debug)]
pub struct OpenCursor {
    /// The result.
    pub result: ResultSet,
    /// The next row.
    pub next: usize,
    /// The charge of the rows, until the cursor is closed.
    _charge: GrowingCharge,
}

/// A statement of the protocol.
#[derive(Debug)]
pub(crate) struct PreparedEntry {
    pub statement: Arc<PreparedStatement>,
    pub slot: PlanSlot,
    /// Where its uses are counted, if it is in the cache of all sessions.
    pub plan_use: Option<Arc<PlanUse>>,
    cursor: Option<OpenCursor>,
}

/// The prepared statements of a session.
#[derive(Debug, Default)]
pub struct PreparedStatements {
    next_id: u32,
    by_id: FxHashMap<u32, PreparedEntry>,
    by_name: HashMap<NameKey, Arc<PreparedStatement>>,
    /// Statements that EXECUTE runs now, the outermost first.
    running: Vec<Arc<PreparedStatement>>,
}

impl PreparedStatements {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_id.len() + self.by_name.len()
    }

    /// Whether EXECUTE runs the statement now.
    pub(crate) fn is_running(&self, statement: &Arc<PreparedStatement>) -> bool {
        self.running.iter().any(|running| Arc::ptr_eq(running, statement))
    }

    /// Notes that EXECUTE runs a statement, until [`end_running`](PreparedStatements::end_running).
    pub(crate) fn begin_running(&mut self, statement: &Arc<PreparedStatement>) {
        self.running.push(statement.clone());
    }

    /// Ends what began last.
    pub(crate) fn end_running(&mut self) {
        self.running.pop();
    }

    /// A number for the next statement.
    pub(crate) fn take_id(&mut self) -> u32 {
        self.next_id = self.next_id.wrapping_add(1).max(1);
        self.next_id
    }

    /// Adds a statement of the protocol under its [number](PreparedStatements::take_id).
    pub(crate) fn add(&mut self, id: u32, statement: Arc<PreparedStatement>, plan_use: Option<Arc<PlanUse>>) {
        self.by_id.insert(id, PreparedEntry { statement, slot: PlanSlot::default(), plan_use, cursor: None });
    }

    /// The statement of that number.
    pub fn get(&self, id: u32) -> Option<Arc<PreparedStatement>> {
        self.by_id.get(&id).map(|entry| entry.statement.clone())
    }

    /// The statement of that number, with its plan.
    pub(crate) fn entry(&mut self, id: u32) -> Option<&mut PreparedEntry> {
        self.by_id.get_mut(&id)
    }

    /// Removes a statement; tells whether there was one.
    pub fn remove(&mut self, id: u32) -> bool {
        self.by_id.remove(&id).is_some()
    }

    /// Opens a cursor, or closes it with `None`.
    pub fn set_cursor(&mut self, id: u32, rows: Option<RowCollector>) -> bool {
        match self.by_id.get_mut(&id) {
            Some(entry) => {
                entry.cursor = rows.map(|rows| OpenCursor { result: rows.result, next: 0, _charge: rows.charge });
                true
            }
            None => false,
        }
    }

    /// The open cursor of a statement.
    pub fn cursor(&mut self, id: u32) -> Option<&mut OpenCursor> {
        self.by_id.get_mut(&id)?.cursor.as_mut()
    }

    /// PREPARE: replaces a statement of that name; tells whether there was one.
    pub fn set_named(&mut self, name: &str, statement: Arc<PreparedStatement>) -> bool {
        self.by_name.insert(NameKey::new(name), statement).is_some()
    }

    /// The statement of that name.
    pub fn named(&self, name: &str) -> Option<Arc<PreparedStatement>> {
        self.by_name.get(&NameKey::new(name)).cloned()
    }

    /// DEALLOCATE: tells whether there was one.
    pub fn remove_named(&mut self, name: &str) -> bool {
        self.by_name.remove(&NameKey::new(name)).is_some()
    }
}

/// Collects the rows of a result for a cursor.
#[derive(Debug)]
pub struct RowCollector {
    /// The collected rows.
    pub result: ResultSet,
    row: Vec<Value>,
    charge: GrowingCharge,
    refused: Option<SqlError>,
}

impl RowCollector {
    /// Nothing yet, of a session that is charged for it.
    pub fn new(memory: &Arc<SessionMemory>) -> Self {
        Self { result: ResultSet::default(), row: Vec::new(), charge: GrowingCharge::new(memory), refused: None }
    }

    /// Why no more is kept, if there was no memory for more.
    pub fn refused(&self) -> Option<&SqlError> {
        self.refused.as_ref()
    }
}

impl squall_types::RowWriter for RowCollector {
    fn begin_row(&mut self) {
        self.row = Vec::with_capacity(self.result.columns.len());
    }

    fn put_null(&mut self) {
        self.row.push(Value::Null);
    }

    fn put_int(&mut self, value: i64) {
        self.row.push(Value::Int(value));
    }

    fn put_uint(&mut self, value: u64) {
        self.row.push(Value::UInt(value));
    }

    fn put_double(&mut self, value: f64) {
        self.row.push(Value::Double(value));
    }

    fn put_decimal(&mut self, value: squall_types::Decimal) {
        self.row.push(Value::Decimal(value));
    }

    fn put_bytes(&mut self, value: &[u8]) {
        let binary = self.result.columns.get(self.row.len()).is_some_and(|column| column.sql_type.is_binary_string());
        self.row.push(match std::str::from_utf8(value) {
            Ok(text) if !binary => Value::String(text.to_string()),
            _ => Value::Bytes(value.to_vec()),
        });
    }

    fn put_date(&mut self, value: squall_types::Date) {
        self.row.push(Value::Date(value));
    }

    fn put_datetime(&mut self, value: squall_types::DateTime) {
        self.row.push(Value::DateTime(value));
    }

    fn put_time(&mut self, value: squall_types::Time) {
        self.row.push(Value::Time(value));
    }

    fn end_row(&mut self) {
        let row = std::mem::take(&mut self.row);
        if self.refused.is_some() {
            return;
        }
        let bytes = row.iter().map(|value| size_of::<Value>() + value.heap_bytes()).sum::<usize>();
        match self.charge.grow(size_of::<Vec<Value>>() + bytes) {
            Ok(()) => self.result.rows.push(row),
            Err(error) => self.refused = Some(error),
        }
    }
}
