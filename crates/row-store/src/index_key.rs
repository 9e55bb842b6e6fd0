//! Keys of rows and index entries, and ranges of them.
//!
//! ```text
//! row            index 0 | primary key parts            -> row
//!                index 0 | row id, 8 bytes              -> row            (no primary key)
//! unique entry   index n | parts                        -> 01 | row's key without its index
//!                index n | SHA-256 of the parts         -> 01 | row's key without its index   (key of hashes)
//! other entry    index n | parts | row's key w/o index  -> 02 | length of the entry's own parts, varint
//! large value    see `table::large_values`
//! ```
//!
//! An index of terms has an entry of the last kind for each term of a row, with the term in place of parts; a multi-valued
//! one an entry of either kind for each element of its array, which is one of the parts.
//! A unique index with a NULL among its parts files the entry the second way, as NULLs are never equal.

use crate::engine::Slice;
use sha2::{Digest, Sha256};
use squall_catalog::{IndexDef, IndexId, IndexType, TableDef};
use squall_types::convert::json_elements::{self, ElementError};
use squall_types::term_list::{TERM_BYTES_MAX, TermList};
use squall_types::{CollationId, ErrorCode, KeyPart, SqlError, SqlResult, Value, json, ngrams, words};
use std::ops::Bound;

/// The engine takes keys of up to 65,535 bytes.
const KEY_BYTES_MAX: usize = 60_000;

const VALUE_IS_ROW_KEY: u8 = 1;
const KEY_ENDS_IN_ROW_KEY: u8 = 2;

/// Encodes the keys of one index.
#[derive(Clone, Debug)]
pub(crate) struct IndexCodec {
    pub id: IndexId,
    pub name: String,
    pub unique: bool,
    pub parts: Vec<IndexedColumn>,
    /// The kind of keys that replaces the columns' values.
    pub terms: Option<TermSource>,
    /// Whether it is a copy of columns, and its entries are marks of rows.
    pub is_copy: bool,
    /// Whether entries have a hash in place of their parts. Nobody can make two values of one SHA-256, so equal hashes are equal values.
    pub is_hashed: bool,
}

/// Where the terms of a row come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TermSource {
    /// Words of texts, by a collation.
    Words(CollationId),
    /// Pieces of words, by a collation.
    Ngrams(CollationId),
    /// Documents.
    Json,
    /// The elements of the document that this part of the key is.
    Elements(usize),
}

/// A column with the way it is encoded as a part of a key.
#[derive(Clone, Debug)]
pub(crate) struct IndexedColumn {
    /// Ordinal of the column in the table definition.
    pub ordinal: usize,
    pub part: KeyPart,
}

/// Memory for the entries of one row after the other.
#[derive(Default)]
pub(crate) struct TermScratch {
    terms: TermList,
    entry: Entry,
}

/// An index entry as it is stored.
#[derive(Clone, Default)]
pub(crate) struct Entry {
    pub key: Vec<u8>,
    pub value: Vec<u8>,
    /// Whether another row may not have the same key.
    pub exclusive: bool,
}

/// The number that chunks of large values have in place of that of an index; real ones are counted from 1.
pub(crate) const LARGE_VALUES: IndexId = IndexId(u32::MAX - 1);

/// Appends the number of an index, in order.
pub(crate) fn push_index_id(id: IndexId, out: &mut Vec<u8>) {
    match u8::try_from(id.0) {
        Ok(small) if small < u8::MAX => out.push(small),
        _ => {
            out.push(u8::MAX);
            out.extend_from_slice(&id.0.to_be_bytes());
        }
    }
}

/// Splits a storage key into its index and the rest.
pub(crate) fn split_index_id(key: &[u8]) -> Option<(IndexId, &[u8])> {
    let (first, rest) = key.split_first()?;
    if *first < u8::MAX {
        return Some((IndexId(u32::from(*first)), rest));
    }
    let (id, rest) = rest.split_first_chunk::<4>()?;
    Some((IndexId(u32::from_be_bytes(*id)), rest))
}

