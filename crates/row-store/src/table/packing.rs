//! Rows packed by Zstandard with a dictionary of their table, for tables with `COMPRESSION='zstd'`.
//!
//! A single row is too short to compress well, but rows are like each other. So the first rows of a table make a dictionary: a load
//! makes it while it runs, and the background thread makes it for other writes. It is stored beside the table's layouts, and packs each
//! later row. A read by key unpacks only its row. Rows stay packed in the log, in the cache of blocks and in the row cache. The engine
//! also compresses blocks of packed rows with LZ4, which compresses the keys.
//!
//! ```text
//! format u8 | checksum u32 | layout, LEB128 | unpacked length, LEB128 | Zstandard's blocks
//! ```
//!
//! The packed part of a row is all after its checksum. The header of Zstandard's frame is the same for all rows, so it is not stored.
//! The checksum covers all bytes after it.

use crate::bytes::{Reader, Writer};
use crate::engine::Slice;
use crate::layout::{FORMAT, HEADER_BYTES, LARGE, WIDE};
use parking_lot::{Mutex, MutexGuard};
use std::cell::RefCell;
use std::sync::OnceLock;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};
use zstd::zstd_safe::{CCtx, DCtx, compress_bound};

/// The dictionary of a table takes as much, which is Zstandard's own default. Of rows with ten random words 16 KiB leave 117.3 bytes of
/// 193, 64 KiB 114.7, 112 KiB 113.4, 160 KiB 118.5.
const DICTIONARY_BYTES: usize = 112 << 10;
/// Rows that a dictionary is made of. Four times as many make no better one, in four times the 0.15 s.
const SAMPLE_BYTES: usize = 1 << 20;
/// The most bytes of one row in the sample, so that a few large rows do not fill it.
const SAMPLE_ROW_BYTES_MAX: usize = 64 << 10;
/// Rows of as much are packed before there is a dictionary, too.
const PACKED_ALONE_BYTES_MIN: usize = 512;
/// Zstandard's default, with which a row takes two microseconds and a half.
const LEVEL: i32 = 3;

/// Buffers of a thread are kept up to this size.
const KEPT_BYTES_MAX: usize = 1 << 20;

/// The bits of the format's byte, beside [`WIDE`]: that the row is packed,
const PACKED: u8 = 2;
/// that it has been packed with the table's dictionary,
const WITH_DICTIONARY: u8 = 4;
/// and that what is packed are several blocks with their headers, not one without.
const SEVERAL_BLOCKS: u8 = 8;
/// Bytes before the part that the checksum covers.
const PACKED_HEADER_BYTES: usize = 5;

/// The magic number of each frame of Zstandard (RFC 8878, 3.1.1).
const FRAME_MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
/// A descriptor that says: one segment, eight bytes of length, no checksum, no name of a dictionary.
const FRAME_DESCRIPTOR: u8 = 0b1110_0000;
/// The header of a compressed block that is the last one, without its size.
const LAST_COMPRESSED_BLOCK: u32 = 1 | 2 << 1;
const BLOCK_HEADER_BYTES: usize = 3;

thread_local! {
    static PACKER: RefCell<Packer> = RefCell::new(Packer::default());
}

#[derive(Default)]
struct Packer {
    compression: CCtx<'static>,
    decompression: DCtx<'static>,
    /// A frame.
    frame: Vec<u8>,
    /// A row.
    row: Vec<u8>,
}

impl Packer {
    /// Threads do not keep the memory of their largest row.
    fn let_go(&mut self) {
        for buffer in [&mut self.frame, &mut self.row] {
            if buffer.capacity() > KEPT_BYTES_MAX {
                *buffer = Vec::new();
            }
        }
    }
}

/// Packs and unpacks rows of one generation of a table.
#[derive(Default)]
pub(crate) struct Packing {
    dictionary: OnceLock<Dictionary>,
    sample: Mutex<Sample>,
}

struct Dictionary {
    compression: zstd::dict::EncoderDictionary<'static>,
    decompression: zstd::dict::DecoderDictionary<'static>,
}

