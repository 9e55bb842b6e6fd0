//! Bitmap indexes: for a column, which rows have which value.
//!
//! An index is a list of *keys* and, for the position (*ordinal*) of each row's key in it, bitmaps of rows. Keys are all
//! distinct values, or the lower ends of *bins* of about as many rows each; then a range that begins or ends inside a bin
//! leaves that bin's rows as candidates to check. The bitmaps encode ordinals in one of two ways (Chan and Ioannidis:
//! "Bitmap index design and evaluation", 1998, and "An efficient bitmap encoding scheme for selection queries", 1999):
//!
//! - [`Encoding::Equality`]: one bitmap per ordinal. Best for few ordinals and for rows in clusters.
//! - [`Encoding::Range`]: ordinals in base 2, one range-encoded bitmap per digit; a range takes one operation per digit,
//!   and a thousand ordinals ten bits per row, where one cumulative bitmap each would take a thousand.
//!
//! An index of *elements* ([`ElementIndex`]) is different: a row has as many elements as its array.
//!
//! Bitmaps are Roaring (Lemire and others: "Roaring bitmaps: implementation of an optimized software library", 2018).

mod build;
mod codec;
mod elements;
mod encoding;

pub use build::build_index;
pub use elements::{ElementIndex, element_key};
pub use encoding::Encoding;

use crate::coded::Dictionary;
use crate::domain::{Datum, Domain};
use encoding::EncodedOrdinals;
use roaring::RoaringBitmap;
use squall_types::SqlType;
use std::ops::{Bound, Range};

/// Which index a column gets when a segment is made.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub enum IndexChoice {
    /// By cardinality if the column has up to 1,000 distinct values and equal ones come in runs of 32 rows or more on average:
    /// then an index is small beside the column. Elsewhere a scan of warm codes is as fast as bitmaps, and files stay small.
    #[default]
    Auto,
    /// None.
    None,
    /// By cardinality, whatever its size: equality-encoded up to 64 distinct values, range-encoded up to 1,000, and
    /// binned above.
    Bitmap,
    /// One bitmap per distinct value, up to 65,536 of them; binned above.
    Equality,
    /// One bitmap per binary digit of a value's ordinal, up to 65,536 distinct values; binned above.
    Range,
    /// Bins.
    Binned,
    /// An [`ElementIndex`] instead of bitmaps: of documents by their elements as values of this type.
    Elements(SqlType),
}

/// What a row's ordinal stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Keys {
    /// The column's dictionary.
    Dictionary(std::sync::Arc<Dictionary>),
    /// All distinct values, in order.
    Values(Vec<Datum>),
    /// Lower ends of bins, in order: a bin's values are from its own up to, not including, the next one's.
    Bins(Vec<Datum>),
}

/// A column's bitmap index within one segment.
#[derive(Clone, Debug, PartialEq)]
pub struct BitmapIndex {
    keys: Keys,
    nulls: RoaringBitmap,
    ordinals: EncodedOrdinals,
}

/// Rows for which a condition is true, as far as an index can tell.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Rows {
    /// The condition is true.
    pub sure: RoaringBitmap,
    /// The condition may be true and has to be checked; never a row of `sure`.
    pub candidates: RoaringBitmap,
}

impl BitmapIndex {
    /// What ordinals stand for.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// How ordinals are encoded.
    pub fn encoding(&self) -> Encoding {
        self.ordinals.encoding()
    }

    /// The domain of the column; `None` if every row is NULL and there is no dictionary.
    pub fn domain(&self) -> Option<Domain> {
        match &self.keys {
            Keys::Dictionary(_) => Some(Domain::Bytes),
            Keys::Values(keys) | Keys::Bins(keys) => keys.first().map(Datum::domain),
        }
    }

    /// Rows that are NULL.
    pub fn nulls(&self) -> &RoaringBitmap {
        &self.nulls
    }

    /// Rows with a value in a range.
    pub fn range(&self, low: Bound<&Datum>, high: Bound<&Datum>) -> Rows {
        match &self.keys {
            Keys::Dictionary(dictionary) => {
                let position = |value: &Datum| match value {
                    Datum::Bytes(bytes) => dictionary.search(bytes),
                    _ => Err(0),
                };
                Rows::sure(self.ordinals.range(ordinal_range(dictionary.len(), low, high, position)))
            }
            Keys::Values(values) => {
                let position = |value: &Datum| values.binary_search_by(|key| key.order(value));
                Rows::sure(self.ordinals.range(ordinal_range(values.len(), low, high, position)))
            }
            Keys::Bins(ends) => self.binned_range(ends, low, high),
        }
    }

    /// Rows with one of some values.
    pub fn any_of(&self, values: &[Datum]) -> Rows {
        let mut all = Rows::default();
        for value in values {
            all = all.or(self.range(Bound::Included(value), Bound::Included(value)));
        }
        all
    }

