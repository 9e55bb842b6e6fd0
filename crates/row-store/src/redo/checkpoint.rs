//! The checkpoint: the position from which the log is needed.
//!
//! The file `checkpoint` has the position; changes before it are in the tables' files. It is replaced as a whole, before any segment
//! below it is removed or used again. So a segment below it is a remainder. A missing segment above it is damage, and so is a batch
//! without its beginning.
//!
//! ```text
//! magic      8 bytes
//! salt       u64  of the seeds of checksums, different in each run of the server
//! segment    u64
//! byte       u64
//! fragment   u64
//! flags      u64  1: the segment is there; 2: the log was ended on purpose
//! end        u64  the position of that end: the first fragment that is not read
//! checksum   u64  XXH3-64 of all bytes before it
//! ```
//!
//! The file has all of this twice, 4096 bytes apart, because without the salt the log cannot be read.

use super::place::LogPlace;
use squall_types::durable_files::{Readers, replace_file};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

const FILE: &str = "checkpoint";
const MAGIC: [u8; 8] = *b"redo\x00\x00\x00\x01";
const BYTES: usize = 64;
const COPY_AT: usize = 4096;
const BEGUN: u64 = 1;
const CUT: u64 = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Checkpoint {
    pub salt: u64,
    pub place: LogPlace,
    /// The segment is there. Before that there is no log: the last one is not needed any more, and the next one is being made.
    pub is_begun: bool,
    /// The first fragment that is not read, if the log was ended on purpose.
    pub end: Option<u64>,
}

/// The content of the checkpoint's file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Found {
    Checkpoint(Checkpoint),
    Nothing,
    Damaged,
}

impl Checkpoint {
    /// Of a log that begins with the first fragment of a segment.
    pub fn new(segment: u64, is_begun: bool) -> Checkpoint {
        // The standard library gives each of these keys of its own, from the system's randomness.
        let salt = RandomState::new().build_hasher().finish();
        Checkpoint { salt, place: LogPlace { segment, byte: 0, fragment: 0 }, is_begun, end: None }
    }

    /// The seed of a segment's checksums. Only a reader of the file knows it: what clients have put into their rows is never
    /// taken for a part of the log.
    pub fn seed(&self, segment: u64) -> u64 {
        xxh3_64_with_seed(&segment.to_le_bytes(), self.salt)
    }

    /// Where the file is.
    pub fn path(folder: &Path) -> PathBuf {
        folder.join(FILE)
    }

    pub fn read(folder: &Path) -> io::Result<Found> {
        let bytes = match std::fs::read(Checkpoint::path(folder)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
            read => read?,
        };
        let copies = [0, COPY_AT].into_iter().filter_map(|at| bytes.get(at..)?.first_chunk());
        Ok(copies.filter_map(Checkpoint::decode).next().map_or(Found::Damaged, Found::Checkpoint))
    }

    /// Makes it the checkpoint, durably.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        replace_file(&Checkpoint::path(folder), &self.file_content(), Readers::Default)
    }

    /// What the file has.
    pub fn file_content(&self) -> [u8; COPY_AT + BYTES] {
        let record = self.encode();
        let mut bytes = [0; COPY_AT + BYTES];
        bytes[..BYTES].copy_from_slice(&record);
        bytes[COPY_AT..].copy_from_slice(&record);
        bytes
    }

    fn encode(&self) -> [u8; BYTES] {
        let flags = if self.is_begun { BEGUN } else { 0 } | if self.end.is_some() { CUT } else { 0 };
        let LogPlace { segment, byte, fragment } = self.place;
        let mut record = [0; BYTES];
        record[..8].copy_from_slice(&MAGIC);
        let numbers = [self.salt, segment, byte, fragment, flags, self.end.unwrap_or(0)];
        for (number, at) in numbers.into_iter().zip(record[8..].chunks_exact_mut(8)) {
            at.copy_from_slice(&number.to_le_bytes());
        }
        let checksum = xxh3_64(&record[..BYTES - 8]);
        record[BYTES - 8..].copy_from_slice(&checksum.to_le_bytes());
        record
    }

    fn decode(record: &[u8; BYTES]) -> Option<Checkpoint> {
        let mut numbers = [0; 7];
        for (number, at) in numbers.iter_mut().zip(record[8..].chunks_exact(8)) {
            *number = u64::from_le_bytes(at.try_into().ok()?);
        }
        let [salt, segment, byte, fragment, flags, end, checksum] = numbers;
        let is_whole = record[..8] == MAGIC && xxh3_64(&record[..BYTES - 8]) == checksum;
        is_whole.then_some(Checkpoint {
            salt,
            place: LogPlace { segment, byte, fragment },
            is_begun: flags & BEGUN != 0,
            end: (flags & CUT != 0).then_some(end),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_two_copies_is_enough() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Checkpoint::read(folder.path()).unwrap(), Found::Nothing);
        let place = LogPlace { segment: 3, byte: 4, fragment: 5 };
        let written = Checkpoint { place, end: Some(9), ..Checkpoint::new(3, true) };
        written.write(folder.path()).unwrap();
        let path = Checkpoint::path(folder.path());
        let whole = std::fs::read(&path).unwrap();
        for at in (0..BYTES).chain(COPY_AT..COPY_AT + BYTES) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
            assert_eq!(Checkpoint::read(folder.path()).unwrap(), Found::Checkpoint(written));
            bytes[(at + COPY_AT) % (2 * COPY_AT)] ^= 1;
            std::fs::write(&path, &bytes).unwrap();
            assert_eq!(Checkpoint::read(folder.path()).unwrap(), Found::Damaged);
        }
    }
}
