//! The common state of all partitions of a table.

use super::change_feed::ChangeFeed;
use crate::locks::{LargeWriters, SearchedRanges};
use squall_catalog::TableId;
use std::sync::atomic::{AtomicU64, Ordering};

/// The table that locks, searched ranges and counters are of: one for all partitions of a table, and for its own storage.
pub(crate) struct LogicalTable {
    /// The id of the table's definition.
    pub id: TableId,
    /// The next AUTO_INCREMENT value.
    pub auto_increment: AtomicU64,
    /// The value that the meta keyspace has. Changes under the lock of the log, when it is there.
    pub auto_increment_saved: AtomicU64,
    /// The next hidden row id; 0 until the last one has been looked up.
    pub next_row_id: AtomicU64,
    /// The ranges that open transactions have searched.
    pub searched: SearchedRanges,
    /// The large writers: transactions without explicit locks of the rows that they have written.
    pub large_writers: LargeWriters,
    /// What followers of the table are told.
    pub feed: ChangeFeed,
    /// The version of the newest definition: a statement with an older one would leave entries of new indexes out, and not see to
    /// new constraints.
    pub defined_since: AtomicU64,
    /// The version of the last definition that readers see other rows or columns by than by the one before, and the first sequence number that
    /// has it.
    changed_for_readers: (AtomicU64, AtomicU64),
}

impl LogicalTable {
    pub fn new(id: TableId) -> LogicalTable {
        LogicalTable {
            id,
            auto_increment: AtomicU64::new(1),
            auto_increment_saved: AtomicU64::new(1),
            next_row_id: AtomicU64::new(0),
            searched: SearchedRanges::default(),
            large_writers: LargeWriters::default(),
            feed: ChangeFeed::default(),
            defined_since: AtomicU64::new(0),
            changed_for_readers: (AtomicU64::new(0), AtomicU64::new(0)),
        }
    }

    /// Readers at earlier snapshots than this one are told so if they go by this definition, or by a later one.
    pub fn change_for_readers(&self, version: u64, seqno: u64) {
        let (changed, since) = &self.changed_for_readers;
        // A reader that sees the one without the other is told so, too.
        changed.store(version, Ordering::Release);
        since.fetch_max(seqno, Ordering::AcqRel);
    }

    /// Whether a reader at a sequence number that goes by a definition sees the rows and columns that it has seen before.
    pub fn is_as_read(&self, version: u64, seqno: u64) -> bool {
        let (changed, since) = &self.changed_for_readers;
        seqno >= since.load(Ordering::Acquire) || version < changed.load(Ordering::Acquire)
    }

    /// Sets the next AUTO_INCREMENT value of a table that no session uses yet.
    pub fn start_auto_increment(&self, next: u64) {
        self.auto_increment.store(next, Ordering::Relaxed);
        self.auto_increment_saved.store(next, Ordering::Relaxed);
    }

    /// Makes sure that no AUTO_INCREMENT value up to `value` is given again.
    pub fn observe_auto_increment(&self, value: u64) {
        self.auto_increment.fetch_max(value.saturating_add(1), Ordering::Relaxed);
    }
}