/// Rows that a dictionary is made of.
#[derive(Default)]
pub(crate) struct Sample {
    rows: Vec<u8>,
    sizes: Vec<usize>,
    /// A dictionary has been made, or none could be made, or a thread is making one.
    is_over: bool,
}

impl Sample {
    /// Takes a row without its header, unless there are enough.
    fn add(&mut self, row: &[u8]) {
        if self.is_over || self.is_full() {
            return;
        }
        let row = &row[HEADER_BYTES..row.len().min(SAMPLE_ROW_BYTES_MAX)];
        self.rows.extend_from_slice(row);
        self.sizes.push(row.len());
    }

    fn is_full(&self) -> bool {
        !self.is_over && self.rows.len() >= SAMPLE_BYTES
    }

    /// Takes the rows out of a full sample; no more are taken in.
    pub fn take(&mut self) -> Sample {
        std::mem::replace(self, Sample { is_over: true, ..Sample::default() })
    }

    /// A dictionary of the rows.
    pub fn dictionary(&self) -> Vec<u8> {
        // Rows without anything that repeats make none; then the rows themselves are one, for what repeats nevertheless.
        zstd::dict::from_continuous(&self.rows, &self.sizes, DICTIONARY_BYTES)
            .unwrap_or_else(|_| self.rows[self.rows.len().saturating_sub(DICTIONARY_BYTES)..].to_vec())
    }
}

impl Packing {
    /// Rows are packed with this dictionary from now on.
    pub fn set_dictionary(&self, dictionary: &[u8]) {
        self.dictionary.get_or_init(|| Dictionary {
            compression: zstd::dict::EncoderDictionary::copy(dictionary, LEVEL),
            decompression: zstd::dict::DecoderDictionary::copy(dictionary),
        });
    }

    /// Takes a row for the sample if there is no dictionary yet and no other thread is at it.
    pub fn sample(&self, row: &[u8]) {
        if self.dictionary.get().is_none()
            && let Some(mut sample) = self.sample.try_lock()
        {
            sample.add(row);
        }
    }

