//! Moments that somebody reads at, and with them what may be thrown away.

use super::{AbstractTree, Iter, Keyspace, Result, SeqNo, Slice};
use lsm_tree::SequenceNumberCounter;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::ops::RangeBounds;
use std::sync::Arc;

/// The moments at which there are snapshots.
pub(crate) struct Snapshots {
    /// The next moment: changes with smaller numbers are there.
    next: SequenceNumberCounter,
    /// How many snapshots there are of each moment.
    open: Mutex<BTreeMap<SeqNo, usize>>,
}

impl Snapshots {
    pub fn new(next: SequenceNumberCounter) -> Snapshots {
        Snapshots { next, open: Mutex::default() }
    }

    /// The counter that trees move on when they have new files.
    pub fn counter(&self) -> SequenceNumberCounter {
        self.next.clone()
    }

    /// A change, and all before it, is there.
    pub fn publish(&self, sequence: SeqNo) {
        self.next.fetch_max(sequence + 1);
    }

    /// A snapshot of now.
    pub fn open(self: &Arc<Self>) -> Snapshot {
        let mut open = self.open.lock();
        // Within the lock, so that nothing is thrown away in between.
        let moment = self.next.get();
        *open.entry(moment).or_insert(0) += 1;
        Snapshot { moment, snapshots: self.clone() }
    }

    /// What was replaced before this moment nobody will read any more.
    pub fn unneeded_before(&self) -> SeqNo {
        let open = self.open.lock();
        let oldest = open.first_key_value().map_or_else(|| self.next.get(), |(moment, _)| *moment);
        oldest.saturating_sub(1)
    }
}

/// All keyspaces as they were at one moment. Nothing that it shows is thrown away while it is there.
pub(crate) struct Snapshot {
    moment: SeqNo,
    snapshots: Arc<Snapshots>,
}

impl Snapshot {
    /// Changes with smaller numbers are there.
    pub fn seqno(&self) -> SeqNo {
        self.moment
    }

    /// The value of a key.
    pub fn get(&self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<Option<Slice>> {
        Ok(keyspace.tree.get(key, self.moment)?)
    }

    /// Whether a key is there.
    pub fn contains_key(&self, keyspace: &Keyspace, key: impl AsRef<[u8]>) -> Result<bool> {
        Ok(keyspace.tree.contains_key(key, self.moment)?)
    }

    /// Entries in a range of keys.
    pub fn range<K: AsRef<[u8]>>(&self, keyspace: &Keyspace, range: impl RangeBounds<K>) -> Iter {
        Iter::new(keyspace.tree.range(range, self.moment, None), self.clone())
    }
}

impl Clone for Snapshot {
    fn clone(&self) -> Snapshot {
        *self.snapshots.open.lock().entry(self.moment).or_insert(0) += 1;
        Snapshot { moment: self.moment, snapshots: self.snapshots.clone() }
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let mut open = self.snapshots.open.lock();
        if let Some(count) = open.get_mut(&self.moment) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.moment);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_snapshot_shows_is_needed() {
        let snapshots = Arc::new(Snapshots::new(SequenceNumberCounter::default()));
        snapshots.publish(9);
        assert_eq!(snapshots.unneeded_before(), 9);
        let first = snapshots.open();
        snapshots.publish(19);
        let (second, copy) = (snapshots.open(), first.clone());
        assert_eq!((first.seqno(), second.seqno()), (10, 20));
        drop(first);
        assert_eq!(snapshots.unneeded_before(), 9);
        drop(copy);
        assert_eq!(snapshots.unneeded_before(), 19);
        snapshots.publish(12);
        drop(second);
        snapshots.publish(29);
        assert_eq!(snapshots.unneeded_before(), 29);
    }
}
