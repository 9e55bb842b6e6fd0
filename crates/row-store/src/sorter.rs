//! External sorting: sorted runs in temporary files, which can be merged several times.
//!
//! ```text
//! record: key length u32 | value length u32 | number u64 | key | value        (little-endian)
//! ```

mod order;

use self::order::{HEADER_BYTES, Indexed, field, record_at, sort};
use crate::error::io_error;
use crate::gate::WriteGate;
use squall_accounting::work_meter::carried;
use squall_types::{SqlError, SqlResult};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering as AtomicOrdering};
use std::thread::JoinHandle;

const FILE_BUFFER_BYTES: usize = 256 << 10;

/// Records from one mark of a run to the next.
const MARK_RECORDS: usize = 2048;

/// The cost of a record beside its bytes, in bytes, for ranges of equal cost.
const RECORD_COST: u64 = 64;

/// A key with its value, and a number that tells equal keys apart.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    pub number: u64,
}

/// Takes records in any order.
pub(crate) struct Sorter {
    directory: PathBuf,
    budget: usize,
    gate: Arc<WriteGate>,
    taken: Taken,
    /// Written by a thread of its own while more is taken.
    spilling: Option<JoinHandle<std::io::Result<(Run, Taken)>>>,
    runs: Vec<Run>,
}

/// Records in the order in which they came, or sorted by the index.
#[derive(Default)]
pub(crate) struct Taken {
    arena: Vec<u8>,
    index: Vec<Indexed>,
}

/// A sorted file, removed when dropped.
struct Run {
    path: PathBuf,
    records: u64,
    bytes: u64,
    marks: Vec<Mark>,
}

/// The place of a record in a run.
struct Mark {
    key: Vec<u8>,
    /// Records and bytes before it.
    records: u64,
    bytes: u64,
}

impl Drop for Run {
    fn drop(&mut self) {
        // What cannot be removed now is removed with the whole folder at the next start.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Taken {
    pub fn bytes(&self) -> usize {
        self.arena.len() + self.index.len() * size_of::<Indexed>()
    }

    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// Takes a record behind those before; its value may come in two parts.
    pub fn push(&mut self, key: &[u8], value: [&[u8]; 2], number: u64) {
        let Taken { arena, index } = self;
        index.push(Indexed::new(key, arena.len()));
        arena.extend_from_slice(&(key.len() as u32).to_le_bytes());
        arena.extend_from_slice(&((value[0].len() + value[1].len()) as u32).to_le_bytes());
        arena.extend_from_slice(&number.to_le_bytes());
        arena.extend_from_slice(key);
        value.iter().for_each(|part| arena.extend_from_slice(part));
    }

    /// Forgets the last records, as long as their numbers are greater than one. They have not been sorted.
    pub fn truncate_behind(&mut self, number: u64) {
        while let Some(last) = self.index.pop_if(|last| record_at(&self.arena, last.offset).2 > number) {
            self.arena.truncate(last.offset);
        }
    }

    pub fn clear(&mut self) {
        self.arena.clear();
        self.index.clear();
    }

    /// The records in their order, key, value and number.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8], u64)> {
        self.index.iter().map(|indexed| record_at(&self.arena, indexed.offset))
    }

    /// Those of a range of keys, in order; they have been sorted.
    pub fn within(&self, range: (Bound<&[u8]>, Bound<&[u8]>)) -> impl Iterator<Item = (&[u8], &[u8], u64)> {
        let before = |bound: &[u8], or_equal: bool| {
            self.index.partition_point(|indexed| {
                let key = self.key_at(indexed);
                if or_equal { key <= bound } else { key < bound }
            })
        };
        let from = match range.0 {
            Bound::Included(key) => before(key, false),
            Bound::Excluded(key) => before(key, true),
            Bound::Unbounded => 0,
        };
        let to = match range.1 {
            Bound::Included(key) => before(key, true),
            Bound::Excluded(key) => before(key, false),
            Bound::Unbounded => self.index.len(),
        };
        let within = self.index.get(from..to).unwrap_or_default();
        within.iter().map(|indexed| record_at(&self.arena, indexed.offset))
    }

