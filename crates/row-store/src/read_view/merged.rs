//! A scan of several partitions as one, in the order of the keys.

use super::Cursor;
use crate::engine::Slice;
use crate::index_key::Direction;
use crate::table::Table;
use squall_types::SqlResult;
use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::sync::Arc;

/// The scans of the partitions, and the next record of each.
pub(super) struct PartitionScans {
    cursors: Vec<Cursor>,
    heads: BinaryHeap<Head>,
    /// The scan that the last record came from, which has not been asked for its next one.
    last: Option<usize>,
    has_begun: bool,
}

/// The next record of a scan; the greatest one is the next of all.
struct Head {
    key: Slice,
    value: Slice,
    cursor: usize,
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
        let forward = (&self.key, self.cursor).cmp(&(&other.key, other.cursor));
        match self.direction {
            Direction::Forward => forward.reverse(),
            Direction::Backward => forward,
        }
    }
}

impl PartitionScans {
    pub fn new(cursors: Vec<Cursor>) -> PartitionScans {
        PartitionScans { heads: BinaryHeap::with_capacity(cursors.len()), cursors, last: None, has_begun: false }
    }

    /// The next key and value.
    pub fn next_pair(&mut self) -> SqlResult<Option<(Slice, Slice)>> {
        if let [cursor] = &mut self.cursors[..] {
            self.last = Some(0);
            return cursor.next_pair();
        }
        if !self.has_begun {
            self.has_begun = true;
            for at in 0..self.cursors.len() {
                self.fill(at)?;
            }
        }
        if let Some(last) = self.last.take() {
            self.fill(last)?;
        }
        let Some(Head { key, value, cursor, .. }) = self.heads.pop() else { return Ok(None) };
        self.last = Some(cursor);
        Ok(Some((key, value)))
    }

    fn fill(&mut self, at: usize) -> SqlResult<()> {
        let cursor = &mut self.cursors[at];
        let direction = cursor.direction;
        if let Some((key, value)) = cursor.next_pair()? {
            self.heads.push(Head { key, value, cursor: at, direction });
        }
        Ok(())
    }

    /// The partition that the last record came from.
    pub fn last_table(&self) -> Option<&Arc<Table>> {
        self.last.map(|at| &self.cursors[at].table)
    }
}
