//! The snapshot sequence numbers in use. Versions that no snapshot needs may be removed.

use super::SeqNo;
use crossbeam_utils::CachePadded;
use lsm_tree::SequenceNumberCounter;
use parking_lot::Mutex;
use squall_accounting::threads::thread_number;
use std::sync::Arc;

/// Into how many parts snapshots are dealt. Each thread opens its own in one of them, so that threads do not meet.
const PARTS: usize = 64;

/// The sequence numbers at which there are snapshots.
pub(crate) struct Snapshots {
    /// The next sequence number: changes with smaller numbers are there.
    next: SequenceNumberCounter,
    parts: Box<[CachePadded<Mutex<OpenSnapshots>>]>,
}

/// How many snapshots of a part there are of each sequence number, in the order of sequence numbers.
///
/// A list, since there are few, and a new one is of the newest sequence number nearly always.
#[derive(Default)]
struct OpenSnapshots(Vec<(SeqNo, usize)>);

impl OpenSnapshots {
    fn add(&mut self, seqno: SeqNo) {
        match self.0.binary_search_by_key(&seqno, |(at, _)| *at) {
            Ok(at) => self.0[at].1 += 1,
            Err(at) => self.0.insert(at, (seqno, 1)),
        }
    }

    fn remove(&mut self, seqno: SeqNo) {
        if let Ok(at) = self.0.binary_search_by_key(&seqno, |(at, _)| *at) {
            self.0[at].1 -= 1;
            if self.0[at].1 == 0 {
                self.0.remove(at);
            }
        }
    }

    fn oldest(&self) -> Option<SeqNo> {
        self.0.first().map(|(seqno, _)| *seqno)
    }
}

impl Snapshots {
    pub fn new(next: SequenceNumberCounter) -> Snapshots {
        Snapshots { next, parts: (0..PARTS).map(|_| CachePadded::default()).collect() }
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
        let part = thread_number() % PARTS;
        let mut seqnos = self.parts[part].lock();
        // Within the lock: a reader that has looked at this part before has read the newest sequence number before that.
        let seqno = self.next.get();
        seqnos.add(seqno);
        drop(seqnos);
        Snapshot { seqno, part, snapshots: self.clone() }
    }

    /// No reader will ask for what was replaced before this sequence number.
    pub fn unneeded_before(&self) -> SeqNo {
        // Before the parts: a snapshot that is opened in one that has been looked at is of this sequence number or a later one.
        let now = self.next.get();
        let oldest = self.parts.iter().filter_map(|part| part.lock().oldest()).fold(now, SeqNo::min);
        oldest.saturating_sub(1)
    }
}

/// All keyspaces as they were in one snapshot. Nothing that it shows is thrown away while it is there.
pub(crate) struct Snapshot {
    seqno: SeqNo,
    /// The part that counts it; another thread may give it back.
    part: usize,
    snapshots: Arc<Snapshots>,
}

impl Snapshot {
    /// Changes with smaller numbers are there.
    pub fn seqno(&self) -> SeqNo {
        self.seqno
    }
}

impl Clone for Snapshot {
    fn clone(&self) -> Snapshot {
        // In the same part, which has the sequence number already: a reader that looks in between finds it in one of them.
        self.snapshots.parts[self.part].lock().add(self.seqno);
        Snapshot { seqno: self.seqno, part: self.part, snapshots: self.snapshots.clone() }
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        self.snapshots.parts[self.part].lock().remove(self.seqno);
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

    /// Threads open, copy, hand over and close snapshots while sequence numbers go on: none is ever older than what may be thrown
    /// away.
    #[test]
    fn nothing_that_any_thread_reads_is_unneeded() {
        let snapshots = Arc::new(Snapshots::new(SequenceNumberCounter::default()));
        let is_over = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (sender, receiver) = std::sync::mpsc::sync_channel::<Snapshot>(8);
            for _ in 0..3 {
                let (sender, snapshots) = (sender.clone(), snapshots.clone());
                scope.spawn(move || {
                    for step in 0..3_000 {
                        snapshots.publish(snapshots.next.get());
                        let snapshot = snapshots.open();
                        assert!(snapshots.unneeded_before() < snapshot.seqno());
                        let copy = snapshot.clone();
                        drop(snapshot);
                        assert!(snapshots.unneeded_before() < copy.seqno());
                        if step % 3 == 0 && sender.send(copy).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            let thrower = scope.spawn(|| {
                let mut newest = 0;
                while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                    newest = newest.max(snapshots.unneeded_before());
                    // New snapshots are later than all versions that could be removed before.
                    assert!(snapshots.open().seqno() > newest);
                }
            });
            for snapshot in receiver {
                assert!(snapshots.unneeded_before() < snapshot.seqno());
            }
            is_over.store(true, std::sync::atomic::Ordering::Relaxed);
            thrower.join().expect("the thrower");
        });
        assert_eq!(snapshots.unneeded_before(), snapshots.next.get() - 1);
        assert!(snapshots.parts.iter().all(|part| part.lock().0.is_empty()));
    }
}