    /// As [`Packing::sample`], of what has been written last into `row`, from `start` on; waits for a thread that makes a dictionary. A
    /// sample that is full is returned, still held, so that others find a dictionary after it.
    pub fn sample_of_load(&self, row: &[u8], start: usize) -> Option<MutexGuard<'_, Sample>> {
        if self.dictionary.get().is_some() {
            return None;
        }
        let mut sample = self.sample.lock();
        sample.add(&row[start..]);
        sample.is_full().then_some(sample)
    }

    /// The sample, if it is full.
    pub fn take_full_sample(&self) -> Option<Sample> {
        let mut sample = self.sample.try_lock()?;
        sample.is_full().then(|| sample.take())
    }

    /// Packs the row of a key that has been written last into `row`, from `start` on, if it becomes shorter by that.
    pub fn pack(&self, key: &[u8], row: &mut Vec<u8>, start: usize) {
        let dictionary = self.dictionary.get();
        let length = row.len() - start - HEADER_BYTES;
        if dictionary.is_none() && length < PACKED_ALONE_BYTES_MIN {
            return;
        }
        PACKER.with_borrow_mut(|packer| {
            let body = &row[start + HEADER_BYTES..];
            packer.frame.clear();
            packer.frame.reserve(compress_bound(length));
            let compressed = match dictionary {
                Some(dictionary) => {
                    let dictionary = dictionary.compression.as_cdict();
                    packer.compression.compress_using_cdict(&mut packer.frame, body, dictionary)
                }
                None => packer.compression.compress(&mut packer.frame, body, LEVEL),
            };
            // A row that cannot be packed is stored as it is.
            let Some(blocks) = compressed.ok().and_then(|_| blocks_of_frame(&packer.frame)) else { return };
            let (several, payload) = match only_block(blocks) {
                Some(payload) => (0, payload),
                None => (SEVERAL_BLOCKS, blocks),
            };
            let format =
                row[start] & (WIDE | LARGE) | PACKED | several | if dictionary.is_some() { WITH_DICTIONARY } else { 0 };
            let layout = u16::from_le_bytes([row[start + 1], row[start + 2]]);
            let mut packed = Writer::new(format);
            packed.array(&[0; 4]);
            packed.uint(layout.into());
            packed.uint(length as u64);
            packed.array(payload);
            let mut packed = packed.finish();
            if packed.len() < row.len() - start {
                let sum = checksum(key, &packed);
                packed[1..PACKED_HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
                row.truncate(start);
                row.extend_from_slice(&packed);
            }
            packer.let_go();
        });
    }

    /// The row that a packed one was; `None` if it is none, is damaged, or was packed with a dictionary that is not there. Its
    /// header has the checksum of the packed one.
    pub fn unpack(&self, key: &[u8], packed: &[u8]) -> Option<Slice> {
        let mut reader = Reader::new(packed);
        let format = reader.u8().ok()?;
        let sum = reader.array::<4>().ok()?;
        if format & !(WIDE | LARGE | WITH_DICTIONARY | SEVERAL_BLOCKS) != PACKED
            || sum != checksum(key, packed).to_le_bytes()
        {
            return None;
        }
        let layout = u16::try_from(reader.uint().ok()?).ok()?;
        let length = usize::try_from(reader.uint().ok()?).ok().filter(|length| u32::try_from(*length).is_ok())?;
        let payload = reader.rest();
        let dictionary = match format & WITH_DICTIONARY {
            0 => None,
            _ => Some(self.dictionary.get()?.decompression.as_ddict()),
        };
        PACKER.with_borrow_mut(|packer| {
            let frame = &mut packer.frame;
            frame.clear();
            frame.extend_from_slice(&FRAME_MAGIC);
            frame.push(FRAME_DESCRIPTOR);
            frame.extend_from_slice(&(length as u64).to_le_bytes());
            if format & SEVERAL_BLOCKS == 0 {
                let header = LAST_COMPRESSED_BLOCK | u32::try_from(payload.len()).ok()? << 3;
                frame.extend_from_slice(&header.to_le_bytes()[..BLOCK_HEADER_BYTES]);
            }
            frame.extend_from_slice(payload);
            let row = &mut packer.row;
            row.clear();
            row.try_reserve(HEADER_BYTES + length).ok()?;
            row.push(format & (WIDE | LARGE) | FORMAT);
            row.extend_from_slice(&layout.to_le_bytes());
            row.extend_from_slice(&sum);
            row.resize(HEADER_BYTES + length, 0);
            let body = &mut row[HEADER_BYTES..];
            let unpacked = match dictionary {
                Some(dictionary) => packer.decompression.decompress_using_ddict(body, frame, dictionary),
                None => packer.decompression.decompress(body, frame),
            };
            let unpacked = (unpacked.ok()? == length).then(|| Slice::new(row));
            packer.let_go();
            unpacked
        })
    }
}

/// Whether a stored row is packed, by its first byte.
pub(crate) fn is_packed(format: u8) -> bool {
    format & PACKED != 0
}

/// Ties a packed row to its key and its format.
fn checksum(key: &[u8], packed: &[u8]) -> u32 {
    let format = packed.first().copied().unwrap_or_default();
    xxh3_64_with_seed(packed.get(PACKED_HEADER_BYTES..).unwrap_or_default(), xxh3_64(key) ^ u64::from(format)) as u32
}

/// The part behind the header of a frame.
fn blocks_of_frame(frame: &[u8]) -> Option<&[u8]> {
    let descriptor = *frame.strip_prefix(&FRAME_MAGIC)?.first()?;
    let is_one_segment = descriptor & 0b10_0000 != 0;
    let window = usize::from(!is_one_segment);
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 0b11)];
    let length = [usize::from(is_one_segment), 2, 4, 8][usize::from(descriptor >> 6)];
    let has_checksum = descriptor & 0b100 != 0;
    frame.get(FRAME_MAGIC.len() + 1 + window + dictionary + length..).filter(|_| !has_checksum)
}

