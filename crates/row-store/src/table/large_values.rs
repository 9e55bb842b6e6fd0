//! Large values: they lie out of their rows, in chunks.
//!
//! A value of a BLOB, TEXT, JSON or spatial column that is longer than the store's limit is cut into chunks. These are entries of the
//! table's keyspace, behind those of all indexes, and the row has a reference to them. So a chunk is written, locked, logged, spilled,
//! recovered and read in a snapshot as the row is, and in the same batch.
//!
//! ```text
//! key        FF FFFFFFFE | row's key without its index | column u32 | chunk u32     (big-endian)
//! chunk      format u8 | checksum u32 | content
//! reference  length u64 | bytes of a chunk u32 | seed u64 | hash u128               (little-endian)
//! ```
//!
//! A key names the row and not the value. So what a row has is known without a search, and a row that goes takes its chunks with it. A
//! reference is good in the snapshot that its row was read in. The hash is XXH3-128 of the whole value with the seed: chunks of another
//! version of the row would be damage, not an answer. The seed is one that clients do not know, so they cannot make two values whose
//! references are the same.

use crate::engine::{Keyspace, Slice, Snapshot};
use crate::error::engine_error;
use crate::index_key::{LARGE_VALUES, push_index_id, split_index_id};
use squall_catalog::ColumnId;
use squall_types::{SqlError, SqlResult};
use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;
use std::sync::OnceLock;
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed, xxh3_128_with_seed};

/// Bytes of a reference in a row.
pub(crate) const REFERENCE_BYTES: usize = 36;

/// Bytes of a value in one chunk, at most. Longer ones would make each write of a buffer longer, and shorter ones each read of a value.
const CHUNK_BYTES_MAX: usize = 64 << 10;
const CHUNK_BYTES_MIN: usize = 64;
/// A value has at least this many times the limit in a chunk.
const LIMITS_IN_A_CHUNK: usize = 32;
/// Shorter chunks would be many keys for one value.
const USUAL_CHUNK_BYTES_MIN: usize = 4 << 10;
/// The least limit that a server can have, which is that of tests: chunks are short, so that values have several.
const LIMIT_OF_TESTS: usize = 16;

/// The format of a chunk that is stored as it is, and of one that is packed by Zstandard. The first byte of no entry of an index.
const AS_IT_IS: u8 = 0x10;
const PACKED: u8 = 0x11;
/// Bytes before the content.
const CHUNK_HEADER_BYTES: usize = 5;
/// Zstandard's default level, as for rows.
const LEVEL: i32 = 3;

/// Which values are large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LargeValueLimit {
    /// Bytes of the longest value that stays in its row.
    pub inline_bytes_max: usize,
}

impl LargeValueLimit {
    fn chunk_bytes(self) -> u32 {
        let bytes = self.inline_bytes_max.saturating_mul(LIMITS_IN_A_CHUNK);
        let least = if self.inline_bytes_max <= LIMIT_OF_TESTS { CHUNK_BYTES_MIN } else { USUAL_CHUNK_BYTES_MIN };
        bytes.clamp(least, CHUNK_BYTES_MAX) as u32
    }

    /// The reference to a value; `None` if it stays in its row.
    ///
    /// # Errors
    /// 1118 if it is too long, as that of a row with such a value.
    pub fn reference(self, value: &[u8]) -> SqlResult<Option<Reference>> {
        if !self.is_large(value.len())? {
            return Ok(None);
        }
        let seed = seed_of_run();
        Ok(Some(Reference {
            length: value.len() as u64,
            chunk_bytes: self.chunk_bytes(),
            seed,
            hash: xxh3_128_with_seed(value, seed),
        }))
    }

    /// Whether a value of this many bytes lies out of its row.
    fn is_large(self, bytes: usize) -> SqlResult<bool> {
        // More bytes than a reference can have.
        if bytes > self.inline_bytes_max && u32::try_from(bytes).is_err() {
            return Err(SqlError::new(squall_types::ErrorCode::TooBigRowSize, &[&u32::MAX]));
        }
        Ok(bytes > self.inline_bytes_max)
    }
}

/// What a row has in place of a large value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    /// Bytes of the value, at least 1.
    length: u64,
    /// Bytes of the value in each chunk but the last one.
    chunk_bytes: u32,
    /// Of the hash.
    seed: u64,
    hash: u128,
}