    /// Rows whose ordinal is one for which `matches` holds; `None` if ordinals stand for bins.
    pub fn matching(&self, matches: impl Fn(usize) -> bool) -> Option<RoaringBitmap> {
        let keys = match &self.keys {
            Keys::Dictionary(dictionary) => dictionary.len(),
            Keys::Values(values) => values.len(),
            Keys::Bins(_) => return None,
        };
        let mut rows = RoaringBitmap::new();
        let mut next = 0;
        while next < keys {
            let Some(start) = (next..keys).find(|ordinal| matches(*ordinal)) else { break };
            let end = (start..keys).find(|ordinal| !matches(*ordinal)).unwrap_or(keys);
            rows |= self.ordinals.range(start..end);
            next = end;
        }
        Some(rows)
    }

    /// Rows whose byte string is one for which `matches` holds, asked once per distinct value; `None` if ordinals stand for
    /// bins. Other values never match.
    pub fn matching_strings(&self, matches: &dyn Fn(&[u8]) -> bool) -> Option<RoaringBitmap> {
        let matching: Vec<bool> = match &self.keys {
            Keys::Dictionary(dictionary) => dictionary.iter().map(matches).collect(),
            Keys::Values(values) => {
                values.iter().map(|value| matches!(value, Datum::Bytes(bytes) if matches(bytes))).collect()
            }
            Keys::Bins(_) => return None,
        };
        self.matching(|ordinal| matching[ordinal])
    }

    /// What the index takes in memory, in bytes, nearly.
    pub fn memory_bytes(&self) -> usize {
        let keys = match &self.keys {
            Keys::Dictionary(_) => 0,
            Keys::Values(keys) | Keys::Bins(keys) => keys
                .iter()
                .map(|key| size_of::<Datum>() + if let Datum::Bytes(bytes) = key { bytes.len() } else { 0 })
                .sum(),
        };
        size_of::<BitmapIndex>() + keys + self.nulls.serialized_size() + self.ordinals.memory_bytes()
    }

    /// Bins wholly inside the range are sure; those at its ends, if it may cut them, are candidates.
    fn binned_range(&self, ends: &[Datum], low: Bound<&Datum>, high: Bound<&Datum>) -> Rows {
        // The bins that may have a value of the range, and those among them whose values are all in the range.
        let (first, first_whole) = match low {
            Bound::Unbounded => (0, 0),
            Bound::Included(value) => {
                let above = ends.partition_point(|end| end.order(value).is_lt());
                let at_end = ends.get(above).is_some_and(|end| end.order(value).is_eq());
                (if at_end { above } else { above.saturating_sub(1) }, above)
            }
            Bound::Excluded(value) => {
                let above = ends.partition_point(|end| end.order(value).is_le());
                (above.saturating_sub(1), above)
            }
        };
        let (last, last_whole) = match high {
            Bound::Unbounded => (ends.len(), ends.len()),
            Bound::Included(value) => {
                let above = ends.partition_point(|end| end.order(value).is_le());
                (above, above.saturating_sub(1))
            }
            Bound::Excluded(value) => {
                let above = ends.partition_point(|end| end.order(value).is_lt());
                let at_end = ends.get(above).is_some_and(|end| end.order(value).is_eq());
                (above, if at_end { above } else { above.saturating_sub(1) })
            }
        };
        if first >= last {
            return Rows::default();
        }
        let possible = self.ordinals.range(first..last);
        let sure = if first_whole < last_whole { self.ordinals.range(first_whole..last_whole) } else { <_>::default() };
        Rows { candidates: possible - &sure, sure }
    }
}

/// The ordinals whose keys lie in a range; `position` is a binary search.
fn ordinal_range(
    keys: usize,
    low: Bound<&Datum>,
    high: Bound<&Datum>,
    position: impl Fn(&Datum) -> Result<usize, usize>,
) -> Range<usize> {
    let start = match low {
        Bound::Unbounded => 0,
        Bound::Included(value) => position(value).unwrap_or_else(|above| above),
        Bound::Excluded(value) => position(value).map_or_else(|above| above, |at| at + 1),
    };
    let end = match high {
        Bound::Unbounded => keys,
        Bound::Included(value) => position(value).map_or_else(|above| above, |at| at + 1),
        Bound::Excluded(value) => position(value).unwrap_or_else(|above| above),
    };
    start..end.max(start)
}

impl Rows {
    /// Rows that need no check.
    pub fn sure(sure: RoaringBitmap) -> Rows {
        Rows { sure, candidates: RoaringBitmap::new() }
    }

    /// Rows that have to be checked.
    pub fn candidates(candidates: RoaringBitmap) -> Rows {
        Rows { sure: RoaringBitmap::new(), candidates }
    }

    /// All rows for which the condition may be true.
    pub fn possible(&self) -> RoaringBitmap {
        &self.sure | &self.candidates
    }

    /// Rows for which both conditions are true.
    pub fn and(self, other: Rows) -> Rows {
        if self.candidates.is_empty() && other.candidates.is_empty() {
            return Rows::sure(self.sure & other.sure);
        }
        let possible = self.possible() & other.possible();
        let sure = self.sure & other.sure;
        Rows { candidates: possible - &sure, sure }
    }

    /// Rows for which one of two conditions is true.
    pub fn or(self, other: Rows) -> Rows {
        let sure = self.sure | other.sure;
        Rows { candidates: (self.candidates | other.candidates) - &sure, sure }
    }
}