/// The content of a block, if it is the only one and compressed.
fn only_block(blocks: &[u8]) -> Option<&[u8]> {
    let (header, payload) = blocks.split_at_checked(BLOCK_HEADER_BYTES)?;
    let header = u32::from_le_bytes([header[0], header[1], header[2], 0]);
    (header == LAST_COMPRESSED_BLOCK | u32::try_from(payload.len()).ok()? << 3).then_some(payload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_test_support::random::Random;

    const KEY: &[u8] = b"key";

    /// An unpacked row.
    fn with_sum_of(row: &[u8], packed: &[u8]) -> Vec<u8> {
        [&row[..3], &packed[1..PACKED_HEADER_BYTES], &row[HEADER_BYTES..]].concat()
    }

    fn row(number: usize) -> Vec<u8> {
        let words = ["ship", "rail", "truck", "mail", "delivered", "returned", "urgent", "high", "medium", "low"];
        let mut row = vec![FORMAT, 1, 2, 0, 0, 0, 0];
        row.extend_from_slice(&(number as u64).to_le_bytes());
        for at in 0..12 {
            let word = number.wrapping_mul(2_654_435_761).wrapping_add(at * number) / 7 % words.len();
            row.extend_from_slice(words[word].as_bytes());
        }
        row
    }

    fn trained() -> Packing {
        let packing = Packing::default();
        for number in 0.. {
            let full = packing.sample_of_load(&row(number), 0).map(|mut sample| sample.take());
            if let Some(full) = full {
                packing.set_dictionary(&full.dictionary());
                return packing;
            }
        }
        unreachable!("a sample is full at some time");
    }

    #[test]
    fn rows_are_what_they_were() {
        let packing = trained();
        for number in (0..100).chain(70_000..70_100) {
            let before = row(number);
            let mut packed = b"before".to_vec();
            packed.extend_from_slice(&before);
            packing.pack(KEY, &mut packed, 6);
            let packed = &packed[6..];
            assert!(is_packed(packed[0]) && !is_packed(before[0]));
            assert!(packed.len() < before.len() * 2 / 3, "{} of {}", packed.len(), before.len());
            assert_eq!(packing.unpack(KEY, packed).as_deref(), Some(&with_sum_of(&before, packed)[..]));
            assert_eq!(packing.unpack(b"other", packed), None);
        }
    }

    #[test]
    fn large_rows_have_several_blocks_and_need_no_dictionary() {
        for packing in [Packing::default(), trained()] {
            let mut row = vec![FORMAT | WIDE, 7, 7, 7, 7, 7, 7];
            for number in 0..200_000_u32 {
                row.extend_from_slice(&number.to_le_bytes());
            }
            let before = row.clone();
            packing.pack(KEY, &mut row, 0);
            assert_eq!(row[0] & (PACKED | SEVERAL_BLOCKS), PACKED | SEVERAL_BLOCKS);
            assert_eq!(packing.unpack(KEY, &row).as_deref(), Some(&with_sum_of(&before, &row)[..]));
        }
    }

    #[test]
    fn what_does_not_become_shorter_stays() {
        let mut row = Random::of_run("what_does_not_become_shorter_stays").bytes(1000);
        let before = row.clone();
        trained().pack(KEY, &mut row, 0);
        assert_eq!(row, before);
    }

    #[test]
    fn damage_is_no_row() {
        let packing = trained();
        let mut packed = row(5);
        packing.pack(KEY, &mut packed, 0);
        for end in 0..packed.len() {
            assert_eq!(packing.unpack(KEY, &packed[..end]), None);
        }
        for at in 0..packed.len() {
            for bit in 0..8 {
                let mut damaged = packed.clone();
                damaged[at] ^= 1 << bit;
                assert_eq!(packing.unpack(KEY, &damaged), None);
                // Nor does anything panic where the checksum happens to be right.
                let sum = checksum(KEY, &damaged);
                damaged[1..PACKED_HEADER_BYTES].copy_from_slice(&sum.to_le_bytes());
                let _ = packing.unpack(KEY, &damaged);
            }
        }
        assert_eq!(Packing::default().unpack(KEY, &packed), None, "there is no dictionary");
    }
}
