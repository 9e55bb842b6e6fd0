//! Implicit locks, as in InnoDB: a transaction locks the rows that it has written without an entry for each.
//!
//! A statement that locks very many rows releases the locks of rows that it has written, and its transaction becomes a large writer of the table. A
//! transaction that locks a key of such a table searches the write sets of the large writers. If one has written the key, its lock is made explicit,
//! and the transaction waits for it. It searches while it has the key's lock, so nothing is written in between: a large writer also locks a key
//! before it writes it.

use super::{LockKey, Owner};
use crate::written::Written;
use parking_lot::Mutex;
use squall_catalog::TableId;
use squall_types::SqlResult;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The uncommitted writes of a transaction, for others that want a lock of it.
pub(crate) trait UncommittedWrites: Send + Sync {
    /// Notes a lock that another has given the transaction; `false` if that has ended.
    fn add_explicit(&self, lock: &LockKey) -> bool;

    /// Ends the transaction for its waiters; returns the locks that have to be released for it.
    fn take_explicit(&self) -> Vec<LockKey>;

    /// Whether it has written a key, or is being committed, so that it is not known any more. `None`: to find out is to wait for a write
    /// to a file, which is not wanted.
    fn has_written(&self, table: TableId, key: &[u8], may_wait: bool) -> SqlResult<Option<bool>>;

    /// Whether a reader of its writes in a range may have to wait: some are being spilled, or have to be sorted first.
    fn is_busy(&self, table: TableId, bounds: (Bound<&[u8]>, Bound<&[u8]>)) -> bool;

    /// Up to `limit` of its writes to a range of a table, in order; `None` while it is being committed.
    fn writes_of(
        &self,
        table: TableId,
        bounds: (Bound<&[u8]>, Bound<&[u8]>),
        limit: usize,
    ) -> SqlResult<Option<Vec<Written>>>;
}

/// The large writers of one table.
#[derive(Default)]
pub(crate) struct LargeWriters {
    /// How many there are, so that locking a row takes no lock of the list when there are none.
    count: AtomicUsize,
    writers: Mutex<Vec<(Owner, Arc<dyn UncommittedWrites>)>>,
}

impl LargeWriters {
    /// Adds a transaction, from now until it ends.
    pub fn add(&self, owner: Owner, written: Arc<dyn UncommittedWrites>) {
        let mut writers = self.writers.lock();
        writers.push((owner, written));
        self.count.store(writers.len(), Ordering::SeqCst);
    }

    /// Forgets a transaction that has ended.
    pub fn remove(&self, owner: Owner) {
        let mut writers = self.writers.lock();
        writers.retain(|(writer, _)| *writer != owner);
        self.count.store(writers.len(), Ordering::SeqCst);
    }

    /// Has a writer be another family's.
    pub fn change_family(&self, owner: Owner, family: u64) {
        let mut writers = self.writers.lock();
        writers.iter_mut().filter(|(writer, _)| *writer == owner).for_each(|(writer, _)| writer.family = family);
    }

    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    /// Those of other sessions.
    pub fn others(&self, owner: Owner) -> Vec<(Owner, Arc<dyn UncommittedWrites>)> {
        self.writers.lock().iter().filter(|(writer, _)| writer.family != owner.family).cloned().collect()
    }
}
