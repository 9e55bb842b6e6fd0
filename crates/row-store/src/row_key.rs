//! The key of a row in the store.

use crate::engine::Slice;

/// The storage key of a row: where it lies in its table. Orders as the primary key does.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RowKey(pub(crate) Slice);

impl RowKey {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}