impl IndexCodec {
    /// The codec of an index; the primary key is index 0 whatever its id is.
    pub fn new(def: &TableDef, index: &IndexDef) -> SqlResult<IndexCodec> {
        let parts = index
            .parts
            .iter()
            .map(|part| {
                let ordinal = def.ordinal(part.column).ok_or_else(|| {
                    SqlError::internal(format_args!("index {} of {} has an unknown column", index.name, def.name))
                })?;
                let column = &def.columns[ordinal];
                Ok(IndexedColumn {
                    ordinal,
                    part: KeyPart {
                        sql_type: column.element_type().unwrap_or(&column.sql_type).clone(),
                        prefix_length: part.prefix,
                        descending: part.descending,
                        nullable: column.nullable,
                    },
                })
            })
            .collect::<SqlResult<Vec<_>>>()?;
        let collation = parts.first().and_then(|part| part.part.sql_type.collation());
        let is_array = |part: &IndexedColumn| def.columns[part.ordinal].element_type().is_some();
        let collation = collation.unwrap_or(CollationId::UTF8MB4_0900_AI_CI);
        let terms = match index.index_type {
            IndexType::Json => Some(TermSource::Json),
            IndexType::Ngram => Some(TermSource::Ngrams(collation)),
            IndexType::FullText => Some(TermSource::Words(collation)),
            _ => parts.iter().position(is_array).map(TermSource::Elements),
        };
        Ok(IndexCodec {
            terms,
            is_copy: index.is_columnar(),
            is_hashed: index.is_hashed(),
            id: if index.primary { IndexId(0) } else { index.id },
            name: index.name.clone(),
            unique: index.unique || index.primary,
            parts,
        })
    }

    /// The key of the row's values in the first index: where the row lies.
    pub fn primary_key(&self, values: &[Value]) -> SqlResult<Vec<u8>> {
        let mut key = Vec::with_capacity(16);
        self.push_parts(values, &mut key)?;
        Ok(key)
    }

    /// Appends the number of the index and the encoded parts; tells whether one of them is NULL.
    pub fn push_parts(&self, values: &[Value], key: &mut Vec<u8>) -> SqlResult<bool> {
        self.push_parts_with(values, None, key)
    }

    /// The same with another value for one of the parts.
    fn push_parts_with(
        &self,
        values: &[Value],
        instead: Option<(usize, &Value)>,
        key: &mut Vec<u8>,
    ) -> SqlResult<bool> {
        push_index_id(self.id, key);
        let value_of = |at: usize, column: &IndexedColumn| match instead {
            Some((part, value)) if part == at => Ok(value),
            _ => values.get(column.ordinal).ok_or_else(|| SqlError::internal("a row without a key column")),
        };
        if self.is_hashed {
            return push_hash(
                self.parts.iter().enumerate().map(|(at, column)| Ok((column, value_of(at, column)?))),
                key,
            );
        }
        let mut has_null = false;
        for (at, column) in self.parts.iter().enumerate() {
            let value = value_of(at, column)?;
            has_null |= value.is_null();
            column.part.encode(value, key)?;
        }
        check_length(key)?;
        Ok(has_null)
    }

    /// Whether a row has an entry for each of its terms, which [`IndexCodec::term_entries`] makes.
    pub fn has_terms(&self) -> bool {
        self.terms.is_some()
    }

    /// The entries of a row in an index of terms, in order.
    pub fn term_entries(&self, values: &[Value], row_key: &[u8]) -> SqlResult<Vec<Entry>> {
        let mut entries = Vec::new();
        self.for_each_term_entry(values, row_key, &mut TermScratch::default(), |entry| {
            entries.push(entry.clone());
            Ok(())
        })?;
        entries.sort_unstable_by(|left, right| left.key.cmp(&right.key));
        Ok(entries)
    }

