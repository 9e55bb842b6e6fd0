//! The order of records in memory: by key, then number, then as they came.
//!
//! Keys of an index have long common beginnings: the index, then the same name or value. So they are sorted by eight cached bytes at a
//! time, and keys that are still equal by the next eight: multikey sorting with cached characters (Bentley and Sedgewick 1997; Ng and
//! Kakehi 2007). So a comparison does not read the keys themselves, which are scattered in memory.

use std::cmp::Ordering;

/// Bytes before a record's key.
pub(super) const HEADER_BYTES: usize = 16;

/// So few records are sorted by comparing their keys.
const COMPARED_MAX: usize = 16;

/// Bytes of a key that are looked at at once.
const STEP: usize = 8;

/// Where a record lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Indexed {
    /// Eight bytes of the key, zeros behind its end: the first ones, until it is sorted.
    bytes: u64,
    /// The place of its header.
    pub offset: usize,
}

impl Indexed {
    pub fn new(key: &[u8], offset: usize) -> Indexed {
        Indexed { bytes: bytes_at(key, 0), offset }
    }
}

/// Eight bytes of a key, as a number of the same order.
fn bytes_at(key: &[u8], depth: usize) -> u64 {
    let rest = key.get(depth..).unwrap_or_default();
    let mut bytes = [0; STEP];
    match rest.first_chunk::<STEP>() {
        Some(chunk) => bytes = *chunk,
        None => bytes[..rest.len()].copy_from_slice(rest),
    }
    u64::from_be_bytes(bytes)
}

pub(super) fn field<const N: usize>(arena: &[u8], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&arena[at..at + N]);
    bytes
}

/// Key, value and number of the record at an offset of an arena.
pub(super) fn record_at(arena: &[u8], offset: usize) -> (&[u8], &[u8], u64) {
    let key_len = u32::from_le_bytes(field(arena, offset)) as usize;
    let value_len = u32::from_le_bytes(field(arena, offset + 4)) as usize;
    let number = u64::from_le_bytes(field(arena, offset + 8));
    let key_at = offset + HEADER_BYTES;
    (&arena[key_at..key_at + key_len], &arena[key_at + key_len..key_at + key_len + value_len], number)
}

fn compare(arena: &[u8], left: &Indexed, right: &Indexed) -> Ordering {
    let (left_key, _, left_number) = record_at(arena, left.offset);
    let (right_key, _, right_number) = record_at(arena, right.offset);
    left_key.cmp(right_key).then(left_number.cmp(&right_number)).then(left.offset.cmp(&right.offset))
}

/// Sorts new records; tells whether they were in order already.
pub(super) fn sort(records: &mut [Indexed], arena: &[u8]) -> bool {
    let in_order = |left: &Indexed, right: &Indexed| match left.bytes.cmp(&right.bytes) {
        Ordering::Less => true,
        Ordering::Equal => compare(arena, left, right) != Ordering::Greater,
        Ordering::Greater => false,
    };
    if records.is_sorted_by(in_order) {
        return true;
    }
    // Records that are alike before a depth, and hold the eight bytes there.
    let mut parts = vec![(0..records.len(), 0)];
    while let Some((part, depth)) = parts.pop() {
        let first = part.start;
        let records = &mut records[part];
        records.sort_unstable_by_key(|record| record.bytes);
        let mut start = 0;
        for run in records.chunk_by_mut(|left, right| left.bytes == right.bytes) {
            let range = first + start..first + start + run.len();
            start += run.len();
            if run.len() > COMPARED_MAX && advance(run, arena, depth + STEP) {
                parts.push((range, depth + STEP));
            } else if run.len() > 1 {
                run.sort_unstable_by(|left, right| compare(arena, left, right));
            }
        }
    }
    false
}

/// Takes the bytes at a depth; `false` if all keys end before it.
fn advance(records: &mut [Indexed], arena: &[u8], depth: usize) -> bool {
    let mut any = false;
    for record in records {
        let (key, ..) = record_at(arena, record.offset);
        any |= key.len() > depth;
        record.bytes = bytes_at(key, depth);
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Keys that begin alike, and end within what others have, or in zeros.
    fn key() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![Just(vec![0]), Just(vec![0; 9]), Just(b"abcdefgh".to_vec()), Just(vec![b'x'; 5])];
        let random = proptest::collection::vec(any::<u8>(), 0..12);
        (proptest::collection::vec(piece, 0..6), random).prop_map(|(pieces, end)| [pieces.concat(), end].concat())
    }

    proptest! {
        #[test]
        fn records_are_in_the_order_of_keys_and_numbers(
            keys in proptest::collection::vec(key(), 0..20), picks in proptest::collection::vec(any::<u16>(), 0..300),
        ) {
            let (mut arena, mut records, mut expected) = (Vec::new(), Vec::new(), Vec::new());
            for pick in picks.iter().filter(|_| !keys.is_empty()) {
                let (key, number) = (&keys[usize::from(*pick) % keys.len()], u64::from(*pick));
                records.push(Indexed::new(key, arena.len()));
                arena.extend_from_slice(&(key.len() as u32).to_le_bytes());
                arena.extend_from_slice(&0u32.to_le_bytes());
                arena.extend_from_slice(&number.to_le_bytes());
                arena.extend_from_slice(key);
                expected.push((key.clone(), number));
            }
            let was_sorted = expected.is_sorted();
            expected.sort();
            prop_assert_eq!(sort(&mut records, &arena), was_sorted);
            let found: Vec<_> = records.iter().map(|record| record_at(&arena, record.offset)).collect();
            prop_assert_eq!(found.len(), expected.len());
            for ((key, _, number), (other, other_number)) in found.into_iter().zip(&expected) {
                prop_assert_eq!((key, number), (&other[..], *other_number));
            }
        }
    }
}
