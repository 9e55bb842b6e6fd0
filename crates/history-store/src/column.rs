//! A column of a table at one time.

use squall_types::Value;
use std::sync::Arc;

/// Values by row: those of another snapshot, and which of them differ. Snapshots share equal values.
#[derive(Clone, Debug)]
pub struct Column {
    base: Arc<Vec<Value>>,
    /// By row.
    changed: Arc<Vec<(u32, Value)>>,
}

impl Column {
    /// The value of a row; NULL beyond the last.
    pub fn get(&self, row: usize) -> &Value {
        let found = self.changed.binary_search_by_key(&row, |(changed, _)| *changed as usize);
        match found {
            Ok(at) => &self.changed[at].1,
            Err(_) => self.base.get(row).unwrap_or(&Value::Null),
        }
    }

    /// How many rows it had in the snapshot whose values it shares.
    pub(crate) fn base_rows(&self) -> usize {
        self.base.len()
    }

    /// The column in another snapshot, with other values in rows that are in ascending order.
    pub(crate) fn with(&self, changed: Vec<(u32, Value)>) -> Column {
        Column { base: self.base.clone(), changed: Arc::new(changed) }
    }
}

impl From<Vec<Value>> for Column {
    fn from(values: Vec<Value>) -> Column {
        Column { base: Arc::new(values), changed: Arc::default() }
    }
}