    /// Sorts the index; tells whether it was sorted already.
    pub fn sort(&mut self) -> bool {
        sort(&mut self.index, &self.arena)
    }

    fn write(&mut self, path: PathBuf) -> std::io::Result<Run> {
        let in_order = self.sort();
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let (records, bytes) = (self.index.len() as u64, self.arena.len() as u64);
        let mut run = Run { path, records, bytes, marks: Vec::with_capacity(self.index.len() / MARK_RECORDS + 1) };
        let file = File::create(&run.path)?;
        if in_order {
            (&file).write_all(&self.arena)?;
            run.marks = self.marks().collect();
            return Ok(run);
        }
        let mut file = BufWriter::with_capacity(FILE_BUFFER_BYTES, file);
        let mut written = 0;
        for (at, indexed) in self.index.iter().enumerate() {
            let (key, value, _) = record_at(&self.arena, indexed.offset);
            if at % MARK_RECORDS == 0 {
                run.marks.push(Mark { key: key.to_vec(), records: at as u64, bytes: written as u64 });
            }
            let bytes = HEADER_BYTES + key.len() + value.len();
            file.write_all(&self.arena[indexed.offset..indexed.offset + bytes])?;
            written += bytes;
        }
        file.flush()?;
        Ok(run)
    }

    fn key_at(&self, indexed: &Indexed) -> &[u8] {
        record_at(&self.arena, indexed.offset).0
    }

    /// Marks as a run would have them, of records that came in order; of others the bytes are those of as many records on average.
    fn marks(&self) -> impl Iterator<Item = Mark> {
        let marked = self.index.iter().enumerate().step_by(MARK_RECORDS);
        let average = self.arena.len() / self.index.len().max(1);
        let in_order = self.index.is_sorted_by_key(|indexed| indexed.offset);
        marked.map(move |(at, indexed)| Mark {
            key: self.key_at(indexed).to_vec(),
            records: at as u64,
            bytes: if in_order { indexed.offset } else { at * average } as u64,
        })
    }
}

impl Sorter {
    /// Sorts within `budget` bytes of memory, roughly; runs go to `directory`.
    pub fn new(directory: &Path, budget: usize, gate: Arc<WriteGate>) -> Sorter {
        let directory = directory.to_path_buf();
        // One half is filled while the other one is written.
        Sorter { directory, budget: budget / 2, gate, taken: Taken::default(), spilling: None, runs: Vec::new() }
    }

    pub fn push(&mut self, key: &[u8], value: &[u8], number: u64) -> SqlResult<()> {
        let bytes = HEADER_BYTES + key.len() + value.len() + size_of::<Indexed>();
        if !self.taken.index.is_empty() && self.taken.bytes() + bytes > self.budget {
            self.spill()?;
        }
        self.taken.push(key, [value, &[]], number);
        Ok(())
    }