/// A digest of a value in its row, as [`Reference::digest`] is one of others.
pub(crate) fn digest_in_row(value: &[u8]) -> u128 {
    xxh3_128_with_seed(value, seed_of_run())
}

/// The seed of references that this process makes.
fn seed_of_run() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| RandomState::new().hash_one(0))
}

impl Reference {
    pub fn encode(self) -> [u8; REFERENCE_BYTES] {
        let mut bytes = [0; REFERENCE_BYTES];
        bytes[..8].copy_from_slice(&self.length.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.chunk_bytes.to_le_bytes());
        bytes[12..20].copy_from_slice(&self.seed.to_le_bytes());
        bytes[20..].copy_from_slice(&self.hash.to_le_bytes());
        bytes
    }

    /// `None` if the bytes are no reference that [`LargeValueLimit::reference`] makes.
    pub fn decode(bytes: &[u8]) -> Option<Reference> {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let (chunk_bytes, rest) = rest.split_first_chunk::<4>()?;
        let (seed, rest) = rest.split_first_chunk::<8>()?;
        let reference = Reference {
            length: u64::from_le_bytes(*length),
            chunk_bytes: u32::from_le_bytes(*chunk_bytes),
            seed: u64::from_le_bytes(*seed),
            hash: u128::from_le_bytes(rest.try_into().ok()?),
        };
        let is_chunk = (CHUNK_BYTES_MIN..=CHUNK_BYTES_MAX).contains(&(reference.chunk_bytes as usize));
        (is_chunk && (1..=u64::from(u32::MAX)).contains(&reference.length)).then_some(reference)
    }

    /// How many chunks there are.
    pub fn chunks(self) -> u32 {
        // The length is one of 32 bits.
        self.length.div_ceil(u64::from(self.chunk_bytes)) as u32
    }

    /// Whether a value has the length and the hash.
    pub fn fits(self, value: &[u8]) -> bool {
        self.length == value.len() as u64 && self.hash == xxh3_128_with_seed(value, self.seed)
    }

    /// Bytes of the value.
    pub fn length(self) -> u64 {
        self.length
    }

    /// A digest of the value, by which clients know it.
    pub fn digest(self) -> u128 {
        // Clients do not learn the seed.
        xxh3_128_with_seed(&self.encode(), self.seed)
    }

    fn bytes_of_chunk(self, chunk: u32) -> usize {
        let before = u64::from(chunk) * u64::from(self.chunk_bytes);
        self.length.saturating_sub(before).min(u64::from(self.chunk_bytes)) as usize
    }
}

/// The key of a chunk of a column's value in the row at a key.
pub(crate) fn chunk_key(row_key: &[u8], column: ColumnId, chunk: u32) -> Vec<u8> {
    let mut key = Vec::with_capacity(row_key.len() + 13);
    push_index_id(LARGE_VALUES, &mut key);
    key.extend_from_slice(split_index_id(row_key).map_or(row_key, |(_, rest)| rest));
    key.extend_from_slice(&column.0.to_be_bytes());
    key.extend_from_slice(&chunk.to_be_bytes());
    key
}

/// Hands the chunks of a value on: their keys, and what is stored there.
pub(crate) fn for_each_chunk(
    (row_key, column): (&[u8], ColumnId),
    (value, reference): (&[u8], Reference),
    packs: bool,
    mut take: impl FnMut(Vec<u8>, Vec<u8>) -> SqlResult<()>,
) -> SqlResult<()> {
    for (chunk, content) in (0..).zip(value.chunks(reference.chunk_bytes as usize)) {
        let key = chunk_key(row_key, column, chunk);
        let stored = encode_chunk(&key, content, packs);
        take(key, stored)?;
    }
    Ok(())
}

fn encode_chunk(key: &[u8], content: &[u8], packs: bool) -> Vec<u8> {
    // What cannot be packed, or does not become shorter, is stored as it is.
    let packed = if packs { zstd::bulk::compress(content, LEVEL).ok() } else { None };
    let (format, content) = match &packed {
        Some(packed) if packed.len() < content.len() => (PACKED, &packed[..]),
        _ => (AS_IT_IS, content),
    };
    let mut stored = Vec::with_capacity(CHUNK_HEADER_BYTES + content.len());
    stored.push(format);
    stored.extend_from_slice(&checksum(key, format, content).to_le_bytes());
    stored.extend_from_slice(content);
    stored
}