    /// Calls `take` with each of these entries once, in any order.
    pub fn for_each_term_entry(
        &self,
        values: &[Value],
        row_key: &[u8],
        scratch: &mut TermScratch,
        mut take: impl FnMut(&Entry) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let (_, row_part) = split_index_id(row_key).ok_or_else(|| SqlError::internal("an empty row key"))?;
        if let Some(TermSource::Elements(part)) = self.terms {
            return self.element_entries(values, part, row_part)?.iter().try_for_each(take);
        }
        let TermScratch { terms, entry } = scratch;
        self.collect_terms(values, terms)?;
        for term in terms.iter() {
            let Entry { key, value, .. } = &mut *entry;
            key.clear();
            value.clear();
            push_index_id(self.id, key);
            key.extend_from_slice(term);
            push_ends_in_row_key(key.len(), value);
            key.extend_from_slice(row_part);
            check_length(key)?;
            take(entry)?;
        }
        Ok(())
    }

    /// The entries of a row in a multi-valued index, each once, in order.
    fn element_entries(&self, values: &[Value], part: usize, row_part: &[u8]) -> SqlResult<Vec<Entry>> {
        let mut entries = Vec::new();
        for element in self.elements(values, part)? {
            let (mut key, mut value) = (Vec::with_capacity(16 + row_part.len()), Vec::new());
            let has_null = self.push_parts_with(values, Some((part, &element)), &mut key)?;
            let exclusive = self.unique && !has_null;
            if exclusive {
                value.push(VALUE_IS_ROW_KEY);
                value.extend_from_slice(row_part);
            } else {
                push_ends_in_row_key(key.len(), &mut value);
                key.extend_from_slice(row_part);
                check_length(&key)?;
            }
            entries.push(Entry { key, value, exclusive });
        }
        entries.sort_unstable_by(|left, right| left.key.cmp(&right.key));
        entries.dedup_by(|left, right| left.key == right.key);
        Ok(entries)
    }

    /// The elements of the document that a part of the key is; NULL for a row without a document.
    fn elements(&self, values: &[Value], part: usize) -> SqlResult<Vec<Value>> {
        let column = &self.parts[part];
        let Some(Value::Json(document)) = values.get(column.ordinal) else { return Ok(vec![Value::Null]) };
        let elements = match document.to_json() {
            Ok(document) => json_elements::elements(&document, &column.part.sql_type),
            Err(_) => Err(ElementError::Invalid),
        };
        elements.map_err(|error| error.of_index(&self.name))
    }

    /// The terms of a row.
    fn collect_terms(&self, values: &[Value], terms: &mut TermList) -> SqlResult<()> {
        terms.clear();
        for part in &self.parts {
            match (self.terms, values.get(part.ordinal)) {
                (Some(TermSource::Words(collation)), Some(Value::String(text))) => {
                    words::collect(text, collation, terms);
                }
                (Some(TermSource::Ngrams(collation)), Some(Value::String(text))) => {
                    ngrams::collect(text, collation, terms);
                }
                // Text that is no document has no terms.
                (Some(TermSource::Json), Some(Value::String(text))) => {
                    let _ = json::terms::collect(text, terms);
                }
                (Some(TermSource::Json), Some(Value::Json(document))) => {
                    let _ = json::terms::collect_stored(document.stored(), terms);
                }
                _ => {}
            }
        }
        if terms.is_full() {
            let what = "A document has too many values for an index.";
            return Err(SqlError::new(ErrorCode::CapacityExceeded, &[&TERM_BYTES_MAX, &self.name, &what]));
        }
        Ok(())
    }

    /// Whether two rows have the same values in all of its columns.
    pub fn has_same_parts(&self, one: &[Value], other: &[Value]) -> bool {
        self.parts.iter().all(|part| one.get(part.ordinal) == other.get(part.ordinal))
    }

    /// The entry of a row.
    pub fn entry(&self, values: &[Value], row_key: &[u8]) -> SqlResult<Entry> {
        let mut entry = Entry { key: Vec::with_capacity(16 + row_key.len()), value: Vec::new(), exclusive: false };
        self.replace_entry(values, row_key, &mut entry)?;
        Ok(entry)
    }

