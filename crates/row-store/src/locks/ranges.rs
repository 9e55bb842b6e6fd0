//! Ranges of keys that open transactions have searched: no other transaction inserts there until they end.
//!
//! The table keeps a searched range, which is also a lock with the range as its key. Searches share that lock; a transaction that
//! inserts a key there needs it exclusively. So waiting, time-outs, deadlocks and KILL work as for all locks. Searches of overlapping
//! ranges do not wait for each other.
//!
//! A search cannot see uncommitted rows of other transactions. When it locks the range, it searches their write sets, and each
//! transaction that has written there gets the lock first, until it ends. A writer looks for ranges while its own write set is locked,
//! and a searcher publishes the range before it searches write sets. So one of the two finds the other.

use super::{LockKey, Owner};
use crate::index_key::{KeyRange, split_index_id};
use parking_lot::Mutex;
use squall_catalog::{IndexId, TableId};
use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The first byte of the key of a range's lock. No index has this number, so it is no storage key.
const RANGE_MARK: [u8; 5] = [u8::MAX; 5];

/// Whether the key of a lock is a range's.
pub(crate) fn is_range_lock(key: &[u8]) -> bool {
    key.starts_with(&RANGE_MARK)
}

/// The ranges of one table that open transactions have searched.
#[derive(Debug, Default)]
pub(crate) struct SearchedRanges {
    /// How many there are, so that a writer need not lock to find none.
    count: AtomicUsize,
    held: Mutex<Vec<SearchedRange>>,
}

#[derive(Debug)]
struct SearchedRange {
    owner: Owner,
    range: KeyRange,
    lock: LockKey,
}

impl SearchedRanges {
    /// Whether no transaction has searched the table.
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }

    /// How many ranges an owner has searched.
    pub fn count_of(&self, owner: Owner) -> usize {
        if self.is_empty() {
            return 0;
        }
        self.held.lock().iter().filter(|searched| searched.owner == owner).count()
    }

    /// Notes a search, unless the owner has searched all of the range before. Tells whether it is news. Its lock is to be taken next, and
    /// then what it covers [forgotten](SearchedRanges::forget_covered), or if that fails the search itself.
    pub fn add(&self, owner: Owner, range: &KeyRange, lock: &LockKey) -> bool {
        let mut held = self.held.lock();
        if held.iter().any(|other| other.owner == owner && covers(&other.range, range)) {
            return false;
        }
        held.push(SearchedRange { owner, range: range.clone(), lock: lock.clone() });
        self.count.store(held.len(), Ordering::Release);
        true
    }

    /// Forgets an owner's earlier searches of parts of a range whose lock it has now.
    pub fn forget_covered(&self, owner: Owner, range: &KeyRange, lock: &LockKey) {
        self.retain(|other| other.owner != owner || other.lock == *lock || !covers(range, &other.range));
    }

    /// Forgets one search of an owner.
    pub fn remove(&self, owner: Owner, lock: &LockKey) {
        self.retain(|searched| searched.owner != owner || searched.lock != *lock);
    }

    /// Has an owner's searches be another family's.
    pub fn change_family(&self, owner: Owner, family: u64) {
        let mut held = self.held.lock();
        held.iter_mut().filter(|searched| searched.owner == owner).for_each(|searched| searched.owner.family = family);
    }

    /// Forgets all searches of an owner.
    pub fn remove_all(&self, owner: Owner) {
        self.retain(|searched| searched.owner != owner);
    }

    fn retain(&self, keep: impl FnMut(&SearchedRange) -> bool) {
        let mut held = self.held.lock();
        held.retain(keep);
        self.count.store(held.len(), Ordering::Release);
    }

    /// The locks of ranges that another session has searched, one key of which `meets` says to be in.
    pub fn met_by(&self, owner: Owner, meets: impl Fn(&KeyRange) -> bool) -> Vec<LockKey> {
        if self.is_empty() {
            return Vec::new();
        }
        let held = self.held.lock();
        let others = held.iter().filter(|searched| searched.owner.family != owner.family && meets(&searched.range));
        let mut met: Vec<LockKey> = Vec::new();
        for searched in others {
            if !met.contains(&searched.lock) {
                met.push(searched.lock.clone());
            }
        }
        met
    }
}

