//! Iterates over the writes of a transaction that has not committed.

use crate::engine::Slice;

/// The write to a key: its new value, or its removal.
pub(crate) type Change = Option<Slice>;

/// A key, the step at which it was written, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub key: Slice,
    pub step: u64,
    pub change: Change,
}