    /// Makes an entry that of another row, in the memory that it has.
    pub fn replace_entry(&self, values: &[Value], row_key: &[u8], entry: &mut Entry) -> SqlResult<()> {
        let Entry { key, value, exclusive } = entry;
        key.clear();
        value.clear();
        let has_null = self.push_parts(values, key)?;
        let (_, row_part) = split_index_id(row_key).ok_or_else(|| SqlError::internal("an empty row key"))?;
        *exclusive = self.unique && !has_null;
        if *exclusive {
            value.push(VALUE_IS_ROW_KEY);
            value.extend_from_slice(row_part);
            return Ok(());
        }
        push_ends_in_row_key(key.len(), value);
        key.extend_from_slice(row_part);
        check_length(key)
    }

    /// The values of the key's parts as MySQL prints a duplicate entry, whose key tells which element it is of.
    pub fn entry_text(&self, values: &[Value], key: &[u8]) -> String {
        let element = match self.terms {
            Some(TermSource::Elements(part)) => self.element_of_key(values, part, key).map(|element| (part, element)),
            _ => None,
        };
        let mut text = String::new();
        for (at, column) in self.parts.iter().enumerate() {
            if at > 0 {
                text.push('-');
            }
            let value = match &element {
                Some((part, element)) if *part == at => Some(element),
                _ => values.get(column.ordinal),
            };
            crate::value_text::push(value.unwrap_or(&Value::Null), &column.part, &mut text);
        }
        text
    }

    fn element_of_key(&self, values: &[Value], part: usize, key: &[u8]) -> Option<Value> {
        let mut own = Vec::with_capacity(key.len());
        self.elements(values, part).ok()?.into_iter().find(|element| {
            own.clear();
            self.push_parts_with(values, Some((part, element)), &mut own).is_ok() && own == key
        })
    }

    /// The parts' values that a storage key of this index holds; `None` for the parts that cannot be restored.
    pub fn decode(&self, key: &[u8]) -> Option<Vec<Option<Value>>> {
        let (_, mut rest) = split_index_id(key)?;
        if self.is_hashed {
            return Some(vec![None; self.parts.len()]);
        }
        let mut values = Vec::with_capacity(self.parts.len());
        for column in &self.parts {
            values.push(column.part.decode(&mut rest).ok()?);
        }
        Some(values)
    }

    /// Whether every part can be restored from a key.
    pub fn is_covering(&self) -> bool {
        self.terms.is_none()
            && !self.is_copy
            && !self.is_hashed
            && self.parts.iter().all(|column| column.part.is_reversible())
    }

    /// For each part whether it can be restored from a key.
    pub fn reversible_parts(&self) -> Vec<bool> {
        if self.terms.is_some() || self.is_copy || self.is_hashed {
            return Vec::new();
        }
        self.parts.iter().map(|column| column.part.is_reversible()).collect()
    }

    /// All entries of the index.
    pub fn full_range(&self) -> KeyRange {
        index_range(self.id)
    }

    /// The key that entries with these first values begin with.
    pub fn prefix(&self, values: &[Value]) -> SqlResult<Vec<u8>> {
        let mut key = Vec::with_capacity(16);
        push_index_id(self.id, &mut key);
        if self.is_hashed {
            if values.len() != self.parts.len() {
                return Err(SqlError::internal("a range of hashes"));
            }
            push_hash(self.parts.iter().zip(values).map(Ok), &mut key)?;
            return Ok(key);
        }
        for (column, value) in self.parts.iter().zip(values) {
            // A NULL bound in a column that has none: nothing orders before it.
            if value.is_null() && !column.part.nullable {
                break;
            }
            column.part.encode(value, &mut key)?;
        }
        check_length(&key)?;
        Ok(key)
    }
}

