//! The redo log: committed changes that are not yet in the tables' files.
//!
//! Changes are in the log before they are in the engine's buffers, in the order of their sequence numbers. A commit appends to a buffer
//! in memory. The commit thread writes that buffer and syncs it, once for all waiting commits. The log is a sequence of files of one
//! size, which are filled before they are used (see `docs/decisions/0021-redo-log.md`). When all changes of a file are in the tables'
//! files, it is used again under a new number.
//!
//! Every fragment says how far the log was durable when it was made, and a [checkpoint](checkpoint) says from where it is needed. So a
//! reader can tell the log's end from damage (`replay`).

mod checkpoint;
mod extent;
#[cfg(test)]
mod model_tests;
mod place;
mod record;
mod replay;
mod segment;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use extent::LogExtent;
pub(crate) use place::LogError;
pub use place::{LogContents, LogDamage, LogPlace};
pub(crate) use record::{Logged, LoggedChange};
pub(crate) use replay::{end_at, make_durable, read_log, replay};

use crate::batch::Batch;
use crate::engine::{AbstractTree, Engine};
use checkpoint::{Checkpoint, Found};
use parking_lot::{Mutex, MutexGuard};
use record::{
    CONTINUED, FILE_BYTES, FIRST, FragmentHeader, HEADER_BYTES, LAST, SYNCED, change_bytes, put_change, put_file,
    put_fragment, put_keyspace,
};
use rustc_hash::FxHashMap;
use segment::Segment;
use squall_types::durable_files::sync_folder;
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use writer::Writer;

/// How large parts of the log are, bytes.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    /// A segment; one with a larger fragment is as large as that.
    segment: u64,
    /// The first one, unless there is an old one: a server that starts does not write more than that.
    first_segment: u64,
    /// A fragment gets no further change beyond this.
    fragment: usize,
    /// Bytes in memory that wait for a sync are written when they are more than this.
    buffer_max: usize,
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes { segment: 16 << 20, first_segment: 1 << 20, fragment: 256 << 10, buffer_max: 512 << 10 }
    }
}

/// Bytes of a segment's last fragment, which names the next one.
const CONTINUED_BYTES: usize = HEADER_BYTES + size_of::<u64>();

/// The log. Batches are appended by one thread at a time; everything else may be done by any.
pub(crate) struct RedoLog {
    folder: PathBuf,
    sizes: Sizes,
    /// As it was at the beginning.
    checkpoint: Checkpoint,
    tail: Mutex<Tail>,
    /// All fragments before this one are on the disk.
    durable: AtomicU64,
    /// Held while the buffer goes to the file, so that it goes in order. Taken before `tail`.
    writer: Mutex<Writer>,
    /// The segment that comes after the current one, if it is ready.
    next: Mutex<Option<Segment>>,
    /// Those before the current one, oldest first.
    full: Mutex<VecDeque<FullSegment>>,
    /// While it is not 0, no segment goes or is used again: somebody copies them.
    holds: AtomicUsize,
    /// The first failed write or sync, if any. Then the content of the disk is unknown. A caller that meets the failure later gets
    /// the same reason, whichever thread tells it first.
    failure: OnceLock<io::Error>,
}

/// The end of the log.
struct Tail {
    segment: Segment,
    /// The seed of its checksums.
    seed: u64,
    /// The bytes that are not in the segment's file yet, and their position in it.
    buffer: Vec<u8>,
    buffer_at: u64,
    /// The next fragment's number.
    fragment: u64,
    /// The number behind the last fragment with changes, and up to where the log is durable as the last fragment says.
    changes_end: u64,
    stated: u64,
    /// Where the first batch begins that begins in this segment.
    first_batch: Option<LogPlace>,
    /// The newest change of each keyspace that a batch has which is in this segment, or a part of it.
    newest: Newest,
    changes: Vec<u8>,
}

impl Tail {
    fn new(segment: Segment, seed: u64) -> Tail {
        Tail {
            segment,
            seed,
            buffer: Vec::new(),
            buffer_at: 0,
            fragment: 0,
            changes_end: 0,
            stated: 0,
            first_batch: None,
            newest: Newest::default(),
            changes: Vec::new(),
        }
    }

    /// The end.
    fn place(&self) -> LogPlace {
        let byte = self.buffer_at + self.buffer.len() as u64;
        LogPlace { segment: self.segment.number, byte, fragment: self.fragment }
    }

    /// Where a batch begins in this segment, or will begin.
    fn begins(&self) -> LogPlace {
        self.first_batch.unwrap_or_else(|| self.place())
    }

