//! A string of a row that is read in pieces, in the row or out of it.

use super::large_values::{Reference, digest_in_row};
use super::row::{Row, Variable};
use crate::error::corrupted;
use crate::table::Table;
use squall_types::{SqlResult, StoredBytes};
use std::fmt;
use std::sync::Arc;

/// A string of a row, together with the row and the snapshot that it was read in.
pub struct StoredValue {
    row: Row,
    table: Arc<Table>,
    ordinal: usize,
    length: u64,
    /// If it lies out of the row.
    reference: Option<Reference>,
}

impl fmt::Debug for StoredValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredValue").field("row", &self.row).field("ordinal", &self.ordinal).finish_non_exhaustive()
    }
}

impl Row {
    /// A column's value, to be read in pieces; `None` if it is NULL, or not a string that is stored as it is. `table` is the one that the row was
    /// read with.
    ///
    /// # Errors
    /// 1034 for a damaged row.
    pub fn stored_value(&self, table: &Arc<Table>, ordinal: usize) -> SqlResult<Option<StoredValue>> {
        let Some(place) = self.view(table).string_place(ordinal)? else { return Ok(None) };
        let (length, reference) = match place {
            Variable::InRow(bytes) => (bytes.len() as u64, None),
            Variable::Large(reference) => (reference.length(), Some(reference)),
        };
        Ok(Some(StoredValue { row: self.clone(), table: table.clone(), ordinal, length, reference }))
    }
}

impl StoredValue {
    fn in_row(&self) -> SqlResult<&[u8]> {
        match self.row.view(&self.table).string_place(self.ordinal)? {
            Some(Variable::InRow(bytes)) => Ok(bytes),
            _ => Err(corrupted(&self.table.def().name)),
        }
    }
}

impl StoredBytes for StoredValue {
    fn length(&self) -> u64 {
        self.length
    }

    fn read(&self, at: u64, bytes_max: usize) -> SqlResult<Vec<u8>> {
        let end = self.length.min(at.saturating_add(bytes_max as u64));
        if at >= end {
            return Ok(Vec::new());
        }
        let Some(reference) = self.reference else {
            // A place in memory.
            let bytes = self.in_row()?.get(at as usize..end as usize);
            return bytes.map(<[u8]>::to_vec).ok_or_else(|| corrupted(&self.table.def().name));
        };
        let bytes = self.row.view(&self.table).large_part(self.ordinal, reference, at..end)?;
        bytes.ok_or_else(|| corrupted(&self.table.def().name))
    }

    fn digest(&self) -> SqlResult<u128> {
        match self.reference {
            Some(reference) => Ok(reference.digest()),
            None => Ok(digest_in_row(self.in_row()?)),
        }
    }
}
