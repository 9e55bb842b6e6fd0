//! The redo log: what was committed and is not in the tables' files yet.
//!
//! Changes stand here before they are in the engine's buffers, in the order of their sequence numbers. A commit appends to a
//! buffer in memory; whoever has to wait for the disk writes that buffer and syncs, once for all who wait. The log is a
//! row of files of one size that were written before they are used (see `docs/decisions/0021-redo-log.md`). Files whose changes have
//! all become part of the tables' files are used again, under a new number.

mod record;
mod replay;
mod segment;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use record::LoggedChange;
pub(crate) use replay::replay;

use crate::batch::{Batch, Part};
use fjall::{AbstractTree, Database};
use parking_lot::{Mutex, MutexGuard};
use record::{FIRST, FragmentHeader, HEADER_BYTES, LAST, change_bytes, put_change, put_fragment, put_keyspace};
use rustc_hash::FxHashMap;
use segment::Segment;
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use writer::Writer;

/// Bytes of a segment; one with a larger fragment is as large as that.
const SEGMENT_BYTES: u64 = 16 << 20;
/// Bytes of the first one, unless there is an old one: a server that starts does not write more than that.
const FIRST_SEGMENT_BYTES: u64 = 1 << 20;
/// The next segment is made ready when so much of the current one is used.
const PREPARE_FROM: u64 = FIRST_SEGMENT_BYTES / 4;
/// A fragment gets no further change beyond this.
const FRAGMENT_BYTES: usize = 256 << 10;
/// What waits in memory for somebody to sync is written when it is more than this.
const BUFFER_BYTES_MAX: usize = 512 << 10;

/// The log. Batches are appended by one thread at a time; everything else may be done by any.
pub(crate) struct RedoLog {
    folder: PathBuf,
    tail: Mutex<Tail>,
    /// Held while the buffer goes to the file, so that it goes in order. Taken before `tail`.
    writer: Mutex<Writer>,
    /// The segment that comes after the current one, if it is ready.
    next: Mutex<Option<Segment>>,
    /// Those before the current one, oldest first.
    full: Mutex<VecDeque<FullSegment>>,
    /// A write or a sync has failed: what the disk has is not known.
    failed: AtomicBool,
}

/// The end of the log.
struct Tail {
    segment: Segment,
    /// What the segment's file has not got yet, and where it begins in the file.
    buffer: Vec<u8>,
    buffer_at: u64,
    /// Bytes ever appended.
    appended: u64,
    /// The next fragment's number.
    fragment: u64,
    /// The newest change of each keyspace in this segment.
    newest: Newest,
    changes: Vec<u8>,
}

/// The names and the newest changes of keyspaces, by their numbers.
type Newest = FxHashMap<u64, (Box<str>, u64)>;

/// A segment that is behind the end of the log.
pub(crate) struct FullSegment {
    number: u64,
    bytes: u64,
    newest: Newest,
}

impl RedoLog {
    /// Begins a log in a folder. What an earlier one has left there has been replayed and is not needed any more.
    pub fn begin(folder: &Path) -> io::Result<RedoLog> {
        let left = segment::numbers(folder)?;
        let number = left.last().map_or(1, |last| last + 1);
        let mut reused = None;
        for old in left {
            let path = segment::path_of(folder, old);
            let bytes = std::fs::metadata(&path)?.len();
            if reused.is_none() && bytes == SEGMENT_BYTES {
                reused = Some(Segment::reuse(folder, old, number)?);
            } else {
                std::fs::remove_file(path)?;
            }
        }
        let segment = match reused {
            Some(segment) => segment,
            None => Segment::create(folder, number, FIRST_SEGMENT_BYTES)?,
        };
        segment::sync_folder(folder)?;
        Ok(RedoLog {
            folder: folder.to_path_buf(),
            tail: Mutex::new(Tail {
                segment,
                buffer: Vec::new(),
                buffer_at: 0,
                appended: 0,
                fragment: 0,
                newest: Newest::default(),
                changes: Vec::new(),
            }),
            writer: Mutex::default(),
            next: Mutex::default(),
            full: Mutex::default(),
            failed: AtomicBool::new(false),
        })
    }

