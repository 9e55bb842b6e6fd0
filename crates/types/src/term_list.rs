//! The terms of a row for an index: byte strings, each once.

use hashbrown::HashTable;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// Most memory for the terms of one row, in bytes.
pub const TERM_BYTES_MAX: usize = 256 << 20;

/// The memory of a term beside its bytes, roughly.
const PLACE_BYTES: usize = 16;

/// Places for terms that are kept for the next row, if this one had far fewer.
const PLACES_KEPT: usize = 4096;

/// Terms in memory that the next row's take again.
///
/// A term may end in a *mark*, a byte that says something of how it occurs in the row and does not make it another term
/// ([`TermList::push_marked`]). A list has either terms with marks or terms without.
#[derive(Clone, Debug, Default)]
pub struct TermList {
    bytes: Vec<u8>,
    /// Where each term begins and ends, without its mark, in the order in which they came.
    spans: Vec<(u32, u32)>,
    /// Bytes of a mark.
    mark_bytes: u32,
    /// Places in `spans`, by the term's hash.
    known: HashTable<u32>,
    is_full: bool,
}

impl TermList {
    /// Forgets all terms.
    pub fn clear(&mut self) {
        if self.known.capacity() > PLACES_KEPT && self.known.len() < self.known.capacity() / 8 {
            *self = TermList::default();
        }
        self.truncate(0);
        self.is_full = false;
        self.mark_bytes = 0;
    }

    /// Adds the term that is written behind the given bytes, unless it is there.
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        self.push(write);
    }

    /// The same with a term that ends in a mark; if the term is there already, `again` makes one mark of its mark and this one.
    pub fn push_marked(&mut self, mark: u8, again: impl FnOnce(u8, u8) -> u8, write: impl FnOnce(&mut Vec<u8>)) {
        self.mark_bytes = 1;
        match self.push(write) {
            Pushed::New => self.bytes.push(mark),
            Pushed::Known(end) => self.bytes[end] = again(self.bytes[end], mark),
            Pushed::LeftOut => {}
        }
    }

    fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Pushed {
        if self.is_full {
            return Pushed::LeftOut;
        }
        let start = self.bytes.len();
        write(&mut self.bytes);
        let end = self.bytes.len();
        if end + self.spans.len() * PLACE_BYTES > TERM_BYTES_MAX {
            self.is_full = true;
            self.bytes.truncate(start);
            return Pushed::LeftOut;
        }
        let TermList { bytes, spans, known, .. } = self;
        let at = |place: u32| {
            let (start, end) = spans[place as usize];
            &bytes[start as usize..end as usize]
        };
        let term = &bytes[start..];
        let hash = hash(term);
        if let Some(place) = known.find(hash, |place| at(*place) == term) {
            let end = spans[*place as usize].1 as usize;
            self.bytes.truncate(start);
            return Pushed::Known(end);
        }
        known.insert_unique(hash, spans.len() as u32, |place| self::hash(at(*place)));
        spans.push((start as u32, end as u32));
        Pushed::New
    }

    /// Forgets all terms but the first ones.
    pub fn truncate(&mut self, count: usize) {
        if count == 0 {
            self.known.clear();
        } else {
            self.known.retain(|place| (*place as usize) < count);
        }
        self.spans.truncate(count);
        self.bytes.truncate(self.spans.last().map_or(0, |(_, end)| (*end + self.mark_bytes) as usize));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Whether terms were left out, because all of them would take more than [`TERM_BYTES_MAX`].
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// The terms with their marks, in the order in which they came.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.spans.iter().map(|(start, end)| &self.bytes[*start as usize..(*end + self.mark_bytes) as usize])
    }
}

/// The result of adding a term.
enum Pushed {
    /// It is the last one.
    New,
    /// It is there already, and ends before this place.
    Known(usize),
    /// There is no room.
    LeftOut,
}

fn hash(term: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(term);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_there_once() {
        let mut list = TermList::default();
        for round in 0..3 {
            for number in (0..10_000u32).chain(5_000..6_000) {
                list.push_with(|out| out.extend_from_slice(&number.to_le_bytes()[..3]));
            }
            assert_eq!(list.len(), 10_000);
            list.truncate(10);
            list.push_with(|out| out.extend_from_slice(&[1, 2, 3]));
            list.push_with(|out| out.extend_from_slice(&[9, 0, 0]));
            assert_eq!(list.len(), 11);
            assert_eq!(list.iter().last(), Some(&[1, 2, 3][..]));
            list.clear();
            assert!(list.is_empty() && !list.is_full(), "{round}");
        }
    }

    #[test]
    fn marks_are_no_part_of_a_term() {
        let mut list = TermList::default();
        for (term, mark) in [(b"one", 1), (b"two", 7), (b"one", 2), (b"one", 3), (b"six", 1)] {
            list.push_marked(mark, |kept, other| kept + other, |out| out.extend_from_slice(term));
        }
        assert_eq!(list.iter().collect::<Vec<_>>(), [b"one\x06", b"two\x07", b"six\x01"]);
        list.truncate(2);
        list.push_marked(9, |kept, other| kept + other, |out| out.extend_from_slice(b"two"));
        assert_eq!(list.iter().collect::<Vec<_>>(), [b"one\x06", b"two\x10"]);
    }

    #[test]
    fn too_many_are_left_out() {
        let mut list = TermList::default();
        list.push_with(|out| out.push(1));
        list.push_with(|out| out.resize(TERM_BYTES_MAX + 1, 0));
        list.push_with(|out| out.push(2));
        assert!(list.is_full());
        assert_eq!(list.iter().collect::<Vec<_>>(), [[1]]);
    }
}
