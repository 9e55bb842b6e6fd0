//! The distinct values of a column, in order.

use super::strings::ByteStrings;
use crate::bytes::{Decoder, Encoder};
use std::ops::Range;

/// A column of more distinct values has no dictionary: its codes would not fit 16 bits.
pub const DICTIONARY_VALUES_MAX: usize = 1 << 16;

/// Distinct byte strings in memcmp order; a value's code is its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dictionary {
    values: ByteStrings,
}

impl Dictionary {
    /// A dictionary of values that are distinct and in order; `None` if they are not, or are too many.
    pub fn from_sorted(values: ByteStrings) -> Option<Dictionary> {
        let ordered = values.iter().zip(values.iter().skip(1)).all(|(a, b)| a < b);
        (ordered && values.len() <= DICTIONARY_VALUES_MAX).then_some(Dictionary { values })
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no values, because every row is NULL.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The value of a code.
    ///
    /// # Panics
    /// If there is no such code.
    #[inline]
    pub fn value(&self, code: usize) -> &[u8] {
        self.values.value(code)
    }

    /// All values in order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.values.iter()
    }

    /// The code of a value, or the code of the first value above it.
    pub fn search(&self, value: &[u8]) -> Result<usize, usize> {
        let at = self.lower_bound(value);
        if at < self.len() && self.value(at) == value { Ok(at) } else { Err(at) }
    }

    /// The code of the first value that is not below `value`.
    fn lower_bound(&self, value: &[u8]) -> usize {
        let Range { mut start, mut end } = 0..self.len();
        while start < end {
            let middle = start + (end - start) / 2;
            if self.value(middle) < value { start = middle + 1 } else { end = middle }
        }
        start
    }

    /// What it takes in memory, in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.values.memory_bytes()
    }

    /// The dictionary as a block of a segment: `count u32`, then each value with its length before it.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        out.u32(self.len() as u32);
        self.iter().for_each(|value| out.counted(value));
        out.bytes
    }

    /// Decodes the block of a dictionary.
    ///
    /// # Errors
    /// What is wrong with the bytes.
    pub fn decode(bytes: &[u8]) -> Result<Dictionary, String> {
        let mut input = Decoder::new(bytes);
        let count = input.count(4)?;
        let mut values = ByteStrings::with_capacity(count, 0);
        for _ in 0..count {
            if !values.push(input.counted()?) {
                return Err("has more than 4 GiB".to_string());
            }
        }
        input.finish()?;
        Dictionary::from_sorted(values).ok_or_else(|| "values are not distinct and in order, or too many".to_string())
    }
}