/// Appends the content of a chunk; `None` if it is damaged, or not of this many bytes.
fn append_chunk(key: &[u8], stored: &[u8], bytes: usize, value: &mut Vec<u8>) -> Option<()> {
    let (header, content) = stored.split_first_chunk::<CHUNK_HEADER_BYTES>()?;
    let [format, sum @ ..] = *header;
    if sum != checksum(key, format, content).to_le_bytes() {
        return None;
    }
    match format {
        AS_IT_IS if content.len() == bytes => value.extend_from_slice(content),
        PACKED => {
            let unpacked = zstd::bulk::decompress(content, bytes).ok().filter(|unpacked| unpacked.len() == bytes)?;
            value.extend_from_slice(&unpacked);
        }
        _ => return None,
    }
    Some(())
}

/// Ties a chunk to its key and its format.
fn checksum(key: &[u8], format: u8, content: &[u8]) -> u32 {
    xxh3_64_with_seed(content, xxh3_64(key) ^ u64::from(format)) as u32
}

/// Reads what is stored at the key of a chunk.
pub(crate) type ReadChunk<'r> = &'r dyn Fn(&[u8]) -> SqlResult<Option<Slice>>;

/// Reads a value; `None` if a chunk is missing or damaged.
///
/// # Errors
/// Those of `read`, and 1041 if there is no memory for it.
fn read_value(
    row_key: &[u8],
    column: ColumnId,
    reference: Reference,
    read: ReadChunk<'_>,
) -> SqlResult<Option<Vec<u8>>> {
    let mut value = Vec::new();
    for chunk in 0..reference.chunks() {
        let key = chunk_key(row_key, column, chunk);
        let Some(stored) = read(&key)? else { return Ok(None) };
        if value.is_empty() {
            let no_memory = |_| SqlError::new(squall_types::ErrorCode::OutOfResources, &[]);
            value.try_reserve_exact(reference.length as usize).map_err(no_memory)?;
        }
        if append_chunk(&key, &stored, reference.bytes_of_chunk(chunk), &mut value).is_none() {
            return Ok(None);
        }
    }
    Ok(reference.fits(&value).then_some(value))
}

/// Reads a part of a value; `None` if a chunk of it is missing or damaged.
fn read_part(
    (row_key, column): (&[u8], ColumnId),
    reference: Reference,
    part: Range<u64>,
    read: ReadChunk<'_>,
) -> SqlResult<Option<Vec<u8>>> {
    let chunk_bytes = u64::from(reference.chunk_bytes);
    let part = part.start..part.end.min(reference.length);
    let (first, skipped) = (part.start / chunk_bytes, (part.start % chunk_bytes) as usize);
    let mut bytes = Vec::new();
    for chunk in first..part.end.div_ceil(chunk_bytes) {
        // The length is one of 32 bits, and a chunk has a byte at least.
        let chunk = chunk as u32;
        let key = chunk_key(row_key, column, chunk);
        let Some(stored) = read(&key)? else { return Ok(None) };
        if append_chunk(&key, &stored, reference.bytes_of_chunk(chunk), &mut bytes).is_none() {
            return Ok(None);
        }
    }
    bytes.drain(..skipped.min(bytes.len()));
    bytes.truncate(part.end.saturating_sub(part.start) as usize);
    Ok(Some(bytes))
}

/// The large values of one row. Each is read when it is asked for the first time.
pub(crate) struct LargeValues {
    row_key: Slice,
    /// Where they are read; `None` if all have been.
    committed: Option<(Keyspace, Snapshot)>,
    /// By the number of the column among those of any length.
    values: Box<[OnceLock<Vec<u8>>]>,
}

impl std::fmt::Debug for LargeValues {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LargeValues").field("row_key", &self.row_key).finish_non_exhaustive()
    }
}

impl LargeValues {
    /// Of a committed row, read in the snapshot that the row was read in. A row has `count` columns of any length.
    pub fn in_snapshot(row_key: Slice, count: usize, keyspace: Keyspace, snapshot: Snapshot) -> LargeValues {
        let values = (0..count).map(|_| OnceLock::new()).collect();
        LargeValues { row_key, committed: Some((keyspace, snapshot)), values }
    }