    /// Has what was taken written by another thread.
    fn spill(&mut self) -> SqlResult<()> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let empty = self.end_spill()?;
        self.gate.check_temporary(self.taken.arena.len())?;
        let mut taken = std::mem::replace(&mut self.taken, empty);
        let name = format!("sort-{}-{}", std::process::id(), NEXT.fetch_add(1, AtomicOrdering::Relaxed));
        let path = self.directory.join(name);
        let thread = std::thread::Builder::new().name("squall-sort".into()).spawn(carried(move || {
            let run = taken.write(path)?;
            taken.clear();
            Ok((run, taken))
        }));
        self.spilling = Some(thread.map_err(|error| io_error(&error))?);
        Ok(())
    }

    /// Waits for the run that is being written; its memory comes back.
    fn end_spill(&mut self) -> SqlResult<Taken> {
        let Some(thread) = self.spilling.take() else { return Ok(Taken::default()) };
        let written = thread.join().map_err(|_| SqlError::internal("a sort's thread has panicked"))?;
        let (run, memory) = written.map_err(|error| io_error(&error))?;
        self.runs.push(run);
        Ok(memory)
    }

    /// Ends the taking.
    pub fn finish(mut self) -> SqlResult<Sorted> {
        self.end_spill()?;
        self.taken.sort();
        Ok(Sorted { taken: vec![self.taken], runs: self.runs })
    }

    /// Ends the taking of several sorters, whose records become one order.
    pub fn finish_all(sorters: Vec<Sorter>) -> SqlResult<Sorted> {
        let mut all = Sorted { taken: Vec::new(), runs: Vec::new() };
        std::thread::scope(|scope| -> SqlResult<()> {
            let sorting: Vec<_> = sorters.into_iter().map(|sorter| scope.spawn(carried(|| sorter.finish()))).collect();
            for thread in sorting {
                let sorted = thread.join().map_err(|_| SqlError::internal("a sort's thread has panicked"))??;
                all.taken.extend(sorted.taken);
                all.runs.extend(sorted.runs);
            }
            Ok(())
        })?;
        Ok(all)
    }
}

/// The sorted runs.
pub(crate) struct Sorted {
    taken: Vec<Taken>,
    runs: Vec<Run>,
}

impl Sorted {
    /// Whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    /// The bytes of the records, with their headers.
    pub fn bytes(&self) -> usize {
        let in_memory: usize = self.taken.iter().map(|taken| taken.arena.len()).sum();
        in_memory + self.runs.iter().map(|run| run.bytes as usize).sum::<usize>()
    }

    /// All records in order of key, then number.
    pub fn iter(&self) -> SqlResult<Merge<'_>> {
        self.within(None, None)
    }

    /// The records from a key on and before another one.
    pub fn within(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> SqlResult<Merge<'_>> {
        let first = |taken: &Taken| match from {
            Some(from) => taken.index.partition_point(|indexed| taken.key_at(indexed) < from),
            None => 0,
        };
        let next_in_memory = self.taken.iter().map(first).collect();
        let to = to.map(<[u8]>::to_vec);
        let mut merge = Merge { sorted: self, next_in_memory, files: Vec::new(), heads: BinaryHeap::new(), to };
        for run in &self.runs {
            merge.files.push(RunReader::open(run, from)?);
        }
        for source in 0..self.runs.len() + self.taken.len() {
            merge.begin(source, from)?;
        }
        Ok(merge)
    }

    /// Keys that cut the records into up to `parts` ranges that take about the same time.
    pub fn cuts(&self, parts: usize) -> Vec<Vec<u8>> {
        // What lies between a mark and the next one of its source.
        let mut pieces: Vec<(Vec<u8>, u64)> = Vec::new();
        let mut add = |marks: &mut dyn Iterator<Item = Mark>, bytes: u64, records: u64| {
            let mut marks = marks.peekable();
            while let Some(mark) = marks.next() {
                let (bytes, records) = marks.peek().map_or((bytes, records), |next| (next.bytes, next.records));
                let cost = bytes.saturating_sub(mark.bytes) + (records - mark.records) * RECORD_COST;
                pieces.push((mark.key, cost));
            }
        };
        for run in &self.runs {
            let marks = run.marks.iter().map(|Mark { key, records, bytes }| Mark {
                key: key.clone(),
                records: *records,
                bytes: *bytes,
            });
            add(&mut marks.into_iter(), run.bytes, run.records);
        }
        for taken in &self.taken {
            add(&mut taken.marks(), taken.arena.len() as u64, taken.index.len() as u64);
        }
        pieces.sort();
        let total: u64 = pieces.iter().map(|(_, cost)| cost).sum();
        let mut cuts = Vec::new();
        let mut before = 0;
        for (key, cost) in pieces {
            let wanted = total * (cuts.len() as u64 + 1) / parts.max(1) as u64;
            if cuts.len() + 1 < parts && before >= wanted && before > 0 && cuts.last() != Some(&key) {
                cuts.push(key);
            }
            before += cost;
        }
        cuts
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
    next_in_memory: Vec<usize>,
    files: Vec<RunReader>,
    heads: BinaryHeap<Reverse<Head>>,
    /// The first key that is left to others.
    to: Option<Vec<u8>>,
}