    /// Whether this many bytes fit, and the segment's last fragment behind them.
    fn has_room(&self, bytes: usize) -> bool {
        self.place().byte + (bytes + CONTINUED_BYTES) as u64 <= self.segment.bytes
    }

    /// Appends a fragment, for which the segment has space.
    fn put(&mut self, sequence: u64, flags: u8, changes: &[u8], durable: u64) {
        if flags & FIRST != 0 && self.first_batch.is_none() {
            self.first_batch = Some(self.place());
        }
        let header = FragmentHeader { number: self.fragment, durable, sequence, flags };
        put_fragment(&mut self.buffer, self.seed, header, changes);
        self.fragment += 1;
        self.stated = durable;
        if sequence != 0 {
            self.changes_end = self.fragment;
        }
    }
}

/// The names and the newest changes of keyspaces, by their numbers.
type Newest = FxHashMap<u64, (Box<str>, u64)>;

/// A segment that is behind the end of the log.
struct FullSegment {
    number: u64,
    bytes: u64,
    newest: Newest,
    /// Where the first batch begins that begins in it.
    begins: LogPlace,
}

/// Segments that are not needed any more once the checkpoint is behind them.
pub(crate) struct UnneededSegments {
    segments: Vec<FullSegment>,
    /// Where the log begins without them: with a whole batch.
    begins: LogPlace,
}

impl RedoLog {
    /// Begins a log in a folder. What an earlier one has left there has been replayed and is not needed any more.
    pub fn begin(folder: &Path) -> io::Result<RedoLog> {
        RedoLog::begin_with(folder, Sizes::default())
    }

    fn begin_with(folder: &Path, sizes: Sizes) -> io::Result<RedoLog> {
        let left = segment::numbers(folder)?;
        let before = match Checkpoint::read(folder)? {
            Found::Checkpoint(checkpoint) => checkpoint.place.segment,
            Found::Nothing | Found::Damaged => 0,
        };
        let number = left.last().copied().unwrap_or(0).max(before) + 1;
        let mut checkpoint = Checkpoint::new(number, false);
        // From here on the earlier log is none, however much of it a power cut leaves.
        checkpoint.write(folder)?;
        let mut reused = None;
        for old in left {
            let path = segment::path_of(folder, old);
            let bytes = std::fs::metadata(&path)?.len();
            if reused.is_none() && bytes == sizes.segment {
                reused = Some(Segment::reuse(folder, old, number)?);
            } else {
                std::fs::remove_file(path)?;
            }
        }
        let segment = match reused {
            Some(segment) => segment,
            None => Segment::create(folder, number, sizes.first_segment)?,
        };
        sync_folder(folder)?;
        checkpoint.is_begun = true;
        checkpoint.write(folder)?;
        Ok(RedoLog {
            folder: folder.to_path_buf(),
            sizes,
            checkpoint,
            tail: Mutex::new(Tail::new(segment, checkpoint.seed(number))),
            durable: AtomicU64::new(0),
            writer: Mutex::default(),
            next: Mutex::default(),
            full: Mutex::default(),
            holds: AtomicUsize::new(0),
            failure: OnceLock::new(),
        })
    }

    /// Whether a write or a sync has failed, and with it the log for good.
    pub fn is_failed(&self) -> bool {
        self.failure.get().is_some()
    }

    /// Appends a batch. It is in memory only when this returns; see [`RedoLog::write`] and [`RedoLog::sync`].
    ///
    /// # Errors
    /// The system's. Unless the log [has failed](RedoLog::is_failed) the batch alone is lost: there was no space for
    /// another segment.
    pub fn append(&self, sequence: u64, batch: &Batch) -> io::Result<()> {
        self.check()?;
        let mut tail = self.tail.lock();
        let mut changes = std::mem::take(&mut tail.changes);
        changes.clear();
        let mut flags = FIRST;
        let mut is_empty = true;
        for part in batch.parts() {
            put_keyspace(&mut changes, part.keyspace.id());
            for change in &part.changes {
                if changes.len() + change_bytes(change) > self.sizes.fragment && !is_empty {
                    tail = self.append_fragment(tail, sequence, flags, &changes, batch)?;
                    flags = 0;
                    changes.clear();
                    put_keyspace(&mut changes, part.keyspace.id());
                }
                put_change(&mut changes, change);
                is_empty = false;
            }
        }
        for files in batch.files() {
            put_keyspace(&mut changes, files.keyspace().id());
            for file in files.files() {
                if changes.len() + FILE_BYTES > self.sizes.fragment && !is_empty {
                    tail = self.append_fragment(tail, sequence, flags, &changes, batch)?;
                    flags = 0;
                    changes.clear();
                    put_keyspace(&mut changes, files.keyspace().id());
                }
                put_file(&mut changes, file);
                is_empty = false;
            }
        }
        tail = self.append_fragment(tail, sequence, flags | LAST, &changes, batch)?;
        if changes.capacity() <= 2 * self.sizes.fragment {
            tail.changes = changes;
        }
        Ok(())
    }