    /// Of a row whose chunks may not be the same later: all that it has, with the columns' numbers, is read now. `None` if one of them is
    /// missing or damaged.
    pub fn read_now(
        row_key: Slice,
        count: usize,
        references: &[(usize, ColumnId, Reference)],
        read: ReadChunk<'_>,
    ) -> SqlResult<Option<LargeValues>> {
        let values: Box<[OnceLock<Vec<u8>>]> = (0..count).map(|_| OnceLock::new()).collect();
        for (number, column, reference) in references {
            let Some(value) = read_value(&row_key, *column, *reference, read)? else { return Ok(None) };
            if let Some(place) = values.get(*number) {
                place.get_or_init(|| value);
            }
        }
        Ok(Some(LargeValues { row_key, committed: None, values }))
    }

    /// The value of a column; `None` if it is missing or damaged.
    pub fn get(&self, number: usize, column: ColumnId, reference: Reference) -> SqlResult<Option<&[u8]>> {
        let Some(place) = self.values.get(number) else { return Ok(None) };
        if let Some(value) = place.get() {
            return Ok(Some(value));
        }
        let Some((keyspace, snapshot)) = &self.committed else { return Ok(None) };
        let read = |key: &[u8]| snapshot.get(keyspace, key).map_err(engine_error);
        let Some(value) = read_value(&self.row_key, column, reference, &read)? else { return Ok(None) };
        // Another thread may have read it meanwhile.
        Ok(Some(place.get_or_init(|| value)))
    }

