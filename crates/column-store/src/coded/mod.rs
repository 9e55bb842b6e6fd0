//! Columns in memory: every value of a segment's column as a small code.
//!
//! Integers are coded by frame of reference (Goldstein, Ramakrishnan, Shaft: "Compressing relations and indexes", 1998):
//! the distance from the least value, without the low bits that are zero in every distance, in the narrowest of 8, 16, 32
//! and 64 bits. Strings of few distinct values are positions in a sorted dictionary. So codes order as their values do,
//! comparisons become integer comparisons, and a code can be an array index.

mod arrow_array;
mod dictionary;
mod encode;
mod strings;

pub use dictionary::{DICTIONARY_VALUES_MAX, Dictionary};
pub use strings::ByteStrings;

use crate::domain::{Datum, Domain};
use arrow::buffer::NullBuffer;
use rustc_hash::FxHashMap;
use std::hash::Hash;
use std::sync::Arc;

/// One column of a segment, or of delta rows that are not in one yet.
#[derive(Clone, Debug)]
pub struct CodedColumn {
    /// Which rows are not NULL; `None` if none is NULL.
    pub(crate) validity: Option<NullBuffer>,
    /// A value for every row; that of a NULL has code 0, or is 0.0, or empty.
    pub(crate) values: CodedValues,
}

/// The values of a coded column.
#[derive(Clone, Debug)]
pub enum CodedValues {
    /// Whole numbers.
    Integers(IntegerCodes),
    /// Floating point, as it is.
    Floats(Vec<f64>),
    /// Byte strings of few distinct values.
    Dictionary {
        /// The distinct values, in order.
        dictionary: Arc<Dictionary>,
        /// Each row's position in the dictionary; 8 or 16 bits.
        codes: Codes,
    },
    /// Byte strings as they are.
    Bytes(ByteStrings),
}

/// Whole numbers: `value = base + (code << shift)`.
#[derive(Clone, Debug)]
pub struct IntegerCodes {
    /// The least value.
    pub base: i128,
    /// Low bits that all distances from the base have as zero: 0..=63.
    pub shift: u32,
    /// The greatest code.
    pub greatest: u64,
    /// The codes.
    pub codes: Codes,
}

/// Unsigned codes in the narrowest width that holds the greatest of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Codes {
    /// 0..=255.
    U8(Vec<u8>),
    /// 0..=65,535.
    U16(Vec<u16>),
    /// Below 2^32.
    U32(Vec<u32>),
    /// Any.
    U64(Vec<u64>),
}

/// Runs `$body` with `$codes` bound to the vector of whichever width.
macro_rules! with_codes {
    ($source:expr, $codes:ident => $body:expr) => {
        match $source {
            $crate::coded::Codes::U8($codes) => $body,
            $crate::coded::Codes::U16($codes) => $body,
            $crate::coded::Codes::U32($codes) => $body,
            $crate::coded::Codes::U64($codes) => $body,
        }
    };
}

pub(crate) use with_codes;

/// An unsigned integer that codes are stored as.
pub trait Code: Copy + Ord + Send + Sync + 'static {
    /// The code in 64 bits.
    fn to_u64(self) -> u64;
    /// The low bits of a code that is known to fit.
    fn from_u64(code: u64) -> Self;
    /// The greatest code of this width.
    const MAX: u64;
    /// The difference, modulo the width.
    fn wrapping_minus(self, other: Self) -> Self;
}

macro_rules! impl_code {
    ($($width:ty),*) => {$(
        impl Code for $width {
            #[inline]
            fn to_u64(self) -> u64 {
                u64::from(self)
            }
            #[inline]
            fn from_u64(code: u64) -> Self {
                code as Self
            }
            const MAX: u64 = <$width>::MAX as u64;
            #[inline]
            fn wrapping_minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
        }
    )*};
}
impl_code!(u8, u16, u32, u64);