/// Appends the hash of a key's parts; tells whether one of them is NULL. The encoding of each part ends where it says by itself, so
/// other parts never have the same bytes together.
fn push_hash<'a>(
    parts: impl Iterator<Item = SqlResult<(&'a IndexedColumn, &'a Value)>>,
    key: &mut Vec<u8>,
) -> SqlResult<bool> {
    let (mut hash, mut encoded, mut has_null) = (Sha256::new(), Vec::new(), false);
    for part in parts {
        let (column, value) = part?;
        has_null |= value.is_null();
        encoded.clear();
        column.part.encode(value, &mut encoded)?;
        hash.update(&encoded);
    }
    key.extend_from_slice(&hash.finalize());
    Ok(has_null)
}

/// Writes the value of an entry whose own part of the key has this length.
fn push_ends_in_row_key(mut length: usize, value: &mut Vec<u8>) {
    value.push(KEY_ENDS_IN_ROW_KEY);
    while length >= 0x80 {
        value.push(length as u8 | 0x80);
        length >>= 7;
    }
    value.push(length as u8);
}

/// All keys of an index.
pub(crate) fn index_range(id: IndexId) -> KeyRange {
    let mut start = Vec::new();
    push_index_id(id, &mut start);
    let end = successor(&start);
    KeyRange { start: Bound::Included(start), end: end.map_or(Bound::Unbounded, Bound::Excluded) }
}

fn check_length(key: &[u8]) -> SqlResult<()> {
    if key.len() > KEY_BYTES_MAX {
        return Err(SqlError::new(ErrorCode::TooLongKey, &[&KEY_BYTES_MAX]));
    }
    Ok(())
}

/// A key that lies `part` of `parts` of the way from one key to another, as far as the eight bytes tell in which they first differ.
pub fn key_between(first: &[u8], last: &[u8], part: u64, parts: u64) -> Vec<u8> {
    let common = first.iter().zip(last).take_while(|(first, last)| first == last).count();
    let number = |key: &[u8]| {
        let tail = key.get(common..).unwrap_or_default();
        u64::from_be_bytes(std::array::from_fn(|at| tail.get(at).copied().unwrap_or(0)))
    };
    let (low, high) = (number(first), number(last));
    if part == 0 {
        return first.to_vec();
    }
    let way = u128::from(high.saturating_sub(low)) * u128::from(part) / u128::from(parts.max(1));
    let mut key = first[..common].to_vec();
    key.extend_from_slice(&low.saturating_add(way as u64).to_be_bytes());
    key
}

/// The first key after all keys that begin with `prefix`.
pub(crate) fn successor(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != u8::MAX)?;
    let mut next = prefix[..=last].to_vec();
    next[last] += 1;
    Some(next)
}

/// Whether an entry's key is one that no other row may have.
pub(crate) fn is_exclusive_entry(value: &[u8]) -> bool {
    value.first() == Some(&VALUE_IS_ROW_KEY)
}

/// Where the row of an index entry lies.
pub(crate) fn row_key_of_entry(key: &[u8], value: &[u8]) -> Option<Vec<u8>> {
    let row_part = match value.split_first()? {
        (&VALUE_IS_ROW_KEY, row_part) => row_part,
        (&KEY_ENDS_IN_ROW_KEY, length) => key.get(own_length(length)?..)?,
        _ => return None,
    };
    let mut row_key = Vec::with_capacity(1 + row_part.len());
    push_index_id(IndexId(0), &mut row_key);
    row_key.extend_from_slice(row_part);
    Some(row_key)
}

/// The length of an entry's own parts with the number of the index.
fn own_length(varint: &[u8]) -> Option<usize> {
    varint.iter().rev().try_fold(0usize, |length, byte| length.checked_mul(128)?.checked_add(usize::from(byte & 0x7F)))
}

/// An entry's own parts, of one that has the row's key behind them.
pub(crate) fn own_parts<'k>(key: &'k [u8], value: &[u8]) -> Option<&'k [u8]> {
    match value.split_first()? {
        (&KEY_ENDS_IN_ROW_KEY, length) => Some(split_index_id(key.get(..own_length(length)?)?)?.1),
        _ => None,
    }
}