/// Whether all keys of a range are in another.
fn covers(outer: &KeyRange, inner: &KeyRange) -> bool {
    let starts = match (&outer.start, &inner.start) {
        (Bound::Unbounded, _) => true,
        (_, Bound::Unbounded) => false,
        (Bound::Excluded(outer), Bound::Included(inner)) => outer < inner,
        (Bound::Included(outer) | Bound::Excluded(outer), Bound::Included(inner) | Bound::Excluded(inner)) => {
            outer <= inner
        }
    };
    let ends = match (&outer.end, &inner.end) {
        (Bound::Unbounded, _) => true,
        (_, Bound::Unbounded) => false,
        (Bound::Excluded(outer), Bound::Included(inner)) => outer > inner,
        (Bound::Included(outer) | Bound::Excluded(outer), Bound::Included(inner) | Bound::Excluded(inner)) => {
            outer >= inner
        }
    };
    starts && ends
}

/// The lock of a range:
///
/// ```text
/// FF FF FF FF FF | kinds of both bounds, a byte each | length of the start, 4 bytes | start | end
/// ```
pub(crate) fn range_lock(table: TableId, range: &KeyRange) -> LockKey {
    fn part(bound: &Bound<Vec<u8>>) -> (u8, &[u8]) {
        match bound {
            Bound::Unbounded => (0, &[]),
            Bound::Included(key) => (1, key),
            Bound::Excluded(key) => (2, key),
        }
    }
    let ((start_kind, start), (end_kind, end)) = (part(&range.start), part(&range.end));
    let mut key = Vec::with_capacity(RANGE_MARK.len() + 6 + start.len() + end.len());
    key.extend_from_slice(&RANGE_MARK);
    key.extend_from_slice(&[start_kind, end_kind]);
    // Storage keys are short: the engine takes none of 64 KB.
    key.extend_from_slice(&(start.len() as u32).to_be_bytes());
    key.extend_from_slice(start);
    key.extend_from_slice(end);
    LockKey::new(table, &key)
}

/// The range that a lock's key is of; `None` for that of a row, an entry or a table.
pub(crate) fn range_of(key: &[u8]) -> Option<KeyRange> {
    let (kinds, rest) = key.strip_prefix(&RANGE_MARK)?.split_first_chunk::<2>()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (start, end) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    let bound = |kind: u8, key: &[u8]| match kind {
        0 => Bound::Unbounded,
        1 => Bound::Included(key.to_vec()),
        _ => Bound::Excluded(key.to_vec()),
    };
    Some(KeyRange { start: bound(kinds[0], start), end: bound(kinds[1], end) })
}

/// The index that a lock's key is in; `None` for the lock of a table.
pub(super) fn index_of(key: &[u8]) -> Option<IndexId> {
    let of = |key: &[u8]| split_index_id(key).map(|(index, _)| index);
    match range_of(key) {
        Some(KeyRange { start: Bound::Included(start) | Bound::Excluded(start), .. }) => of(&start),
        Some(KeyRange { end: Bound::Included(end) | Bound::Excluded(end), .. }) => of(&end),
        Some(_) => Some(IndexId(0)),
        None => of(key),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: Bound<&str>, end: Bound<&str>) -> KeyRange {
        let own = |bound: Bound<&str>| bound.map(|key| key.as_bytes().to_vec());
        KeyRange { start: own(start), end: own(end) }
    }

    #[test]
    fn a_lock_says_which_range_it_is_of() {
        use Bound::{Excluded, Included, Unbounded};
        for (start, end) in [
            (Unbounded, Unbounded),
            (Included("a"), Excluded("b")),
            (Excluded(""), Included("a")),
            (Unbounded, Included("\u{ff}")),
        ] {
            let range = range(start, end);
            assert_eq!(range_of(&range_lock(TableId(1), &range).key), Some(range));
        }
        assert_eq!(range_of(b"a"), None);
        assert_eq!(range_of(b""), None);
    }

    #[test]
    fn what_covers_what() {
        use Bound::{Excluded, Included, Unbounded};
        let ten = range(Included("a"), Excluded("k"));
        for (inner, covered) in [
            (range(Included("a"), Excluded("k")), true),
            (range(Excluded("a"), Excluded("k")), true),
            (range(Included("a"), Included("k")), false),
            (range(Included("b"), Included("j")), true),
            (range(Unbounded, Included("j")), false),
            (range(Included("b"), Unbounded), false),
        ] {
            assert_eq!(covers(&ten, &inner), covered, "{inner:?}");
        }
        assert!(covers(&range(Unbounded, Unbounded), &ten));
        assert!(!covers(&range(Excluded("a"), Unbounded), &ten));
    }
}
