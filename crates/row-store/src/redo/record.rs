//! The records of the log.
//!
//! A batch is one or more fragments, each small enough for memory:
//!
//! ```text
//! header checksum  u32  the low half of XXH3 of the header after it, seeded: see `Checkpoint::seed`. The seed
//!                       keeps old bytes of a segment that is used again, and bytes in users' rows, from being
//!                       taken for a fragment
//! length           u32  of the changes
//! checksum         u64  XXH3 of the changes, with the same seed
//! number           u64  of the fragment, counted from the beginning of the log
//! durable          u64  all fragments before this one were on the disk when this fragment was made
//! sequence         u64  the engine's sequence number of the batch; 0 if it has none
//! flags            u8   1: a batch's first fragment, 2: its last one, 4: the segment's last, whose changes are
//!                       the next segment's number (u64), 8: without changes
//! changes               0, keyspace u64: of the changes that follow
//!                       1, key length u16, value length u32, key, value
//!                       2, key length u16, key: removed
//!                       3, number u64, checksum u128: a file of the keyspace, see `crate::pending_files`
//! ```
//!
//! Numbers are little-endian.

use crate::batch::KeyChange;
use crate::engine::Slice;
use crate::pending_files::FileRecord;
use std::ops::RangeInclusive;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bytes of a fragment before its changes.
pub(super) const HEADER_BYTES: usize = 41;
const CHECKED_FROM: usize = 4;
const NUMBER_AT: usize = 16;

/// The batch's first fragment.
pub(super) const FIRST: u8 = 1;
/// The batch's last fragment.
pub(super) const LAST: u8 = 2;
/// The segment's last fragment: the log goes on in another one, which is there.
pub(super) const CONTINUED: u8 = 4;
/// A fragment that says what is durable and nothing else.
pub(super) const SYNCED: u8 = 8;

const KEYSPACE: u8 = 0;
const INSERT: u8 = 1;
const REMOVE: u8 = 2;
const FILE: u8 = 3;

/// Bytes that a file takes.
pub(super) const FILE_BYTES: usize = 25;

/// The header of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FragmentHeader {
    pub number: u64,
    pub durable: u64,
    pub sequence: u64,
    pub flags: u8,
}

/// A header as it is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadHeader {
    pub fragment: FragmentHeader,
    /// Bytes of its changes.
    pub length: usize,
    checksum: u64,
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

/// Writes that a file is the keyspace's.
pub(super) fn put_file(changes: &mut Vec<u8>, file: &FileRecord) {
    changes.push(FILE);
    changes.extend_from_slice(&file.id.to_le_bytes());
    changes.extend_from_slice(&file.checksum.to_le_bytes());
}

/// Writes a fragment behind what is in `buffer`.
pub(super) fn put_fragment(buffer: &mut Vec<u8>, seed: u64, header: FragmentHeader, changes: &[u8]) {
    let start = buffer.len();
    buffer.extend_from_slice(&[0; CHECKED_FROM]);
    buffer.extend_from_slice(&(changes.len() as u32).to_le_bytes());
    buffer.extend_from_slice(&xxh3_64_with_seed(changes, seed).to_le_bytes());
    buffer.extend_from_slice(&header.number.to_le_bytes());
    buffer.extend_from_slice(&header.durable.to_le_bytes());
    buffer.extend_from_slice(&header.sequence.to_le_bytes());
    buffer.push(header.flags);
    let checksum = xxh3_64_with_seed(&buffer[start + CHECKED_FROM..], seed) as u32;
    buffer[start..start + CHECKED_FROM].copy_from_slice(&checksum.to_le_bytes());
    buffer.extend_from_slice(changes);
}

/// Reads a header; `None` if it is not as it was written.
pub(super) fn read_header(seed: u64, bytes: &[u8; HEADER_BYTES]) -> Option<ReadHeader> {
    let mut rest = &bytes[..];
    let header_checksum = u32::from_le_bytes(take(&mut rest)?);
    if xxh3_64_with_seed(rest, seed) as u32 != header_checksum {
        return None;
    }
    let length = u32::from_le_bytes(take(&mut rest)?) as usize;
    let checksum = u64::from_le_bytes(take(&mut rest)?);
    let number = u64::from_le_bytes(take(&mut rest)?);
    let durable = u64::from_le_bytes(take(&mut rest)?);
    let sequence = u64::from_le_bytes(take(&mut rest)?);
    let [flags] = take(&mut rest)?;
    Some(ReadHeader { fragment: FragmentHeader { number, durable, sequence, flags }, length, checksum })
}

impl ReadHeader {
    /// Whether these are the changes that were written with it.
    pub fn is_of(&self, seed: u64, changes: &[u8]) -> bool {
        xxh3_64_with_seed(changes, seed) == self.checksum
    }
}

/// Up to where the log was durable, as the headers of some numbers say that stand anywhere in these bytes; 0 if there are none.
pub(super) fn durable_of_headers(seed: u64, bytes: &[u8], numbers: &RangeInclusive<u64>) -> u64 {
    const ZEROS: [u8; 4096] = [0; 4096];
    let mut durable = 0;
    let mut at = 0;
    while let Some(header) = bytes[at..].first_chunk::<HEADER_BYTES>() {
        if bytes[at..].starts_with(&ZEROS) {
            // A header may begin with zeros, but all of it is none.
            at += ZEROS.len() - HEADER_BYTES;
            continue;
        }
        let number = header[NUMBER_AT..].first_chunk().map_or(0, |number| u64::from_le_bytes(*number));
        if numbers.contains(&number)
            && let Some(found) = read_header(seed, header)
        {
            durable = durable.max(found.fragment.durable);
        }
        at += 1;
    }
    durable
}

/// A change as it is read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LoggedChange {
    /// The keyspace's number.
    pub keyspace: u64,
    pub change: Logged,
}

/// The changes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Logged {
    Key(KeyChange),
    File(FileRecord),
}

/// Reads the changes of a fragment; `None` if they are malformed, which a right checksum rules out.
pub(super) fn read_changes(mut rest: &[u8], out: &mut Vec<LoggedChange>) -> Option<()> {
    let mut keyspace = None;
    while !rest.is_empty() {
        let [kind] = take(&mut rest)?;
        let change = match kind {
            KEYSPACE => {
                keyspace = Some(u64::from_le_bytes(take(&mut rest)?));
                continue;
            }
            INSERT => {
                let key = u16::from_le_bytes(take(&mut rest)?) as usize;
                let value = u32::from_le_bytes(take(&mut rest)?) as usize;
                let key = Slice::from(rest.split_off(..key)?);
                Logged::Key((key, Some(Slice::from(rest.split_off(..value)?))))
            }
            REMOVE => {
                let key = u16::from_le_bytes(take(&mut rest)?) as usize;
                Logged::Key((Slice::from(rest.split_off(..key)?), None))
            }
            FILE => {
                let id = u64::from_le_bytes(take(&mut rest)?);
                Logged::File(FileRecord { id, checksum: u128::from_le_bytes(take(&mut rest)?) })
            }
            _ => return None,
        };
        out.push(LoggedChange { keyspace: keyspace?, change });
    }
    Some(())
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, behind) = rest.split_first_chunk::<N>()?;
    *rest = behind;
    Some(*bytes)
}
