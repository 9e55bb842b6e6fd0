//! Sorting more than fits in memory: sorted runs in temporary files, merged as often as wanted.
//!
//! ```text
//! record: key length u32 | value length u32 | number u64 | key | value        (little-endian)
//! ```

use crate::error::io_error;
use squall_types::SqlResult;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufReader, BufWriter, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering as AtomicOrdering};

const HEADER_BYTES: usize = 16;
const FILE_BUFFER_BYTES: usize = 256 << 10;

/// A key with its value, and a number that tells equal keys apart.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    pub number: u64,
}

#[derive(Clone, Copy)]
struct Indexed {
    /// The first bytes of the key, which settle most comparisons.
    prefix: u64,
    offset: usize,
}

/// Takes records in any order.
pub(crate) struct Sorter {
    directory: PathBuf,
    budget: usize,
    arena: Vec<u8>,
    index: Vec<Indexed>,
    runs: Vec<Run>,
}

/// A sorted file, removed when dropped.
struct Run(PathBuf);

impl Drop for Run {
    fn drop(&mut self) {
        // What cannot be removed now is removed with the whole folder at the next start.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn field<const N: usize>(arena: &[u8], at: usize) -> [u8; N] {
    let mut bytes = [0; N];
    bytes.copy_from_slice(&arena[at..at + N]);
    bytes
}

/// Key, value and number of the record at an offset of an arena.
fn record_at(arena: &[u8], offset: usize) -> (&[u8], &[u8], u64) {
    let key_len = u32::from_le_bytes(field(arena, offset)) as usize;
    let value_len = u32::from_le_bytes(field(arena, offset + 4)) as usize;
    let number = u64::from_le_bytes(field(arena, offset + 8));
    let key_at = offset + HEADER_BYTES;
    (&arena[key_at..key_at + key_len], &arena[key_at + key_len..key_at + key_len + value_len], number)
}

impl Sorter {
    /// Sorts within `budget` bytes of memory, roughly; runs go to `directory`.
    pub fn new(directory: &Path, budget: usize) -> Sorter {
        let directory = directory.to_path_buf();
        Sorter { directory, budget, arena: Vec::new(), index: Vec::new(), runs: Vec::new() }
    }

    pub fn push(&mut self, key: &[u8], value: &[u8], number: u64) -> SqlResult<()> {
        let bytes = HEADER_BYTES + key.len() + value.len() + size_of::<Indexed>();
        if !self.index.is_empty() && self.arena.len() + self.index.len() * size_of::<Indexed>() + bytes > self.budget {
            self.spill()?;
        }
        let mut prefix = [0; 8];
        let len = key.len().min(8);
        prefix[..len].copy_from_slice(&key[..len]);
        self.index.push(Indexed { prefix: u64::from_be_bytes(prefix), offset: self.arena.len() });
        self.arena.extend_from_slice(&(key.len() as u32).to_le_bytes());
        self.arena.extend_from_slice(&(value.len() as u32).to_le_bytes());
        self.arena.extend_from_slice(&number.to_le_bytes());
        self.arena.extend_from_slice(key);
        self.arena.extend_from_slice(value);
        Ok(())
    }

    fn sort(&mut self) {
        let arena = &self.arena;
        let compare = |left: &Indexed, right: &Indexed| {
            left.prefix.cmp(&right.prefix).then_with(|| {
                let (left_key, _, left_number) = record_at(arena, left.offset);
                let (right_key, _, right_number) = record_at(arena, right.offset);
                left_key.cmp(right_key).then(left_number.cmp(&right_number))
            })
        };
        if !self.index.is_sorted_by(|left, right| compare(left, right) != Ordering::Greater) {
            self.index.sort_unstable_by(compare);
        }
    }

    fn spill(&mut self) -> SqlResult<()> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        self.sort();
        let write = || -> std::io::Result<Run> {
            std::fs::create_dir_all(&self.directory)?;
            let name = format!("sort-{}-{}", std::process::id(), NEXT.fetch_add(1, AtomicOrdering::Relaxed));
            let run = Run(self.directory.join(name));
            let mut file = BufWriter::with_capacity(FILE_BUFFER_BYTES, File::create(&run.0)?);
            for indexed in &self.index {
                let (key, value, _) = record_at(&self.arena, indexed.offset);
                let bytes = HEADER_BYTES + key.len() + value.len();
                file.write_all(&self.arena[indexed.offset..indexed.offset + bytes])?;
            }
            file.flush()?;
            Ok(run)
        };
        self.runs.push(write().map_err(|error| io_error(&error))?);
        self.arena.clear();
        self.index.clear();
        Ok(())
    }

