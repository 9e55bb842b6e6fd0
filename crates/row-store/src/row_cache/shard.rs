//! One part of the row cache: an index of buckets over a circular log.
//!
//! All memory that readers use is atomic words. So a read during a write is defined behaviour, though its result is useless. A writer
//! moves the log's head before it overwrites anything. A reader copies an entry and then looks at the head: if it has come round to the
//! entry, the reader drops the copy (a seqlock; H.-J. Boehm, "Can Seqlocks Get Along With Programming Language Memory Models?", MSPC
//! 2012).

use super::{Place, Version};
use crate::engine::Slice;
use parking_lot::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Words of a piece of the log; pieces are allocated when the log first reaches them, and no entry crosses from one into
/// the next.
const CHUNK_WORDS: u64 = 8192;
const WORD_BYTES: u64 = 8;
/// Words before an entry's key: the table's data, when it was written, its lengths.
const HEADER_WORDS: u64 = 3;
/// Larger rows are not kept.
const ENTRY_WORDS_MAX: u64 = CHUNK_WORDS / 8;
/// Entries of a bucket, which is a cache line.
const BUCKET_SLOTS: usize = 8;
/// How large entries are taken to be when the number of buckets is chosen. Smaller ones overflow their buckets, which
/// loses the oldest.
const ENTRY_BYTES_EXPECTED: u64 = 192;
/// Sequence numbers of the last changes, by hash.
const STAMPS: usize = 256;
/// A slot holds a tag and the position of its entry, which is counted from 1: an empty slot is 0.
const POSITION_BITS: u32 = 48;
const POSITION_MASK: u64 = (1 << POSITION_BITS) - 1;

#[derive(Default)]
#[repr(align(64))]
struct Bucket([AtomicU64; BUCKET_SLOTS]);

pub(super) struct Shard {
    /// Where the log goes on, in words since its beginning. Where it is in memory is the remainder by its size.
    head: AtomicU64,
    buckets: OnceLock<Box<[Bucket]>>,
    bucket_count: usize,
    chunks: Box<[OnceLock<Box<[AtomicU64]>>]>,
    /// Held to write: for each of the stamps' hashes, the first sequence number that has the newest change.
    stamps: Mutex<Box<[u64]>>,
}

/// An entry's first words.
struct Header {
    data: u64,
    written: u64,
    key_bytes: usize,
    row_bytes: usize,
}

impl Header {
    fn words(&self) -> [u64; HEADER_WORDS as usize] {
        [self.data, self.written, (self.key_bytes as u64) << 32 | self.row_bytes as u64]
    }

    fn entry_words(&self) -> u64 {
        HEADER_WORDS + words_of(self.key_bytes) + words_of(self.row_bytes)
    }
}

fn words_of(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(WORD_BYTES)
}

impl Shard {
    /// A shard of at most this many bytes; no version read before `now` is taken.
    pub fn new(bytes_max: u64, now: u64) -> Shard {
        let chunks = bytes_max / (CHUNK_WORDS * WORD_BYTES);
        let entries = bytes_max / ENTRY_BYTES_EXPECTED;
        Shard {
            head: AtomicU64::new(0),
            buckets: OnceLock::new(),
            bucket_count: (entries as usize / BUCKET_SLOTS).next_power_of_two(),
            // One chunk alone would be overwritten while it is read all the time.
            chunks: (0..if chunks < 2 { 0 } else { chunks }).map(|_| OnceLock::new()).collect(),
            stamps: Mutex::new(vec![now; STAMPS].into()),
        }
    }