    /// A part of the value of a column, without reading the rest; `None` if it is missing or damaged.
    pub fn part(
        &self,
        number: usize,
        column: ColumnId,
        reference: Reference,
        part: Range<u64>,
    ) -> SqlResult<Option<Vec<u8>>> {
        let of_whole = |value: &Vec<u8>| value.get(part.start as usize..part.end as usize).map(<[u8]>::to_vec);
        match (&self.committed, self.values.get(number).and_then(OnceLock::get)) {
            (_, Some(value)) => Ok(of_whole(value)),
            (None, None) => Ok(None),
            (Some((keyspace, snapshot)), None) => {
                let read = |key: &[u8]| snapshot.get(keyspace, key).map_err(engine_error);
                read_part((&self.row_key, column), reference, part, &read)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use squall_test_support::random::Random;
    use std::collections::BTreeMap;

    const ROW: &[u8] = &[0, 7, 8];
    const COLUMN: ColumnId = ColumnId(3);

    fn store(value: &[u8], limit: usize, packs: bool) -> (Reference, BTreeMap<Vec<u8>, Vec<u8>>) {
        let reference = LargeValueLimit { inline_bytes_max: limit }.reference(value).unwrap().unwrap();
        let mut chunks = BTreeMap::new();
        for_each_chunk((ROW, COLUMN), (value, reference), packs, |key, chunk| {
            assert!(chunks.insert(key, chunk).is_none());
            Ok(())
        })
        .unwrap();
        assert_eq!(chunks.len(), reference.chunks() as usize);
        (reference, chunks)
    }

    fn read(reference: Reference, chunks: &BTreeMap<Vec<u8>, Vec<u8>>) -> Option<Vec<u8>> {
        read_value(ROW, COLUMN, reference, &|key| Ok(chunks.get(key).map(|chunk| Slice::new(chunk)))).unwrap()
    }

    #[test]
    fn values_are_what_they_were() {
        let mut random = Random::of_run("values_are_what_they_were");
        for length in [1, 2, 63, 64, 65, 127, 128, 129, 1000] {
            for packs in [false, true] {
                for value in [random.bytes(length), vec![7; length]] {
                    let (reference, chunks) = store(&value, 0, packs);
                    assert_eq!(Reference::decode(&reference.encode()), Some(reference));
                    assert_eq!(read(reference, &chunks), Some(value));
                }
            }
        }
        let limit = LargeValueLimit { inline_bytes_max: 2048 };
        assert_eq!((limit.reference(&[1; 2048]).unwrap(), limit.chunk_bytes()), (None, 64 << 10));
        let chunk_bytes = |inline_bytes_max| LargeValueLimit { inline_bytes_max }.chunk_bytes();
        assert_eq!([0, 16, 17, 1000].map(chunk_bytes), [64, 512, 4096, 32_000]);
        let large = random.bytes((64 << 10) * 3 + 1);
        let (reference, chunks) = store(&large, 2048, false);
        assert_eq!((reference.chunks(), read(reference, &chunks)), (4, Some(large)));
    }

    #[test]
    fn parts_are_those_of_the_value() {
        let mut random = Random::of_run("parts_are_those_of_the_value");
        let value = random.bytes(1000);
        for packs in [false, true] {
            let (reference, chunks) = store(&value, 0, packs);
            let part = |part: Range<u64>| {
                let read = |key: &[u8]| Ok(chunks.get(key).map(|chunk| Slice::new(chunk)));
                read_part((ROW, COLUMN), reference, part, &read).unwrap()
            };
            for start in [0, 1, 63, 64, 65, 999, 1000] {
                for end in [0, 1, 64, 65, 128, 999, 1000] {
                    if start <= end {
                        assert_eq!(part(start..end).as_deref(), value.get(start as usize..end as usize));
                    }
                }
            }
            let mut without = chunks.clone();
            without.remove(&chunk_key(ROW, COLUMN, 3));
            let read = |key: &[u8]| Ok(without.get(key).map(|chunk| Slice::new(chunk)));
            let part = |part: Range<u64>| read_part((ROW, COLUMN), reference, part, &read).unwrap();
            assert_eq!((part(0..192).map(|bytes| bytes.len()), part(0..193)), (Some(192), None));
        }
    }

    #[test]
    fn damage_is_no_value() {
        for packs in [false, true] {
            let value: Vec<u8> = (0..200u8).map(|at| at / 16).collect();
            let (reference, chunks) = store(&value, 0, packs);
            for key in chunks.keys() {
                let mut without = chunks.clone();
                without.remove(key);
                assert_eq!(read(reference, &without), None);
                for at in 0..chunks[key].len() {
                    let mut damaged = chunks.clone();
                    damaged.get_mut(key).unwrap()[at] ^= 1;
                    assert_eq!(read(reference, &damaged), None);
                }
                let mut cut = chunks.clone();
                cut.get_mut(key).unwrap().truncate(3);
                assert_eq!(read(reference, &cut), None);
            }
            // Whole chunks of another value of the same length.
            let mut other = value.clone();
            other[0] = 99;
            assert_eq!(read(reference, &store(&other, 0, packs).1), None);
        }
    }

    #[test]
    fn other_bytes_are_no_reference() {
        let (reference, _) = store(&[1; 100], 0, false);
        let bytes = reference.encode();
        assert_eq!(Reference::decode(&bytes[..REFERENCE_BYTES - 1]), None);
        assert_eq!(Reference::decode(&[&bytes[..], &[0]].concat()), None);
        for (range, value) in [(0..8, 0u64), (0..8, u64::MAX), (8..12, 0), (8..12, u64::MAX)] {
            let mut other = bytes;
            let length = range.len();
            other[range].copy_from_slice(&value.to_le_bytes()[..length]);
            assert_eq!(Reference::decode(&other), None);
        }
    }

    #[test]
    fn lengths_that_no_reference_has_are_refused() {
        let limit = LargeValueLimit { inline_bytes_max: 16 };
        let longest = u32::MAX as usize;
        assert!(!limit.is_large(16).unwrap() && limit.is_large(17).unwrap() && limit.is_large(longest).unwrap());
        let error = limit.is_large(longest + 1).unwrap_err();
        assert!(error.is(squall_types::ErrorCode::TooBigRowSize), "{error}");
        // Then the row refuses it.
        assert!(!LargeValueLimit { inline_bytes_max: usize::MAX }.is_large(longest + 1).unwrap());
    }

    #[test]
    fn chunks_of_a_row_are_together() {
        let keys = [
            chunk_key(&[0, 1], ColumnId(1), 0),
            chunk_key(&[0, 1], ColumnId(1), 300),
            chunk_key(&[0, 1], ColumnId(2), 0),
            chunk_key(&[0, 2], ColumnId(1), 0),
        ];
        assert!(keys.is_sorted());
    }
}