    /// Ends the taking.
    pub fn finish(mut self) -> Sorted {
        self.sort();
        Sorted { arena: self.arena, index: self.index, runs: self.runs }
    }
}

/// What has been sorted.
pub(crate) struct Sorted {
    arena: Vec<u8>,
    index: Vec<Indexed>,
    runs: Vec<Run>,
}

impl Sorted {
    /// All records in order of key, then number.
    pub fn iter(&self) -> SqlResult<Merge<'_>> {
        let mut merge = Merge { sorted: self, next_in_memory: 0, files: Vec::new(), heads: BinaryHeap::new() };
        for run in &self.runs {
            let file = File::open(&run.0).map_err(|error| io_error(&error))?;
            merge.files.push(BufReader::with_capacity(FILE_BUFFER_BYTES, file));
        }
        for source in 0..=self.runs.len() {
            merge.refill(source, Record::default())?;
        }
        Ok(merge)
    }
}

struct Head {
    record: Record,
    source: usize,
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head {}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        self.record.key.cmp(&other.record.key).then(self.record.number.cmp(&other.record.number))
    }
}

/// Reads sorted records.
pub(crate) struct Merge<'a> {
    sorted: &'a Sorted,
    next_in_memory: usize,
    files: Vec<BufReader<File>>,
    heads: BinaryHeap<Reverse<Head>>,
}

impl Merge<'_> {
    /// Replaces `record` by the next one; `false` at the end.
    pub fn next_into(&mut self, record: &mut Record) -> SqlResult<bool> {
        let Some(Reverse(mut head)) = self.heads.pop() else { return Ok(false) };
        std::mem::swap(record, &mut head.record);
        self.refill(head.source, head.record)?;
        Ok(true)
    }

    /// Puts the next record of a source among the heads; the source after the files is the memory.
    fn refill(&mut self, source: usize, mut record: Record) -> SqlResult<()> {
        let more = match self.files.get_mut(source) {
            Some(file) => read_record(file, &mut record).map_err(|error| io_error(&error))?,
            None => match self.sorted.index.get(self.next_in_memory) {
                Some(indexed) => {
                    self.next_in_memory += 1;
                    let (key, value, number) = record_at(&self.sorted.arena, indexed.offset);
                    record.key.clear();
                    record.key.extend_from_slice(key);
                    record.value.clear();
                    record.value.extend_from_slice(value);
                    record.number = number;
                    true
                }
                None => false,
            },
        };
        if more {
            self.heads.push(Reverse(Head { record, source }));
        }
        Ok(())
    }
}

fn read_record(file: &mut BufReader<File>, record: &mut Record) -> std::io::Result<bool> {
    let mut header = [0; HEADER_BYTES];
    match file.read_exact(&mut header) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(false),
        Err(error) => return Err(error),
    }
    record.key.resize(u32::from_le_bytes(field(&header, 0)) as usize, 0);
    record.value.resize(u32::from_le_bytes(field(&header, 4)) as usize, 0);
    record.number = u64::from_le_bytes(field(&header, 8));
    file.read_exact(&mut record.key)?;
    file.read_exact(&mut record.value)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_merged_from_files() {
        let directory = tempfile::tempdir().unwrap();
        for budget in [200, 10_000, 10_000_000] {
            let mut sorter = Sorter::new(directory.path(), budget);
            let mut expected = Vec::new();
            for number in 0..1000u64 {
                let key = (number * 7919 % 500).to_string().into_bytes();
                sorter.push(&key, &number.to_le_bytes(), number).unwrap();
                expected.push((key, number));
            }
            expected.sort();
            let sorted = sorter.finish();
            for _ in 0..2 {
                let mut merge = sorted.iter().unwrap();
                let mut record = Record::default();
                let mut found = Vec::new();
                while merge.next_into(&mut record).unwrap() {
                    assert_eq!(record.value, record.number.to_le_bytes());
                    found.push((record.key.clone(), record.number));
                }
                assert_eq!(found, expected);
            }
        }
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
