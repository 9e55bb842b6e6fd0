//! The commits since a graph was made.

use crate::engine::{SeqNo, Slice};
use std::collections::VecDeque;

/// Changes that are kept before the graph is given up and made again.
const CHANGES_MAX: usize = 200_000;
/// Changes that the graph has and that are kept for readers of earlier snapshots.
const FOLDED_KEPT: usize = 8192;

/// Whether a graph can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// There is none.
    None,
    /// One is being made of the rows of one snapshot. Later commits are noted.
    Building,
    /// It has all rows, less what the changes say.
    Ready,
}

/// Keys of rows by the first sequence number that has their change, in its order.
#[derive(Debug)]
pub(crate) struct Changes {
    phase: Phase,
    /// The first sequence number whose readers can be told what has changed for them.
    floor: SeqNo,
    entries: VecDeque<(SeqNo, Slice)>,
    /// How many of them, from the front, the graph has.
    folded: usize,
}

impl Default for Changes {
    fn default() -> Changes {
        Changes { phase: Phase::None, floor: 0, entries: VecDeque::new(), folded: 0 }
    }
}

impl Changes {
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// A graph is begun, of the rows that are there now: the caller holds the commit log.
    pub fn begin(&mut self) {
        *self = Changes { phase: Phase::Building, ..Changes::default() };
    }

    /// The graph that was begun has the rows of a sequence number; `false` if it has been given up meanwhile.
    pub fn complete(&mut self, seqno: SeqNo) -> bool {
        let is_begun = self.phase == Phase::Building;
        if is_begun {
            (self.phase, self.floor) = (Phase::Ready, seqno);
        }
        is_begun
    }

    /// There is no graph any more.
    pub fn give_up(&mut self) {
        *self = Changes::default();
    }

    /// Takes note of changed rows; `seqno` is the first that has the change. The caller holds the commit log.
    pub fn note(&mut self, keys: &[Slice], seqno: SeqNo) {
        if self.phase == Phase::None {
            return;
        }
        if self.entries.len() - self.folded + keys.len() > CHANGES_MAX {
            self.give_up();
            return;
        }
        self.entries.extend(keys.iter().map(|key| (seqno, key.clone())));
    }

    /// How many the graph does not have yet.
    pub fn pending(&self) -> usize {
        self.entries.len() - self.folded
    }

    /// Keys of rows that the graph does not have as a reader at a sequence number sees them; `None` if that is not known.
    pub fn unknown_at(&self, seqno: SeqNo) -> Option<impl Iterator<Item = &Slice>> {
        let is_known = self.phase == Phase::Ready && seqno >= self.floor;
        is_known.then(|| {
            let seen = self.entries.partition_point(|(changed, _)| *changed <= seqno);
            self.entries.range(seen.min(self.folded)..).map(|(_, key)| key)
        })
    }

    /// The keys of the next changes that readers at a sequence number see and the graph does not have, up to this many.
    pub fn next_pending(&self, seqno: SeqNo, most: usize) -> Vec<Slice> {
        let visible = self.entries.range(self.folded..).take_while(|(changed, _)| *changed <= seqno);
        visible.take(most).map(|(_, key)| key.clone()).collect()
    }

    /// The graph has this many more.
    pub fn fold(&mut self, count: usize) {
        self.folded += count.min(self.pending());
        while self.folded > FOLDED_KEPT {
            if let Some((changed, _)) = self.entries.pop_front() {
                self.floor = self.floor.max(changed);
            }
            self.folded -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(changes: &Changes, seqno: SeqNo) -> Option<Vec<u8>> {
        Some(changes.unknown_at(seqno)?.map(|key| key[0]).collect())
    }

    #[test]
    fn readers_are_told_what_the_graph_has_otherwise() {
        let mut changes = Changes::default();
        changes.note(&[Slice::from([1])], 5);
        assert_eq!(keys(&changes, 9), None);
        changes.begin();
        changes.note(&[Slice::from([2])], 11);
        assert_eq!(keys(&changes, 11), None);
        assert!(changes.complete(10));
        assert!(!changes.complete(10));
        changes.note(&[Slice::from([3]), Slice::from([4])], 12);
        assert_eq!(keys(&changes, 9), None);
        assert_eq!(keys(&changes, 10), Some(vec![2, 3, 4]));
        assert_eq!(changes.next_pending(11, 10).len(), 1);
        assert_eq!(changes.next_pending(12, 2).len(), 2);
        changes.fold(2);
        // Folded changes are told to readers that do not see them.
        assert_eq!(keys(&changes, 10), Some(vec![2, 3, 4]));
        assert_eq!(keys(&changes, 11), Some(vec![3, 4]));
        assert_eq!(keys(&changes, 12), Some(vec![4]));
        changes.fold(5);
        assert_eq!((keys(&changes, 12), changes.pending()), (Some(vec![]), 0));
    }

    #[test]
    fn what_is_forgotten_is_not_answered() {
        let mut changes = Changes::default();
        changes.begin();
        assert!(changes.complete(0));
        for seqno in 1..=FOLDED_KEPT as u64 + 3 {
            changes.note(&[Slice::from([0])], seqno);
        }
        changes.fold(usize::MAX);
        assert_eq!(keys(&changes, 2), None);
        assert_eq!(keys(&changes, 3).map(|keys| keys.len()), Some(FOLDED_KEPT));
        let many = vec![Slice::from([1]); CHANGES_MAX + 1];
        changes.note(&many, 1 << 40);
        assert_eq!((changes.phase(), keys(&changes, 1 << 41)), (Phase::None, None));
    }
}
