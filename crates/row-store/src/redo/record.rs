//! What stands in the log.
//!
//! A batch is one or more fragments, each small enough to be held in memory:
//!
//! ```text
//! length    u32   of everything behind the checksum
//! checksum  u64   XXH3 of everything behind it, seeded with the segment's number: what is left
//!                 from before a segment was used again is not taken for its own
//! number    u64   of the fragment, counted from the beginning of the log
//! sequence  u64   the engine's sequence number of the batch
//! flags     u8    1: the batch's first fragment, 2: its last one
//! changes         0, keyspace u64: of what follows
//!                 1, key length u16, value length u32, key, value
//!                 2, key length u16, key: removed
//! ```
//!
//! Numbers are little-endian. A length of 0 is the end.

use crate::batch::KeyChange;
use fjall::Slice;
use xxhash_rust::xxh3::xxh3_64_with_seed;

const CHECKED_FROM: usize = 12;
/// Bytes of a fragment before its changes.
pub(super) const HEADER_BYTES: usize = CHECKED_FROM + 17;

/// The batch's first fragment.
pub(super) const FIRST: u8 = 1;
/// The batch's last fragment.
pub(super) const LAST: u8 = 2;

const KEYSPACE: u8 = 0;
const INSERT: u8 = 1;
const REMOVE: u8 = 2;

/// What a fragment is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FragmentHeader {
    pub number: u64,
    pub sequence: u64,
    pub flags: u8,
}

/// Bytes that a change takes.
pub(super) fn change_bytes((key, value): &KeyChange) -> usize {
    3 + key.len() + value.as_ref().map_or(0, |value| 4 + value.len())
}

/// Says which keyspace the following changes are of.
pub(super) fn put_keyspace(changes: &mut Vec<u8>, keyspace: u64) {
    changes.push(KEYSPACE);
    changes.extend_from_slice(&keyspace.to_le_bytes());
}

/// Writes a change; the engine takes keys of up to 2^16 - 1 bytes and values of less than 4 GiB, and nothing else gets here.
pub(super) fn put_change(changes: &mut Vec<u8>, (key, value): &KeyChange) {
    changes.push(if value.is_some() { INSERT } else { REMOVE });
    changes.extend_from_slice(&(key.len() as u16).to_le_bytes());
    if let Some(value) = value {
        changes.extend_from_slice(&(value.len() as u32).to_le_bytes());
    }
    changes.extend_from_slice(key);
    changes.extend_from_slice(value.as_deref().unwrap_or_default());
}

/// Writes a fragment of a segment behind what is in `buffer`.
pub(super) fn put_fragment(buffer: &mut Vec<u8>, segment: u64, header: FragmentHeader, changes: &[u8]) {
    let start = buffer.len();
    let length = HEADER_BYTES - CHECKED_FROM + changes.len();
    buffer.extend_from_slice(&(length as u32).to_le_bytes());
    buffer.extend_from_slice(&[0; 8]);
    buffer.extend_from_slice(&header.number.to_le_bytes());
    buffer.extend_from_slice(&header.sequence.to_le_bytes());
    buffer.push(header.flags);
    buffer.extend_from_slice(changes);
    let checksum = xxh3_64_with_seed(&buffer[start + CHECKED_FROM..], segment);
    buffer[start + 4..start + CHECKED_FROM].copy_from_slice(&checksum.to_le_bytes());
}

/// The length and the checksum that a fragment begins with.
pub(super) fn split_prefix(prefix: [u8; CHECKED_FROM]) -> (usize, u64) {
    let [l0, l1, l2, l3, checksum @ ..] = prefix;
    (u32::from_le_bytes([l0, l1, l2, l3]) as usize, u64::from_le_bytes(checksum))
}

/// Reads what stands behind a fragment's checksum; `None` if it is not as it was written.
pub(super) fn read_fragment(segment: u64, checksum: u64, checked: &[u8]) -> Option<(FragmentHeader, &[u8])> {
    if xxh3_64_with_seed(checked, segment) != checksum {
        return None;
    }
    let mut rest = checked;
    let number = u64::from_le_bytes(take(&mut rest)?);
    let sequence = u64::from_le_bytes(take(&mut rest)?);
    let [flags] = take(&mut rest)?;
    Some((FragmentHeader { number, sequence, flags }, rest))
}

/// A change as it is read: its keyspace, its key and value.
pub(crate) type LoggedChange = (u64, Slice, Option<Slice>);

/// Reads the changes of a fragment; `None` if they are malformed, which a right checksum rules out.
pub(super) fn read_changes(mut rest: &[u8], out: &mut Vec<LoggedChange>) -> Option<()> {
    let mut keyspace = None;
    while !rest.is_empty() {
        let [kind] = take(&mut rest)?;
        match kind {
            KEYSPACE => keyspace = Some(u64::from_le_bytes(take(&mut rest)?)),
            INSERT => {
                let key = u16::from_le_bytes(take(&mut rest)?) as usize;
                let value = u32::from_le_bytes(take(&mut rest)?) as usize;
                let key = Slice::from(rest.split_off(..key)?);
                out.push((keyspace?, key, Some(Slice::from(rest.split_off(..value)?))));
            }
            REMOVE => {
                let key = u16::from_le_bytes(take(&mut rest)?) as usize;
                out.push((keyspace?, Slice::from(rest.split_off(..key)?), None));
            }
            _ => return None,
        }
    }
    Some(())
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, behind) = rest.split_first_chunk::<N>()?;
    *rest = behind;
    Some(*bytes)
}
