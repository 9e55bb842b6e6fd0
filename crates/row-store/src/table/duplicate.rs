//! The error of a key that is there already.

use super::Table;
use crate::error::{DuplicateKey, StoreError};
use crate::index_key::IndexCodec;
use crate::row_key::RowKey;
use squall_types::Value;

impl Table {
    /// The error of a row with these values, whose entry of an index is that of the row with the key `existing`.
    pub(crate) fn duplicate(
        &self,
        codec: &IndexCodec,
        (values, entry_key): (&[Value], &[u8]),
        existing: Vec<u8>,
    ) -> StoreError {
        StoreError::Duplicate(Box::new(DuplicateKey {
            table: self.def().name.clone(),
            index: codec.name.clone(),
            index_id: codec.id,
            entry: codec.entry_text(values, entry_key),
            existing: RowKey(existing.into()),
        }))
    }
}
