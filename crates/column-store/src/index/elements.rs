//! Indexes of the elements of arrays: for a column of documents, which rows have which element.
//!
//! An inverted file (Zobel, Moffat: "Inverted files for text search engines", 2006): the distinct elements in the order of their keys,
//! each with its rows. A key is an element as a value of the index's type, in the form that keys of rows have, so that equal elements
//! have one. A key is kept without its common beginning with the key before, a row as the distance from the row before. The block has
//! the same form in a segment and in memory:
//!
//! ```text
//! keys u32 (distinct elements), then each, in order:
//!   bytes shared with the key before | bytes of its own | those bytes
//!   bytes of the list | rows left out before each of its rows           numbers: 7 bits a byte, the lowest first (LEB128)
//! ```
//!
//! Every [`GROUP_KEYS`]th key shares nothing, so that a search can begin there.

use crate::bytes::{DecodeResult, Decoder, Encoder};
use crate::coded::CodedColumn;
use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;
use squall_types::convert::json_elements;
use squall_types::json::Document;
use squall_types::{KeyPart, SqlType, Value};

/// From this many keys to this many a key is whole.
const GROUP_KEYS: u32 = 32;

/// The key of rows whose document is not an array of the type: every look-up finds them. No element's key is empty.
const UNREADABLE: &[u8] = &[];

/// Which rows of a segment have which elements.
#[derive(Clone, Debug, PartialEq)]
pub struct ElementIndex {
    /// The block.
    bytes: Vec<u8>,
    /// Where in it each group of keys begins.
    groups: Vec<usize>,
}

/// The key of an element, a value of the type that arrays are indexed as; `None` for what is none: NULL, or a value of
/// another type.
pub fn element_key(element_type: &SqlType, element: &Value) -> Option<Box<[u8]>> {
    let mut key = Vec::new();
    KeyPart::ascending(element_type.clone(), false).encode(element, &mut key).ok()?;
    Some(key.into())
}

/// The keys of a stored document's elements; `None` if it is no array of the type.
fn keys_of(document: &[u8], element_type: &SqlType) -> Option<Vec<Box<[u8]>>> {
    let document = Document::from_stored(std::str::from_utf8(document).ok()?).to_json().ok()?;
    let elements = json_elements::elements(&document, element_type).ok()?;
    // A document that is `null` is filed as NULL, which no look-up asks for.
    elements.iter().filter(|element| !element.is_null()).map(|element| element_key(element_type, element)).collect()
}

impl ElementIndex {
    /// Indexes a column of documents by their elements, or by themselves if they are no arrays, as values of a type.
    pub fn build(column: &CodedColumn, element_type: &SqlType) -> ElementIndex {
        let mut numbers: FxHashMap<Box<[u8]>, u32> = FxHashMap::default();
        let mut filed: Vec<(u32, u32)> = Vec::new();
        for row in 0..column.rows() as u32 {
            let Some(document) = column.string(row) else { continue };
            let keys = keys_of(document, element_type).unwrap_or_else(|| vec![UNREADABLE.into()]);
            for key in keys {
                let next = numbers.len() as u32;
                filed.push((*numbers.entry(key).or_insert(next), row));
            }
        }
        let mut keys: Vec<(Box<[u8]>, u32)> = numbers.into_iter().collect();
        keys.sort_unstable();
        let mut places = vec![0; keys.len()];
        for (place, (_, number)) in keys.iter().enumerate() {
            places[*number as usize] = place as u32;
        }
        filed.iter_mut().for_each(|(key, _)| *key = places[*key as usize]);
        filed.sort_unstable();
        filed.dedup();
        let mut out = Encoder::default();
        out.u32(keys.len() as u32);
        let mut groups = Vec::with_capacity(keys.len().div_ceil(GROUP_KEYS as usize));
        let (mut before, mut list): (&[u8], Vec<u8>) = (&[], Vec::new());
        for ((place, (key, _)), rows) in keys.iter().enumerate().zip(filed.chunk_by(|a, b| a.0 == b.0)) {
            let mut shared = key.iter().zip(before).take_while(|(a, b)| a == b).count();
            if (place as u32).is_multiple_of(GROUP_KEYS) {
                groups.push(out.bytes.len());
                shared = 0;
            }
            out.number(shared as u32);
            out.number((key.len() - shared) as u32);
            out.bytes.extend_from_slice(&key[shared..]);
            list.clear();
            let mut next = 0;
            for (_, row) in rows {
                crate::bytes::push_number(row - next, &mut list);
                next = row + 1;
            }
            out.number(list.len() as u32);
            out.bytes.extend_from_slice(&list);
            before = key;
        }
        ElementIndex { bytes: out.bytes, groups }
    }

