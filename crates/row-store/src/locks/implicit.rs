//! Locks that a transaction has by what it has written, as InnoDB's implicit locks.
//!
//! A statement that locks very many rows gives those locks back that it has taken for what it has written, and its transaction is known
//! as a large writer of the table instead. A transaction that locks a key of such a table looks into what its large writers have written, and makes the lock that one
//! of them has by it explicit: then it waits as for any other. It looks when it has the lock itself, so that nothing is written
//! in between: a large writer, too, has a key's lock when it writes it.

use super::Owner;
use crate::read_view::Uncommitted;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The large writers of one table.
#[derive(Default)]
pub(crate) struct LargeWriters {
    /// How many there are, so that locking a row takes no lock of the list when there are none.
    count: AtomicUsize,
    writers: Mutex<Vec<(Owner, Arc<Uncommitted>)>>,
}

impl LargeWriters {
    /// Adds a transaction, from now until it ends.
    pub fn add(&self, owner: Owner, written: &Arc<Uncommitted>) {
        let mut writers = self.writers.lock();
        writers.push((owner, written.clone()));
        self.count.store(writers.len(), Ordering::SeqCst);
    }

    /// Forgets a transaction that has ended.
    pub fn remove(&self, owner: Owner) {
        let mut writers = self.writers.lock();
        writers.retain(|(writer, _)| *writer != owner);
        self.count.store(writers.len(), Ordering::SeqCst);
    }

    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::SeqCst) == 0
    }

    /// Those of other sessions.
    pub fn others(&self, owner: Owner) -> Vec<(Owner, Arc<Uncommitted>)> {
        self.writers.lock().iter().filter(|(writer, _)| writer.family != owner.family).cloned().collect()
    }
}