/// A range of storage keys within one index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRange {
    /// Where it begins.
    pub start: Bound<Vec<u8>>,
    /// Where it ends.
    pub end: Bound<Vec<u8>>,
}

impl KeyRange {
    /// The range that holds one key only.
    pub fn point(key: &[u8]) -> KeyRange {
        KeyRange { start: Bound::Included(key.to_vec()), end: Bound::Included(key.to_vec()) }
    }

    /// Whether the range surely holds nothing.
    pub fn is_empty(&self) -> bool {
        match (&self.start, &self.end) {
            (Bound::Included(start), Bound::Included(end)) => start > end,
            (Bound::Included(start) | Bound::Excluded(start), Bound::Included(end) | Bound::Excluded(end)) => {
                start >= end
            }
            _ => false,
        }
    }

    /// Whether a key lies in the range.
    pub fn contains(&self, key: &[u8]) -> bool {
        (match &self.start {
            Bound::Included(start) => key >= &start[..],
            Bound::Excluded(start) => key > &start[..],
            Bound::Unbounded => true,
        }) && (match &self.end {
            Bound::Included(end) => key <= &end[..],
            Bound::Excluded(end) => key < &end[..],
            Bound::Unbounded => true,
        })
    }

    /// The keys that lie in another range, too.
    pub fn intersection(&self, other: &KeyRange) -> KeyRange {
        let start = match (&self.start, &other.start) {
            (Bound::Unbounded, start) | (start, Bound::Unbounded) => start,
            (Bound::Included(own) | Bound::Excluded(own), Bound::Included(others) | Bound::Excluded(others)) => {
                let is_own = own > others || own == others && matches!(self.start, Bound::Excluded(_));
                if is_own { &self.start } else { &other.start }
            }
        };
        let end = match (&self.end, &other.end) {
            (Bound::Unbounded, end) | (end, Bound::Unbounded) => end,
            (Bound::Included(own) | Bound::Excluded(own), Bound::Included(others) | Bound::Excluded(others)) => {
                let is_own = own < others || own == others && matches!(self.end, Bound::Excluded(_));
                if is_own { &self.end } else { &other.end }
            }
        };
        KeyRange { start: start.clone(), end: end.clone() }
    }

    pub(crate) fn to_slices(&self) -> (Bound<Slice>, Bound<Slice>) {
        let slice = |bound: &Bound<Vec<u8>>| match bound {
            Bound::Included(key) => Bound::Included(Slice::new(key)),
            Bound::Excluded(key) => Bound::Excluded(Slice::new(key)),
            Bound::Unbounded => Bound::Unbounded,
        };
        (slice(&self.start), slice(&self.end))
    }
}

/// Bounds of a range by values, in the order of the index: for a descending part the greater value comes first. A bound
/// of fewer values than the index has parts stands for every key that begins with them.
#[derive(Clone, Copy, Debug)]
pub struct ValueRange<'a> {
    /// First keys.
    pub start: Bound<&'a [Value]>,
    /// Last keys.
    pub end: Bound<&'a [Value]>,
}

impl ValueRange<'static> {
    /// Everything.
    pub const ALL: ValueRange<'static> = ValueRange { start: Bound::Unbounded, end: Bound::Unbounded };
}

impl<'a> ValueRange<'a> {
    /// Every key that begins with these values.
    pub fn prefix(values: &'a [Value]) -> ValueRange<'a> {
        ValueRange { start: Bound::Included(values), end: Bound::Included(values) }
    }
}

/// Which end a scan begins at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// In key order.
    Forward,
    /// Against it.
    Backward,
}

/// Whether a storage key is that of a row, not of an index entry.
pub(crate) fn is_row_key(key: &[u8]) -> bool {
    split_index_id(key).is_some_and(|(id, _)| id == IndexId(0))
}

/// A row's storage key in a buffer of its own.
pub type RowKeyBuf = Vec<u8>;