    /// Whether it is too small to hold anything.
    pub fn is_off(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Bytes of memory taken.
    pub fn bytes(&self) -> u64 {
        let chunks = self.chunks.iter().filter(|chunk| chunk.get().is_some()).count() as u64;
        let buckets = self.buckets.get().map_or(0, |buckets| buckets.len() * size_of::<Bucket>());
        chunks * CHUNK_WORDS * WORD_BYTES + buckets as u64
    }

    /// The row as a reader of a snapshot sees it.
    pub fn get(&self, place: &Place<'_>, seqno: u64) -> Option<Slice> {
        let bucket = self.bucket(place)?;
        bucket.0.iter().find_map(|slot| {
            let slot = slot.load(Ordering::Acquire);
            if slot >> POSITION_BITS != tag_of(place) {
                return None;
            }
            let position = position_of(slot)?;
            let row = self.copy(position, place, seqno)?;
            // What was copied is the entry only if the log had not come round to it by then.
            fence(Ordering::Acquire);
            (self.head.load(Ordering::Relaxed) <= position + self.log_words()).then_some(row)
        })
    }

    /// Keeps a version of a row.
    pub fn insert(&self, place: &Place<'_>, version: Version<'_>) {
        let header = Header {
            data: place.data,
            written: version.written,
            key_bytes: place.key.len(),
            row_bytes: version.row.len(),
        };
        if self.is_off() || header.entry_words() > ENTRY_WORDS_MAX {
            return;
        }
        let Some(stamps) = self.stamps.try_lock() else { return };
        // A change may have happened meanwhile: then the row that was read is not the newest.
        if stamps[stamp_of(place)] > version.read {
            return;
        }
        let buckets = self.buckets.get_or_init(|| (0..self.bucket_count).map(|_| Bucket::default()).collect());
        let Some(position) = self.append(&header, place.key, version.row) else { return };
        let bucket = &buckets[self.bucket_number(place)];
        // The slot of this row, an empty one, or that of the oldest entry.
        let slot = bucket
            .0
            .iter()
            .find(|slot| self.is_of(slot.load(Ordering::Relaxed), place))
            .or_else(|| bucket.0.iter().min_by_key(|slot| slot.load(Ordering::Relaxed) & POSITION_MASK));
        if let Some(slot) = slot {
            slot.store(tag_of(place) << POSITION_BITS | (position + 1), Ordering::Release);
        }
    }

    /// Removes a row that is changed as of a sequence number.
    pub fn forget(&self, place: &Place<'_>, seqno: u64) {
        if self.is_off() {
            return;
        }
        let mut stamps = self.stamps.lock();
        let stamp = &mut stamps[stamp_of(place)];
        *stamp = seqno.max(*stamp);
        if let Some(bucket) = self.bucket(place) {
            for slot in &bucket.0 {
                // Others of the same tag may go too: there are few.
                if slot.load(Ordering::Relaxed) >> POSITION_BITS == tag_of(place) {
                    slot.store(0, Ordering::Release);
                }
            }
        }
    }

    /// Whether a slot is that of a row. For the holder of the lock, whose reads are consistent.
    fn is_of(&self, slot: u64, place: &Place<'_>) -> bool {
        let position = position_of(slot).filter(|position| {
            slot >> POSITION_BITS == tag_of(place) && self.head.load(Ordering::Relaxed) <= position + self.log_words()
        });
        position.is_some_and(|position| self.find(position, place).is_some())
    }

    fn bucket(&self, place: &Place<'_>) -> Option<&Bucket> {
        self.buckets.get().map(|buckets| &buckets[self.bucket_number(place)])
    }

    fn bucket_number(&self, place: &Place<'_>) -> usize {
        (place.hash >> 8) as usize & (self.bucket_count - 1)
    }

    fn log_words(&self) -> u64 {
        self.chunks.len() as u64 * CHUNK_WORDS
    }

    /// The words from a position on, to the end of their chunk.
    fn words(&self, position: u64) -> Option<&[AtomicU64]> {
        let chunk = (position / CHUNK_WORDS) as usize % self.chunks.len();
        self.chunks[chunk].get()?.get((position % CHUNK_WORDS) as usize..)
    }

    /// The header of an entry and the words of its row, if it is that of a row. What is there may be anything.
    fn find(&self, position: u64, place: &Place<'_>) -> Option<(Header, &[AtomicU64])> {
        let words = self.words(position)?;
        let [data, written, lengths, rest @ ..] = words else { return None };
        let lengths = lengths.load(Ordering::Relaxed);
        let header = Header {
            data: data.load(Ordering::Relaxed),
            written: written.load(Ordering::Relaxed),
            key_bytes: (lengths >> 32) as usize,
            row_bytes: lengths as u32 as usize,
        };
        if header.data != place.data || header.key_bytes != place.key.len() {
            return None;
        }
        let (key, rest) = rest.split_at_checked(words_of(header.key_bytes) as usize)?;
        let same = place.key.chunks(8).zip(key).all(|(bytes, word)| word_of(bytes) == word.load(Ordering::Relaxed));
        let row = rest.get(..words_of(header.row_bytes) as usize)?;
        same.then_some((header, row))
    }

    fn copy(&self, position: u64, place: &Place<'_>, seqno: u64) -> Option<Slice> {
        let (header, words) = self.find(position, place)?;
        if header.written >= seqno {
            return None;
        }
        let mut row = Vec::with_capacity(header.row_bytes);
        let (whole, last) = words.split_at_checked(header.row_bytes / 8)?;
        for word in whole {
            row.extend_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
        if let Some(word) = last.first() {
            row.extend_from_slice(&word.load(Ordering::Relaxed).to_le_bytes()[..header.row_bytes % 8]);
        }
        Some(Slice::from(row))
    }

    /// Writes an entry at the log's head and returns where it is. The caller holds the lock.
    fn append(&self, header: &Header, key: &[u8], row: &[u8]) -> Option<u64> {
        let needed = header.entry_words();
        let mut position = self.head.load(Ordering::Relaxed);
        let left = CHUNK_WORDS - position % CHUNK_WORDS;
        if left < needed {
            position += left;
        }
        if position + needed >= POSITION_MASK {
            return None;
        }
        let chunk = (position / CHUNK_WORDS) as usize % self.chunks.len();
        let words = self.chunks[chunk].get_or_init(|| (0..CHUNK_WORDS).map(|_| AtomicU64::new(0)).collect());
        // A reader of one of the words written below sees the new head too.
        self.head.store(position + needed, Ordering::Relaxed);
        fence(Ordering::Release);
        let parts = header.words().into_iter().chain(key.chunks(8).map(word_of)).chain(row.chunks(8).map(word_of));
        for (word, value) in words[(position % CHUNK_WORDS) as usize..].iter().zip(parts) {
            word.store(value, Ordering::Relaxed);
        }
        Some(position)
    }
}

fn position_of(slot: u64) -> Option<u64> {
    (slot & POSITION_MASK).checked_sub(1)
}

fn tag_of(place: &Place<'_>) -> u64 {
    place.hash >> POSITION_BITS
}

fn stamp_of(place: &Place<'_>) -> usize {
    (place.hash >> 40) as usize % STAMPS
}

/// Up to eight bytes as a word; the rest of it is 0.
fn word_of(bytes: &[u8]) -> u64 {
    match bytes.try_into() {
        Ok(whole) => u64::from_le_bytes(whole),
        Err(_) => bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}