    /// Whether a write or a sync has failed, and with it the log for good.
    pub fn is_failed(&self) -> bool {
        self.failed.load(Ordering::Acquire)
    }

    /// Appends a batch. It is in memory only when this returns; see [`RedoLog::write`] and [`RedoLog::sync`].
    ///
    /// # Errors
    /// The system's. Unless the log [has failed](RedoLog::is_failed) the batch alone is lost: there was no room for another
    /// segment.
    pub fn append(&self, sequence: u64, batch: &Batch) -> io::Result<()> {
        self.check()?;
        let mut tail = self.tail.lock();
        let mut changes = std::mem::take(&mut tail.changes);
        changes.clear();
        let mut flags = FIRST;
        let mut first = 0;
        for (at, part) in batch.parts().iter().enumerate() {
            put_keyspace(&mut changes, part.keyspace.id());
            for (number, change) in part.changes.iter().enumerate() {
                let is_first = (at, number) == (first, 0);
                if changes.len() + change_bytes(change) > FRAGMENT_BYTES && !is_first {
                    tail = self.append_fragment(tail, sequence, flags, &changes, &batch.parts()[first..=at])?;
                    (flags, first) = (0, at);
                    changes.clear();
                    put_keyspace(&mut changes, part.keyspace.id());
                }
                put_change(&mut changes, change);
            }
        }
        tail = self.append_fragment(tail, sequence, flags | LAST, &changes, &batch.parts()[first..])?;
        if changes.capacity() <= 2 * FRAGMENT_BYTES {
            tail.changes = changes;
        }
        Ok(())
    }

