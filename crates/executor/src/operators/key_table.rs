//! Numbers of encoded keys, in the order in which they came.

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

/// Different keys, each with a number from 0 on. Their bytes lie one after another.
#[derive(Debug)]
pub(crate) struct KeyTable {
    numbers: HashTable<u32>,
    bytes: Vec<u8>,
    /// Where each key begins, and the last one ends.
    bounds: Vec<usize>,
}

impl Default for KeyTable {
    fn default() -> Self {
        Self { numbers: HashTable::new(), bytes: Vec::new(), bounds: vec![0] }
    }
}

impl KeyTable {
    /// Memory of a key beside its bytes, at most: a place in a table that may be half empty, and its bound.
    pub(crate) const KEY_BYTES: usize = 4 * size_of::<u32>() + 2 * size_of::<usize>();

    /// How many keys there are.
    pub(crate) fn len(&self) -> usize {
        self.bounds.len() - 1
    }

    /// The number of a key, if it is known.
    pub(crate) fn find(&self, key: &[u8]) -> Option<u32> {
        let hash = FxBuildHasher.hash_one(key);
        self.numbers.find(hash, |number| key_of(&self.bytes, &self.bounds, *number) == key).copied()
    }

    /// The number of a key, which becomes known. There may be up to 2^32 - 1 of them.
    pub(crate) fn add(&mut self, key: &[u8]) -> u32 {
        let Self { numbers, bytes, bounds } = self;
        let hash = FxBuildHasher.hash_one(key);
        let is_same = |number: &u32| key_of(bytes, bounds, *number) == key;
        let hash_of = |number: &u32| FxBuildHasher.hash_one(key_of(bytes, bounds, *number));
        match numbers.entry(hash, is_same, hash_of) {
            hashbrown::hash_table::Entry::Occupied(known) => *known.get(),
            hashbrown::hash_table::Entry::Vacant(place) => {
                let number = (bounds.len() - 1) as u32;
                place.insert(number);
                bytes.extend_from_slice(key);
                bounds.push(bytes.len());
                number
            }
        }
    }
}

fn key_of<'k>(bytes: &'k [u8], bounds: &[usize], number: u32) -> &'k [u8] {
    let at = number as usize;
    match bounds.get(at..at + 2) {
        Some(&[begin, end]) => bytes.get(begin..end).unwrap_or_default(),
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::KeyTable;

    #[test]
    fn keys_are_numbered_once() {
        let mut table = KeyTable::default();
        let keys: Vec<Vec<u8>> = (0..5000_u32).map(|key| key.to_le_bytes()[..(key % 5) as usize].to_vec()).collect();
        let numbers: Vec<u32> = keys.iter().map(|key| table.add(key)).collect();
        let mut different = keys.clone();
        different.sort();
        different.dedup();
        assert_eq!(table.len(), different.len());
        for (key, number) in keys.iter().zip(&numbers) {
            assert_eq!((table.add(key), table.find(key)), (*number, Some(*number)));
        }
        assert_eq!(table.find(b"not there"), None);
    }
}
