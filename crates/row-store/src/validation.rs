//! SERIALIZABLE: at its commit, a transaction's reads are checked against the commits of others since its snapshot.
//!
//! So transactions that write are serial in the order of their commits, and transactions that only read are serial at their snapshots.

use crate::engine::Slice;
use crate::index_key::KeyRange;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use squall_catalog::TableId;
use squall_types::invariant;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;

/// Ranges kept per table before they are taken for the whole table.
const RANGES_MAX: usize = 4096;

/// The reads of a transaction.
#[derive(Default)]
pub(crate) struct ReadSet(Mutex<FxHashMap<TableId, Vec<KeyRange>>>);

impl ReadSet {
    pub fn add(&self, table: TableId, range: KeyRange) {
        let mut tables = self.0.lock();
        let ranges = tables.entry(table).or_default();
        if ranges.len() == RANGES_MAX {
            ranges.clear();
            ranges.push(KeyRange { start: Bound::Unbounded, end: Bound::Unbounded });
        }
        let everything = ranges.first().is_some_and(|first| first.start == Bound::Unbounded);
        if !everything && ranges.last() != Some(&range) {
            ranges.push(range);
        }
    }

    /// The ranges that were read, by table.
    pub fn ranges(&self) -> Vec<(TableId, Vec<KeyRange>)> {
        self.0.lock().iter().map(|(table, ranges)| (*table, ranges.clone())).collect()
    }

    /// Hands over what was read.
    pub fn take(&self) -> ReadSet {
        ReadSet(Mutex::new(std::mem::take(&mut *self.0.lock())))
    }

    fn meets(&self, commit: &Logged) -> bool {
        let tables = self.0.lock();
        commit.tables.iter().any(|(table, keys)| {
            tables.get(table).is_some_and(|ranges| match keys {
                Keys::All => true,
                Keys::Sorted(keys) => ranges.iter().any(|range| {
                    let first = keys.partition_point(|key| match &range.start {
                        Bound::Included(start) => key[..] < start[..],
                        Bound::Excluded(start) => key[..] <= start[..],
                        Bound::Unbounded => false,
                    });
                    keys.get(first).is_some_and(|key| range.contains(key))
                }),
            })
        })
    }
}

/// Keys that a commit has written in one table.
pub(crate) enum Keys {
    Sorted(Vec<Slice>),
    /// A bulk load.
    All,
}

struct Logged {
    /// The first sequence number that sees the commit; `u64::MAX` while it is being made.
    visible_from: u64,
    tables: Vec<(TableId, Keys)>,
}

/// Commits that readers do not see yet, and those since the oldest open SERIALIZABLE transaction's snapshot. All methods
/// are called under the commit lock.
#[derive(Default)]
pub(crate) struct CommitLog {
    log: VecDeque<Logged>,
    snapshots: BTreeMap<u64, usize>,
    /// Up to where readers see: the next snapshot is not older.
    visible: u64,
    /// The sequence number of the last batch.
    last: u64,
}

impl CommitLog {
    /// A SERIALIZABLE transaction has taken its snapshot.
    pub fn register(&mut self, snapshot: u64) {
        *self.snapshots.entry(snapshot).or_default() += 1;
    }

    /// It has ended.
    pub fn unregister(&mut self, snapshot: u64) {
        let count = self.snapshots.get_mut(&snapshot);
        invariant!(count.is_some(), "a transaction ends whose snapshot {snapshot} is not known");
        if let Some(count) = count {
            *count -= 1;
            if *count == 0 {
                self.snapshots.remove(&snapshot);
            }
        }
        self.forget();
    }

    /// A batch is written: all have numbers in the order in which they are in the log.
    pub fn begin(&mut self, sequence: u64) {
        invariant!(self.last < sequence, "batch {sequence} comes after batch {}", self.last);
        self.last = sequence;
    }

    /// Readers see up to a sequence number from now on.
    pub fn advance_visible(&mut self, seqno: u64) {
        self.visible = self.visible.max(seqno);
        self.forget();
    }

    /// Lets commits go that every snapshot sees.
    fn forget(&mut self) {
        let oldest = self.snapshots.first_key_value().map_or(self.visible, |(oldest, _)| self.visible.min(*oldest));
        while self.log.front().is_some_and(|commit| commit.visible_from <= oldest) {
            self.log.pop_front();
        }
    }

    /// Whether nothing that was read has been changed by a commit that the snapshot does not see.
    pub fn is_valid(&self, reads: &ReadSet, snapshot: u64) -> bool {
        !self.log.iter().rev().take_while(|commit| commit.visible_from > snapshot).any(|commit| reads.meets(commit))
    }

    /// Notes a commit that is being made.
    pub fn push(&mut self, tables: Vec<(TableId, Keys)>) {
        self.log.push_back(Logged { visible_from: u64::MAX, tables });
    }

    /// The commits being made are made: snapshots from here on have them.
    pub fn applied(&mut self, visible_from: u64) {
        for commit in self.log.iter_mut().rev().take_while(|commit| commit.visible_from == u64::MAX) {
            commit.visible_from = visible_from;
        }
    }
}