    fn append_fragment<'a>(
        &'a self,
        mut tail: MutexGuard<'a, Tail>,
        sequence: u64,
        flags: u8,
        changes: &[u8],
        parts: &[Part],
    ) -> io::Result<MutexGuard<'a, Tail>> {
        let bytes = HEADER_BYTES + changes.len();
        if tail.buffer_at + (tail.buffer.len() + bytes) as u64 > tail.segment.bytes {
            drop(tail);
            self.begin_segment(bytes as u64)?;
            tail = self.tail.lock();
        }
        let header = FragmentHeader { number: tail.fragment, sequence, flags };
        let Tail { segment, buffer, .. } = &mut *tail;
        put_fragment(buffer, segment.number, header, changes);
        tail.fragment += 1;
        tail.appended += bytes as u64;
        for part in parts {
            let newest = tail.newest.entry(part.keyspace.id()).or_insert_with(|| ((&**part.keyspace.name()).into(), 0));
            newest.1 = sequence;
        }
        if tail.buffer.len() > BUFFER_BYTES_MAX {
            drop(tail);
            self.write()?;
            tail = self.tail.lock();
        }
        Ok(tail)
    }

    /// Goes on to the next segment.
    fn begin_segment(&self, bytes: u64) -> io::Result<()> {
        // All of this one is on the disk before anything is in the next: a gap is damage, and not the log's end.
        self.sync()?;
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
                Segment::create_now(&self.folder, number, bytes.max(SEGMENT_BYTES))?
            }
        };
        let mut tail = self.tail.lock();
        tail.buffer_at = 0;
        let newest = std::mem::take(&mut tail.newest);
        let before = std::mem::replace(&mut tail.segment, segment);
        self.full.lock().push_back(FullSegment { number: before.number, bytes: before.bytes, newest });
        Ok(())
    }

    /// Gives what was appended to the operating system.
    pub fn write(&self) -> io::Result<()> {
        self.put(&mut self.writer.lock(), false)
    }

    /// Makes everything durable that was appended before the call.
    pub fn sync(&self) -> io::Result<()> {
        let appended = self.tail.lock().appended;
        let mut writer = self.writer.lock();
        self.check()?;
        // Another's sync may have had it.
        if writer.synced < appended { self.put(&mut writer, true) } else { Ok(()) }
    }

    /// Writes what was appended, durably if `durable`.
    fn put(&self, writer: &mut Writer, durable: bool) -> io::Result<()> {
        self.check()?;
        let mut buffer = std::mem::take(&mut writer.spare);
        let (file, at, appended) = {
            let mut tail = self.tail.lock();
            let at = tail.buffer_at;
            std::mem::swap(&mut tail.buffer, &mut buffer);
            tail.buffer_at += buffer.len() as u64;
            (tail.segment.file.clone(), at, tail.appended)
        };
        self.note_failure(writer.put(&file, at, &buffer, durable))?;
        if durable {
            writer.synced = appended;
        }
        buffer.clear();
        writer.spare = buffer;
        writer.shrink(2 * BUFFER_BYTES_MAX);
        Ok(())
    }

    /// Makes the next segment ready, if it will be needed soon, and lets segments go that are [not needed any
    /// more](RedoLog::take_unneeded).
    ///
    /// # Errors
    /// That of making a segment, which a commit may do again when it needs it.
    pub fn maintain(&self, unneeded: Vec<FullSegment>) -> io::Result<()> {
        for full in unneeded {
            let mut next = self.next.lock();
            if next.is_none() && full.bytes == SEGMENT_BYTES {
                let number = self.tail.lock().segment.number + 1;
                *next = Some(Segment::reuse(&self.folder, full.number, number)?);
            } else {
                std::fs::remove_file(segment::path_of(&self.folder, full.number))?;
            }
        }
        let mut next = self.next.lock();
        if next.is_none() {
            let (number, used) = {
                let tail = self.tail.lock();
                (tail.segment.number + 1, tail.buffer_at)
            };
            if used >= PREPARE_FROM {
                *next = Some(Segment::create(&self.folder, number, SEGMENT_BYTES)?);
            }
        }
        Ok(())
    }

    /// Takes the oldest segments, as far as tables' files have all that is in them. No batch may be between the log and the
    /// engine's buffers: the caller holds the lock under which they are applied.
    pub fn take_unneeded(&self, db: &Database) -> Vec<FullSegment> {
        let mut full = self.full.lock();
        let mut unneeded = Vec::new();
        if full.is_empty() {
            return unneeded;
        }
        let Ok(keyspaces) = db.supervisor.keyspaces.read() else { return unneeded };
        let is_in_files = |(id, (name, sequence)): (&u64, &(Box<str>, u64))| {
            // What is there no more, or there anew, needs nothing from the log.
            keyspaces.get(&**name).filter(|keyspace| keyspace.id() == *id).is_none_or(|keyspace| {
                let tree = &keyspace.tree;
                // A merge may have thrown the newest entries of the files away, if they removed something.
                tree.get_highest_persisted_seqno().is_some_and(|persisted| persisted >= *sequence)
                    || (tree.active_memtable().is_empty() && tree.sealed_memtable_count() == 0)
            })
        };
        while full.front().is_some_and(|oldest| oldest.newest.iter().all(is_in_files)) {
            unneeded.extend(full.pop_front());
        }
        unneeded
    }

    /// How many segments before the current one are still needed.
    pub fn full_segments(&self) -> usize {
        self.full.lock().len()
    }

    /// Forgets everything: tables' files have it, and nothing will be appended any more.
    pub fn clear(&self) -> io::Result<()> {
        self.sync()?;
        for full in self.full.lock().drain(..) {
            std::fs::remove_file(segment::path_of(&self.folder, full.number))?;
        }
        self.tail.lock().segment.clear()
    }

    fn check(&self) -> io::Result<()> {
        if self.is_failed() { Err(io::Error::other("the log has failed before")) } else { Ok(()) }
    }

    fn note_failure(&self, result: io::Result<()>) -> io::Result<()> {
        if result.is_err() {
            self.failed.store(true, Ordering::Release);
        }
        result
    }
}
