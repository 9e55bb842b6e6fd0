//! A scan of several partitions as one, in the order of the keys.

use crate::engine::Slice;
use crate::index_key::Direction;
use squall_types::SqlResult;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A scan of one partition.
pub(super) trait PartitionScan {
    /// The next key and value, in the order of the keys.
    fn next_pair(&mut self) -> SqlResult<Option<(Slice, Slice)>>;
}

/// The scans of the partitions, and the next record of each.
pub(super) struct PartitionScans<S> {
    scans: Vec<S>,
    direction: Direction,
    heads: BinaryHeap<Head>,
    /// The scan that the last record came from, which has not been asked for its next one.
    last: Option<usize>,
    has_begun: bool,
}

/// The next record of a scan; the greatest one is the next of all.
struct Head {
    key: Slice,
    value: Slice,
    scan: usize,
    direction: Direction,
}

impl PartialEq for Head {
    fn eq(&self, other: &Head) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Head) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Head) -> Ordering {
        let forward = (&self.key, self.scan).cmp(&(&other.key, other.scan));
        match self.direction {
            Direction::Forward => forward.reverse(),
            Direction::Backward => forward,
        }
    }
}

impl<S: PartitionScan> PartitionScans<S> {
    /// Of scans that all go in a direction.
    pub fn new(scans: Vec<S>, direction: Direction) -> PartitionScans<S> {
        PartitionScans { heads: BinaryHeap::with_capacity(scans.len()), scans, direction, last: None, has_begun: false }
    }

    /// The next key and value.
    pub fn next_pair(&mut self) -> SqlResult<Option<(Slice, Slice)>> {
        if let [scan] = &mut self.scans[..] {
            self.last = Some(0);
            return scan.next_pair();
        }
        if !self.has_begun {
            self.has_begun = true;
            for at in 0..self.scans.len() {
                self.fill(at)?;
            }
        }
        if let Some(last) = self.last.take() {
            self.fill(last)?;
        }
        let Some(Head { key, value, scan, .. }) = self.heads.pop() else { return Ok(None) };
        self.last = Some(scan);
        Ok(Some((key, value)))
    }

    fn fill(&mut self, at: usize) -> SqlResult<()> {
        if let Some((key, value)) = self.scans[at].next_pair()? {
            self.heads.push(Head { key, value, scan: at, direction: self.direction });
        }
        Ok(())
    }

    /// The scan that the last record came from.
    pub fn last(&self) -> Option<&S> {
        self.last.map(|at| &self.scans[at])
    }
}
