//! Sizes that may change while the store is open.

use super::RowStore;
use crate::store::recovery::allow_large_values;
use crate::table::large_values::LargeValueLimit;
use squall_types::SqlResult;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Which values stay in their rows.
pub(super) struct InlineValues {
    /// See [`StoreOptions::inline_value_bytes_max`](crate::StoreOptions::inline_value_bytes_max).
    bytes_max: AtomicUsize,
    /// The directory's format allows values out of their rows, so there may be some.
    has_large_values: AtomicBool,
}

impl InlineValues {
    pub fn new(bytes_max: usize, has_large_values: bool) -> InlineValues {
        InlineValues { bytes_max: AtomicUsize::new(bytes_max), has_large_values: AtomicBool::new(has_large_values) }
    }
}

impl RowStore {
    /// Lets changes of each transaction take so much memory before they go to temporary files.
    pub fn set_transaction_buffer(&self, bytes: usize) {
        self.0.spill_place.set_bytes_max(bytes);
    }

    /// Lets values of so many bytes stay in their rows; longer ones of BLOB, TEXT, JSON and spatial columns lie out of them. For rows that
    /// are written from now on. `usize::MAX` lets all stay; any other number changes the format of the directory, once and for good, before
    /// it takes effect.
    ///
    /// # Errors
    /// Those of writing the format. The limit is what it was then.
    pub fn set_inline_values(&self, bytes_max: usize) -> SqlResult<()> {
        if bytes_max < usize::MAX && !self.may_have_large_values() {
            allow_large_values(&self.0.committer)?;
            self.0.inline_values.has_large_values.store(true, Ordering::Release);
        }
        self.0.inline_values.bytes_max.store(bytes_max, Ordering::Release);
        Ok(())
    }

    /// Whether values may lie out of their rows: the directory has the format for them. Who has seen a limit sees this too.
    pub fn may_have_large_values(&self) -> bool {
        self.0.inline_values.has_large_values.load(Ordering::Acquire)
    }

    pub(crate) fn large_value_limit(&self) -> LargeValueLimit {
        LargeValueLimit { inline_bytes_max: self.0.inline_values.bytes_max.load(Ordering::Acquire) }
    }
}