impl Merge<'_> {
    /// Replaces `record` by the next one; `false` at the end.
    pub fn next_into(&mut self, record: &mut Record) -> SqlResult<bool> {
        let Some(mut head) = self.heads.peek_mut() else { return Ok(false) };
        if self.to.as_ref().is_some_and(|to| head.0.record.key >= *to) {
            return Ok(false);
        }
        let source = head.0.source;
        // The head's place is kept for the source's next record: sources that lie behind one another never move.
        std::mem::swap(record, &mut head.0.record);
        if Self::read(self.sorted, &mut self.files, &mut self.next_in_memory, source, &mut head.0.record)? {
            return Ok(true);
        }
        PeekMut::pop(head);
        Ok(true)
    }

    /// Puts a source's first record from a key on among the heads.
    fn begin(&mut self, source: usize, from: Option<&[u8]>) -> SqlResult<()> {
        let mut record = Record::default();
        while Self::read(self.sorted, &mut self.files, &mut self.next_in_memory, source, &mut record)? {
            if from.is_none_or(|from| record.key.as_slice() >= from) {
                self.heads.push(Reverse(Head { record, source }));
                break;
            }
        }
        Ok(())
    }

    /// Reads the next record of a source; the sources after the files are those in memory.
    fn read(
        sorted: &Sorted,
        files: &mut [RunReader],
        next_in_memory: &mut [usize],
        source: usize,
        record: &mut Record,
    ) -> SqlResult<bool> {
        if let Some(file) = files.get_mut(source) {
            return file.read_record(record);
        }
        let (taken, next) = (&sorted.taken[source - files.len()], &mut next_in_memory[source - files.len()]);
        let Some(indexed) = taken.index.get(*next) else { return Ok(false) };
        *next += 1;
        let (key, value, number) = record_at(&taken.arena, indexed.offset);
        record.key.clear();
        record.key.extend_from_slice(key);
        record.value.clear();
        record.value.extend_from_slice(value);
        record.number = number;
        Ok(true)
    }
}

/// Reads a run again, with what is still to come.
struct RunReader {
    file: BufReader<File>,
    records: u64,
    bytes: u64,
}

impl RunReader {
    /// Opens a run, not far before the first record with a key or a greater one.
    fn open(run: &Run, from: Option<&[u8]>) -> SqlResult<RunReader> {
        let mut file = File::open(&run.path).map_err(|error| io_error(&error))?;
        // Records before a mark may have its key.
        let at = from.and_then(|from| run.marks.partition_point(|mark| mark.key.as_slice() < from).checked_sub(1));
        let (mut records, mut bytes) = (run.records, run.bytes);
        if let Some(mark) = at.and_then(|at| run.marks.get(at)) {
            file.seek(SeekFrom::Start(mark.bytes)).map_err(|error| io_error(&error))?;
            records -= mark.records;
            bytes -= mark.bytes;
        }
        Ok(RunReader { file: BufReader::with_capacity(FILE_BUFFER_BYTES, file), records, bytes })
    }

    /// The next record; `false` behind the last one. A file that is not as it was written is an error.
    fn read_record(&mut self, record: &mut Record) -> SqlResult<bool> {
        if self.records == 0 {
            return Ok(false);
        }
        let mut header = [0; HEADER_BYTES];
        self.fill(&mut header)?;
        let (key_len, value_len) = (u32::from_le_bytes(field(&header, 0)), u32::from_le_bytes(field(&header, 4)));
        if u64::from(key_len) + u64::from(value_len) > self.bytes {
            return Err(SqlError::internal("a temporary file of a sort has been damaged"));
        }
        record.key.resize(key_len as usize, 0);
        record.value.resize(value_len as usize, 0);
        record.number = u64::from_le_bytes(field(&header, 8));
        self.fill(&mut record.key)?;
        self.fill(&mut record.value)?;
        self.records -= 1;
        Ok(true)
    }