    /// Appends a fragment of a batch.
    fn append_fragment<'a>(
        &'a self,
        mut tail: MutexGuard<'a, Tail>,
        sequence: u64,
        flags: u8,
        changes: &[u8],
        batch: &Batch,
    ) -> io::Result<MutexGuard<'a, Tail>> {
        let bytes = HEADER_BYTES + changes.len();
        let mut is_first_here = flags & FIRST != 0;
        if !tail.has_room(bytes) {
            drop(tail);
            self.begin_segment(bytes)?;
            tail = self.tail.lock();
            is_first_here = true;
        }
        tail.put(sequence, flags, changes, self.durable.load(Ordering::Acquire));
        if is_first_here {
            // All of them, not only those of this fragment: a segment is needed for as long as any part of a batch is that it has
            // any part of.
            for keyspace in batch.keyspaces() {
                let name = || keyspace.name().into();
                tail.newest.entry(keyspace.id()).or_insert_with(|| (name(), 0)).1 = sequence;
            }
        }
        if tail.buffer.len() > self.sizes.buffer_max {
            drop(tail);
            self.write()?;
            tail = self.tail.lock();
        }
        Ok(tail)
    }

    /// Goes on to the next segment, which must have space for this many bytes.
    fn begin_segment(&self, bytes: usize) -> io::Result<()> {
        let bytes = (bytes + CONTINUED_BYTES) as u64;
        let mut ready = self.next.lock();
        let number = match ready.as_ref() {
            Some(segment) if segment.bytes >= bytes => segment.number,
            Some(segment) => segment.number + 1,
            None => self.tail.lock().segment.number + 1,
        };
        let segment = match ready.take() {
            Some(segment) if segment.bytes >= bytes => segment,
            too_small => {
                if let Some(small) = too_small {
                    std::fs::remove_file(segment::path_of(&self.folder, small.number))?;
                }
                Segment::create_now(&self.folder, number, bytes.max(self.sizes.segment))?
            }
        };
        // All of this one is on the disk before anything is in the next, and says that there is one.
        self.tail.lock().put(0, CONTINUED, &number.to_le_bytes(), self.durable.load(Ordering::Acquire));
        self.sync()?;
        let mut tail = self.tail.lock();
        let begins = tail.begins();
        let newest = std::mem::take(&mut tail.newest);
        (tail.first_batch, tail.seed, tail.buffer_at) = (None, self.checkpoint.seed(number), 0);
        let before = std::mem::replace(&mut tail.segment, segment);
        self.full.lock().push_back(FullSegment { number: before.number, bytes: before.bytes, newest, begins });
        Ok(())
    }

    /// Says in the log up to where it is durable, if nothing in it does and nothing is on its way: else damage to the last commits before
    /// a pause would look as if they had never been synced. Whether it is to be synced. The caller holds the lock under which batches are
    /// appended.
    ///
    /// # Errors
    /// As of [`RedoLog::append`].
    pub fn state_durable(&self) -> io::Result<bool> {
        let tail = self.tail.lock();
        let (durable, end) = (self.durable.load(Ordering::Acquire), tail.changes_end);
        if tail.stated >= end || durable < end {
            return Ok(false);
        }
        drop(self.append_fragment(tail, 0, SYNCED, &[], &Batch::default())?);
        Ok(true)
    }

    /// Gives what was appended to the operating system.
    pub fn write(&self) -> io::Result<()> {
        self.put(&mut self.writer.lock(), false)
    }

    /// Makes everything durable that was appended before the call.
    pub fn sync(&self) -> io::Result<()> {
        let fragment = self.tail.lock().fragment;
        let mut writer = self.writer.lock();
        self.check()?;
        // Another's sync may have had it.
        if self.durable.load(Ordering::Acquire) < fragment { self.put(&mut writer, true) } else { Ok(()) }
    }

    /// Writes what was appended, durably if `durable`.
    fn put(&self, writer: &mut Writer, durable: bool) -> io::Result<()> {
        self.check()?;
        let mut buffer = std::mem::take(&mut writer.spare);
        let (file, at, fragment) = {
            let mut tail = self.tail.lock();
            let at = tail.buffer_at;
            std::mem::swap(&mut tail.buffer, &mut buffer);
            tail.buffer_at += buffer.len() as u64;
            (tail.segment.file.clone(), at, tail.fragment)
        };
        self.note_failure(writer.put(&file, at, &buffer, durable))?;
        if durable {
            self.durable.store(fragment, Ordering::Release);
        }
        buffer.clear();
        writer.spare = buffer;
        writer.shrink(2 * self.sizes.buffer_max);
        Ok(())
    }

    /// Makes the next segment ready, if it will be needed soon, and lets segments go that are [not needed any
    /// more](RedoLog::take_unneeded).
    ///
    /// # Errors
    /// That of making a segment, which a commit may do again when it needs it.
    pub fn maintain(&self, unneeded: Option<UnneededSegments>) -> io::Result<()> {
        if let Some(unneeded) = unneeded {
            self.let_go(unneeded)?;
        }
        let mut next = self.next.lock();
        if next.is_none() {
            let (number, used) = {
                let tail = self.tail.lock();
                (tail.segment.number + 1, tail.buffer_at)
            };
            // Ready when a quarter of the smallest is used.
            if used >= self.sizes.first_segment / 4 {
                *next = Some(Segment::create(&self.folder, number, self.sizes.segment)?);
            }
        }
        Ok(())
    }

    fn let_go(&self, unneeded: UnneededSegments) -> io::Result<()> {
        let UnneededSegments { segments, begins } = unneeded;
        if let Err(error) = (Checkpoint { place: begins, ..self.checkpoint }).write(&self.folder) {
            let mut full = self.full.lock();
            segments.into_iter().rev().for_each(|segment| full.push_front(segment));
            return Err(error);
        }
        for full in segments {
            let mut next = self.next.lock();
            if next.is_none() && full.bytes == self.sizes.segment {
                let number = self.tail.lock().segment.number + 1;
                *next = Some(Segment::reuse(&self.folder, full.number, number)?);
            } else {
                std::fs::remove_file(segment::path_of(&self.folder, full.number))?;
            }
        }
        Ok(())
    }

    /// Takes the oldest segments, as far as tables' files have all of every batch that is in them or has a part in them. No batch may
    /// be between the log and the engine's buffers: the caller holds the lock under which they are applied.
    pub fn take_unneeded(&self, db: &Engine) -> Option<UnneededSegments> {
        let end = self.tail.lock().begins();
        let mut full = self.full.lock();
        if full.is_empty() || self.is_held() {
            return None;
        }
        let keyspaces = db.keyspaces();
        let is_in_files = |(id, (name, sequence)): (&u64, &(Box<str>, u64))| {
            // What is there no more, or there again, needs nothing from the log.
            keyspaces.get(&**name).filter(|keyspace| keyspace.id() == *id).is_none_or(|keyspace| {
                let tree = &keyspace.tree;
                // A merge may have thrown the newest entries of the files away, if they removed something.
                tree.get_highest_persisted_seqno().is_some_and(|persisted| persisted >= *sequence)
                    || (tree.active_memtable().is_empty() && tree.sealed_memtable_count() == 0)
            })
        };
        let mut segments = Vec::new();
        while full.front().is_some_and(|oldest| oldest.newest.iter().all(is_in_files)) {
            segments.extend(full.pop_front());
        }
        // The rest of a batch that has begun in one of them is in files, too.
        let begins = full.front().map_or(end, |oldest| oldest.begins);
        (!segments.is_empty()).then_some(UnneededSegments { segments, begins })
    }

    /// How many segments before the current one are still needed.
    pub fn full_segments(&self) -> usize {
        self.full.lock().len()
    }

    /// Forgets everything: tables' files have it, and nothing will be appended any more. A log that is held stays: the next start reads
    /// it, and finds all of it in files.
    pub fn clear(&self) -> io::Result<()> {
        self.sync()?;
        if self.is_held() {
            return Ok(());
        }
        let place = self.tail.lock().place();
        Checkpoint { place, ..self.checkpoint }.write(&self.folder)?;
        for full in self.full.lock().drain(..) {
            std::fs::remove_file(segment::path_of(&self.folder, full.number))?;
        }
        Ok(())
    }

    fn check(&self) -> io::Result<()> {
        self.failure.get().map_or(Ok(()), |first| Err(copy_of(first)))
    }

    fn note_failure(&self, result: io::Result<()>) -> io::Result<()> {
        result.map_err(|error| copy_of(self.failure.get_or_init(|| error)))
    }
}

/// The same error once more, which the library's own cannot be cloned for.
fn copy_of(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}