    /// The index as a block of a segment.
    pub fn encode(&self) -> &[u8] {
        &self.bytes
    }

    /// Decodes a block; `rows` is the segment's number of rows.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn decode(bytes: &[u8], rows: u32) -> Result<ElementIndex, String> {
        let mut input = Decoder::new(bytes);
        let keys = input.count(LEAST_ENTRY_BYTES)?;
        let mut groups = Vec::with_capacity(keys.div_ceil(GROUP_KEYS as usize));
        let (mut before, mut key) = (Vec::new(), Vec::new());
        for place in 0..keys as u32 {
            if place.is_multiple_of(GROUP_KEYS) {
                groups.push(bytes.len() - input.left());
                key.clear();
            }
            let list = next_entry(&mut input, &mut key)?;
            if place > 0 && key <= before {
                return Err("keys are not distinct and in order".to_string());
            }
            let mut list_rows = ListRows { list: Decoder::new(list), next: 0 };
            let last =
                std::iter::from_fn(|| list_rows.next_row().transpose()).try_fold(None, |_, row| row.map(Some))?;
            match last {
                Some(row) if row < rows => {}
                Some(row) => return Err(format!("has row {row} of {rows}")),
                None => return Err("has a key without rows".to_string()),
            }
            before.clone_from(&key);
        }
        input.finish()?;
        Ok(ElementIndex { bytes: bytes.to_vec(), groups })
    }

    /// Rows that have one of some elements, by their keys, and those of which it is not known.
    pub fn any_of<'k>(&self, keys: impl IntoIterator<Item = &'k [u8]>) -> RoaringBitmap {
        let mut all = RoaringBitmap::new();
        for key in std::iter::once(UNREADABLE).chain(keys) {
            let Some(list) = self.list_of(key) else { continue };
            let mut rows = ListRows { list: Decoder::new(list), next: 0 };
            // The bytes were looked through when they were decoded.
            let rows = std::iter::from_fn(|| rows.next_row().ok().flatten());
            match RoaringBitmap::from_sorted_iter(rows) {
                Ok(rows) => all |= rows,
                Err(_) => unreachable!("rows are kept as distances upwards"),
            }
        }
        all
    }

    /// How many distinct elements there are.
    pub fn keys(&self) -> u32 {
        Decoder::new(&self.bytes).u32().unwrap_or(0)
    }

    /// What the index takes in memory, in bytes, nearly.
    pub fn memory_bytes(&self) -> usize {
        size_of::<ElementIndex>() + self.bytes.len() + self.groups.len() * size_of::<usize>()
    }

    /// The list of a key's rows.
    fn list_of(&self, key: &[u8]) -> Option<&[u8]> {
        let mut first = Vec::new();
        let group = self.groups.partition_point(|start| {
            first.clear();
            next_entry(&mut Decoder::new(&self.bytes[*start..]), &mut first).is_ok() && *first <= *key
        });
        let start = *self.groups.get(group.checked_sub(1)?)?;
        let end = self.groups.get(group).copied().unwrap_or(self.bytes.len());
        let mut input = Decoder::new(&self.bytes[start..end]);
        let mut found = Vec::new();
        while input.left() > 0 {
            let list = next_entry(&mut input, &mut found).ok()?;
            match (*found).cmp(key) {
                std::cmp::Ordering::Less => {}
                std::cmp::Ordering::Equal => return Some(list),
                std::cmp::Ordering::Greater => return None,
            }
        }
        None
    }
}

/// Bytes of a key with its rows at the least.
const LEAST_ENTRY_BYTES: usize = 4;

/// Makes the key before the next one, and returns that one's list.
fn next_entry<'a>(input: &mut Decoder<'a>, key: &mut Vec<u8>) -> DecodeResult<&'a [u8]> {
    let shared = input.number()? as usize;
    if shared > key.len() {
        return Err("a key shares more than there is".to_string());
    }
    key.truncate(shared);
    let own = input.number()?;
    key.extend_from_slice(input.take(own as usize)?);
    let bytes = input.number()?;
    input.take(bytes as usize)
}

/// The rows of a list.
struct ListRows<'a> {
    list: Decoder<'a>,
    next: u32,
}

impl ListRows<'_> {
    fn next_row(&mut self) -> DecodeResult<Option<u32>> {
        if self.list.left() == 0 {
            return Ok(None);
        }
        let row = self.next.checked_add(self.list.number()?).filter(|row| *row < u32::MAX);
        let row = row.ok_or("has a row that no segment has")?;
        self.next = row + 1;
        Ok(Some(row))
    }
}
