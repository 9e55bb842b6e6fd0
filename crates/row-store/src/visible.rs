//! The sequence number that readers read at.
//!
//! The engine shows a batch as soon as it is applied. Readers see it only when it is as durable as its commit has promised. So no
//! client learns of a change that a power cut or a failed sync could lose.

use crate::engine::Snapshot;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// The newest sequence number that readers see. It is kept open: the engine keeps what readers at it need.
pub(crate) struct VisibleSnapshot {
    snapshot: Mutex<Snapshot>,
    /// That of `snapshot`; saves the readers of single rows the lock.
    seqno: AtomicU64,
}

impl VisibleSnapshot {
    pub fn new(snapshot: Snapshot) -> VisibleSnapshot {
        VisibleSnapshot { seqno: AtomicU64::new(snapshot.seqno()), snapshot: Mutex::new(snapshot) }
    }

    /// Entries with smaller numbers are visible.
    pub fn seqno(&self) -> u64 {
        self.seqno.load(Ordering::Acquire)
    }

    /// For reading what is visible now.
    pub fn snapshot(&self) -> Snapshot {
        self.snapshot.lock().clone()
    }

    /// Lets readers see up to a sequence number, unless they do so already.
    pub fn advance(&self, to: Snapshot) {
        let mut snapshot = self.snapshot.lock();
        if snapshot.seqno() < to.seqno() {
            self.seqno.store(to.seqno(), Ordering::Release);
            let before = std::mem::replace(&mut *snapshot, to);
            drop(snapshot);
            drop(before);
        }
    }
}