impl Codes {
    /// Codes of the width that `greatest` asks for.
    pub fn collect(codes: impl Iterator<Item = u64>, greatest: u64) -> Codes {
        if greatest <= <u8 as Code>::MAX {
            Codes::U8(codes.map(u8::from_u64).collect())
        } else if greatest <= <u16 as Code>::MAX {
            Codes::U16(codes.map(u16::from_u64).collect())
        } else if greatest <= <u32 as Code>::MAX {
            Codes::U32(codes.map(u32::from_u64).collect())
        } else {
            Codes::U64(codes.collect())
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        with_codes!(self, codes => codes.len())
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The code of a row.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn get(&self, row: usize) -> u64 {
        with_codes!(self, codes => codes[row].to_u64())
    }

    /// Width of a code in bits.
    pub fn bits(&self) -> u32 {
        match self {
            Codes::U8(_) => 8,
            Codes::U16(_) => 16,
            Codes::U32(_) => 32,
            Codes::U64(_) => 64,
        }
    }

    fn bytes(&self) -> usize {
        with_codes!(self, codes => std::mem::size_of_val(codes.as_slice()))
    }
}

impl IntegerCodes {
    /// The value of a code.
    #[inline]
    pub fn value(&self, code: u64) -> i128 {
        self.base + (i128::from(code) << self.shift)
    }

    /// The values of some rows.
    pub(crate) fn decode<T>(&self, rows: impl Iterator<Item = u32>, cast: impl Fn(i128) -> T) -> Vec<T> {
        with_codes!(&self.codes, codes => rows.map(|row| cast(self.value(codes[row as usize].to_u64()))).collect())
    }

    /// The least code whose value is at least `value`; `None` if 64 bits have none.
    pub fn ceiling(&self, value: i128) -> Option<u64> {
        let distance = value.saturating_sub(self.base).max(0);
        let rounded = distance.checked_add((1i128 << self.shift) - 1)? >> self.shift;
        u64::try_from(rounded).ok()
    }

    /// The greatest code whose value is at most `value`; `None` if the base is above it.
    pub fn floor(&self, value: i128) -> Option<u64> {
        let distance = value.saturating_sub(self.base);
        (distance >= 0).then(|| u64::try_from(distance >> self.shift).unwrap_or(u64::MAX))
    }
}

fn counts<T: Hash + Eq>(values: impl Iterator<Item = T>) -> Vec<usize> {
    let mut counts: FxHashMap<T, usize> = FxHashMap::default();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    counts.into_values().collect()
}

impl CodedColumn {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        match &self.values {
            CodedValues::Integers(integers) => integers.codes.len(),
            CodedValues::Floats(values) => values.len(),
            CodedValues::Dictionary { codes, .. } => codes.len(),
            CodedValues::Bytes(strings) => strings.len(),
        }
    }

    /// Which rows are not NULL; `None` if none is NULL.
    pub fn validity(&self) -> Option<&NullBuffer> {
        self.validity.as_ref()
    }

    /// The values.
    pub fn values(&self) -> &CodedValues {
        &self.values
    }

    /// The dictionary, if the column has one.
    pub fn dictionary(&self) -> Option<&Arc<Dictionary>> {
        match &self.values {
            CodedValues::Dictionary { dictionary, .. } => Some(dictionary),
            _ => None,
        }
    }

    /// The domain.
    pub fn domain(&self) -> Domain {
        match &self.values {
            CodedValues::Integers(_) => Domain::Integer,
            CodedValues::Floats(_) => Domain::Float,
            CodedValues::Dictionary { .. } | CodedValues::Bytes(_) => Domain::Bytes,
        }
    }

    /// Whether a row's value is NULL.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        self.validity.as_ref().is_some_and(|validity| validity.is_null(row))
    }

    /// A row's value; `None` for NULL.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn datum(&self, row: usize) -> Option<Datum> {
        if self.is_null(row) {
            return None;
        }
        Some(match &self.values {
            CodedValues::Integers(integers) => Datum::Integer(integers.value(integers.codes.get(row))),
            CodedValues::Floats(values) => Datum::Float(values[row]),
            CodedValues::Dictionary { dictionary, codes } => {
                Datum::Bytes(dictionary.value(codes.get(row) as usize).into())
            }
            CodedValues::Bytes(strings) => Datum::Bytes(strings.value(row).into()),
        })
    }

    /// Rows whose value is NULL.
    pub fn null_count(&self) -> usize {
        self.validity.as_ref().map_or(0, |validity| validity.null_count())
    }

    /// Different values but NULL, which all rows are looked at for; `None` for floating point numbers.
    pub fn distinct_values(&self) -> Option<usize> {
        self.value_counts(0..self.rows()).map(|counts| counts.len())
    }

    /// How many of some rows have each of their different values but NULL, in no order; `None` for floating point numbers.
    pub fn value_counts(&self, rows: impl Iterator<Item = usize>) -> Option<Vec<usize>> {
        let rows = rows.filter(|row| !self.is_null(*row));
        match &self.values {
            CodedValues::Integers(IntegerCodes { codes, .. }) | CodedValues::Dictionary { codes, .. } => {
                Some(counts(rows.map(|row| codes.get(row))))
            }
            CodedValues::Bytes(strings) => Some(counts(rows.map(|row| strings.value(row)))),
            CodedValues::Floats(_) => None,
        }
    }

    /// What the column takes in memory, in bytes.
    pub fn memory_bytes(&self) -> usize {
        let validity = self.validity.as_ref().map_or(0, |validity| validity.buffer().len());
        let values = match &self.values {
            CodedValues::Integers(integers) => integers.codes.bytes(),
            CodedValues::Floats(values) => std::mem::size_of_val(values.as_slice()),
            CodedValues::Dictionary { dictionary, codes } => dictionary.memory_bytes() + codes.bytes(),
            CodedValues::Bytes(strings) => strings.memory_bytes(),
        };
        size_of::<CodedColumn>() + validity + values
    }
}
