//! Memory that a session's statements have reserved.

use std::sync::atomic::{AtomicUsize, Ordering};

/// What the statements of one session have reserved, and the most it has been. Bytes.
#[derive(Debug, Default)]
pub struct SessionMemory {
    reserved: AtomicUsize,
    statement_high: AtomicUsize,
    high: AtomicUsize,
}

impl SessionMemory {
    /// So much more is reserved.
    pub fn grow(&self, bytes: usize) {
        let reserved = self.reserved.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.statement_high.fetch_max(reserved, Ordering::Relaxed);
        self.high.fetch_max(reserved, Ordering::Relaxed);
    }

    /// So much is given back.
    pub fn shrink(&self, bytes: usize) {
        self.reserved.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// What is reserved now.
    pub fn reserved(&self) -> usize {
        self.reserved.load(Ordering::Relaxed)
    }

    /// The most there was since the session's begin.
    pub fn high(&self) -> usize {
        self.high.load(Ordering::Relaxed)
    }

    /// A statement begins.
    pub fn begin_statement(&self) {
        self.statement_high.store(self.reserved(), Ordering::Relaxed);
    }

    /// The most there was since then.
    pub fn statement_high(&self) -> usize {
        self.statement_high.load(Ordering::Relaxed)
    }
}
