//! Unsorted entries of indexes of terms.
//!
//! A row has one entry for each word, and none is looked up by its key before it is committed. So they are appended, and sorted once:
//! when the transaction reads the index, when they leave memory, or at the commit.

use super::spill::{Source, SpillFile, SpillPlace, item_of, panicked};
use super::{Change, Written};
use crate::engine::{Keyspace, Slice};
use crate::error::io_error;
use crate::index_key::{index_range, split_index_id};
use crate::sorter::Taken;
use lsm_tree::InternalValue;
use squall_accounting::work_meter::carried;
use squall_catalog::IndexId;
use squall_types::SqlResult;
use std::ops::Bound;
use std::sync::Arc;
use std::thread::JoinHandle;

/// The last byte of the records' values.
const REMOVED: &[u8] = &[0];
const PUT: &[u8] = &[1];

/// A file, if there was anything to write, and the memory that comes back.
type Spilled = SqlResult<(Option<SpillFile>, Taken)>;

/// Entries of one table's indexes of terms.
#[derive(Default)]
pub(super) struct Postings {
    /// Records in the order in which they came; their numbers are steps.
    taken: Taken,
    /// Written by a thread of its own while more is taken, and the memory of that.
    spilling: Option<(JoinHandle<Spilled>, usize)>,
    /// The indexes.
    indexes: Vec<IndexId>,
}

/// A record's write.
fn written((key, value, step): (&[u8], &[u8], u64)) -> Written {
    let change: Change = match value.split_last() {
        Some((put, value)) if [*put] == *PUT => Some(Slice::new(value)),
        _ => None,
    };
    Written { key: Slice::new(key), step, change }
}

/// Sorted records as files have them: of each key the newest first, each step once.
fn items(taken: &Taken, bounds: (Bound<&[u8]>, Bound<&[u8]>)) -> impl Iterator<Item = InternalValue> {
    // Records of a key are in the order of their steps, and within a step the last one counts.
    let mut records = taken.within(bounds).peekable();
    let mut of_key: Vec<InternalValue> = Vec::new();
    std::iter::from_fn(move || {
        if let Some(item) = of_key.pop() {
            return Some(item);
        }
        loop {
            let record = records.next()?;
            let (key, _, step) = record;
            let next = records.peek().map(|(key, _, step)| (*key, *step));
            if next == Some((key, step)) {
                continue;
            }
            let Written { key: slice, step, change } = written(record);
            let item = item_of(slice, step, change);
            match next {
                Some((next, _)) if next == key => of_key.push(item),
                // The newest of its key; those before it follow, from the end.
                _ => return Some(item),
            }
        }
    })
}

impl Postings {
    /// Takes an entry's change.
    pub fn push(&mut self, key: &[u8], value: Option<&[u8]>, step: u64) {
        if let Some((index, _)) = split_index_id(key)
            && !self.indexes.contains(&index)
        {
            self.indexes.push(index);
        }
        let value = value.map_or([REMOVED, &[]], |value| [value, PUT]);
        self.taken.push(key, value, step);
    }

    /// Whether an index is one of terms that has been written to.
    pub fn are_of(&self, index: IndexId) -> bool {
        self.indexes.contains(&index)
    }

    /// Whether a range has keys of one of the indexes.
    pub fn meet(&self, (start, end): (Bound<&[u8]>, Bound<&[u8]>)) -> bool {
        self.indexes.iter().map(|index| index_range(*index)).any(|range| {
            let begins_before_its_end = match (start, &range.end) {
                (Bound::Included(start) | Bound::Excluded(start), Bound::Excluded(end)) => start < &end[..],
                _ => true,
            };
            let ends_behind_its_start = match (end, &range.start) {
                (Bound::Included(end), Bound::Included(start)) => end >= &start[..],
                (Bound::Excluded(end), Bound::Included(start)) => end > &start[..],
                _ => true,
            };
            begins_before_its_end && ends_behind_its_start
        })
    }

    /// Whether none is in memory.
    pub fn is_empty(&self) -> bool {
        self.taken.is_empty() && self.spilling.is_none()
    }

    /// Whether some are being written to a file.
    pub fn is_spilling(&self) -> bool {
        self.spilling.is_some()
    }

    /// Memory of those that are being written.
    pub fn spilling_bytes(&self) -> usize {
        self.spilling.as_ref().map_or(0, |(_, bytes)| *bytes)
    }

    /// Memory of those that are taken.
    pub fn bytes(&self) -> usize {
        self.taken.bytes()
    }

    /// Forgets what was taken after a step and has not left memory.
    pub fn truncate_behind(&mut self, step: u64) {
        self.taken.truncate_behind(step);
    }

    /// Takes out what is in memory, in the order in which it came.
    pub fn drain(&mut self) -> Vec<Written> {
        std::mem::take(&mut self.taken).iter().map(written).collect()
    }

    /// Has a thread write what was taken to a file; `empty` is the memory of another one that has [ended](Postings::end_spill).
    ///
    /// # Errors
    /// If the disk has no space, or no thread can be started; what was taken is still there then.
    pub fn begin_spill(&mut self, place: &Arc<SpillPlace>, keyspace: &Keyspace, empty: Taken) -> SqlResult<()> {
        place.check_room(self.taken.bytes())?;
        let bytes = self.taken.bytes();
        let mut taken = std::mem::replace(&mut self.taken, empty);
        let (place, keyspace) = (place.clone(), keyspace.clone());
        let write = move || {
            taken.sort();
            let all = items(&taken, (Bound::Unbounded, Bound::Unbounded));
            let file = SpillFile::write(&place, &keyspace, all, taken.bytes(), false)?;
            taken.clear();
            Ok((file, taken))
        };
        let thread = std::thread::Builder::new().name("squall-spill".into()).spawn(carried(write));
        self.spilling = Some((thread.map_err(|error| io_error(&error))?, bytes));
        Ok(())
    }

    /// Waits for the file that is being written, if one is, and for its memory.
    ///
    /// # Errors
    /// That of writing: a part of the transaction's changes is lost then.
    pub fn end_spill(&mut self) -> SqlResult<(Option<SpillFile>, Taken)> {
        match self.spilling.take() {
            Some((thread, _)) => thread.join().map_err(|_| panicked())?,
            None => Ok((None, Taken::default())),
        }
    }

    /// Sorts what is in memory, for [`Postings::source`].
    pub fn sort(&mut self) {
        self.taken.sort();
    }

    /// The entries in memory within bounds, sorted.
    pub fn source<'a>(&'a self, bounds: (Bound<&'a [u8]>, Bound<&'a [u8]>)) -> Source<'a> {
        Box::new(items(&self.taken, bounds).map(Ok))
    }
}