    fn fill(&mut self, buffer: &mut [u8]) -> SqlResult<()> {
        self.file.read_exact(buffer).map_err(|error| io_error(&error))?;
        self.bytes = self.bytes.saturating_sub(buffer.len() as u64);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_merged_from_files() {
        let directory = tempfile::tempdir().unwrap();
        let gate = Arc::new(WriteGate::new(directory.path()));
        for budget in [200, 10_000, 10_000_000] {
            let mut sorter = Sorter::new(directory.path(), budget, gate.clone());
            let mut expected = Vec::new();
            for number in 0..1000u64 {
                let key = (number * 7919 % 500).to_string().into_bytes();
                sorter.push(&key, &number.to_le_bytes(), number).unwrap();
                expected.push((key, number));
            }
            expected.sort();
            let sorted = sorter.finish().unwrap();
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

    #[test]
    fn ranges_make_up_all_records() {
        let directory = tempfile::tempdir().unwrap();
        let gate = Arc::new(WriteGate::new(directory.path()));
        for (budget, distinct) in [(1_000_000, 20_000u64), (100_000, 3), (10_000_000, 20_000), (1_000_000, u64::MAX)] {
            let sorters: Vec<Sorter> = (0..2u64)
                .map(|part| {
                    let mut sorter = Sorter::new(directory.path(), budget, gate.clone());
                    for number in part * 20_000..(part + 1) * 20_000 {
                        let key = if distinct == u64::MAX { number } else { number * 7919 % distinct };
                        sorter.push(&key.to_be_bytes(), &[7; 5], number).unwrap();
                    }
                    sorter
                })
                .collect();
            let sorted = Sorter::finish_all(sorters).unwrap();
            let found = |mut merge: Merge<'_>| {
                let (mut record, mut found) = (Record::default(), Vec::new());
                while merge.next_into(&mut record).unwrap() {
                    found.push((record.key.clone(), record.number));
                }
                found
            };
            let all = found(sorted.iter().unwrap());
            assert_eq!(all.len(), 40_000);
            for parts in [1, 2, 5] {
                let cuts = sorted.cuts(parts);
                assert!(cuts.is_sorted() && cuts.len() < parts, "{cuts:?}");
                let ends = cuts.iter().map(|cut| Some(cut.as_slice()));
                let ranges = std::iter::once(None).chain(ends.clone()).zip(ends.chain([None]));
                let pieces: Vec<_> = ranges.map(|(from, to)| found(sorted.within(from, to).unwrap())).collect();
                assert_eq!(pieces.concat(), all);
                if distinct > 1000 {
                    assert_eq!(cuts.len() + 1, parts);
                    assert!(pieces.iter().all(|piece| piece.len() > 40_000 / parts / 3), "{parts} parts, {cuts:?}");
                }
            }
        }
    }

    #[test]
    fn a_damaged_run_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let gate = Arc::new(WriteGate::new(directory.path()));
        for (damage, at) in [(&[0xFF, 0xFF, 0xFF, 0xFF][..], 0), (&[], 10)] {
            let mut sorter = Sorter::new(directory.path(), 1000, gate.clone());
            for number in 0..100 {
                sorter.push(b"key", b"value", number).unwrap();
            }
            let sorted = sorter.finish().unwrap();
            let path = &sorted.runs[0].path;
            let mut bytes = std::fs::read(path).unwrap();
            bytes.truncate(bytes.len() - at);
            bytes[..damage.len()].copy_from_slice(damage);
            std::fs::write(path, bytes).unwrap();
            let read = || -> SqlResult<()> {
                let (mut merge, mut record) = (sorted.iter()?, Record::default());
                while merge.next_into(&mut record)? {}
                Ok(())
            };
            read().unwrap_err();
        }
    }
}
