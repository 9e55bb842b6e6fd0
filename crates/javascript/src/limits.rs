//! The memory limit of all scripts together.

use std::sync::atomic::{AtomicUsize, Ordering};

/// The memory of all realms.
#[derive(Debug)]
pub struct TotalMemory {
    used: AtomicUsize,
    limit: AtomicUsize,
}

impl Default for TotalMemory {
    fn default() -> Self {
        TotalMemory { used: AtomicUsize::new(0), limit: AtomicUsize::new(usize::MAX) }
    }
}

impl TotalMemory {
    /// Bytes that realms have, idle ones too.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Sets the most bytes there may be.
    pub fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Ordering::Relaxed);
    }

    /// Whether all of it is taken.
    pub fn is_exhausted(&self) -> bool {
        self.used() >= self.limit.load(Ordering::Relaxed)
    }

    /// Takes this many bytes; false if there are none left.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if used > self.limit.load(Ordering::Relaxed) {
            self.give_back(bytes);
            return false;
        }
        true
    }

    /// Gives this many bytes back.
    pub(crate) fn give_back(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}
