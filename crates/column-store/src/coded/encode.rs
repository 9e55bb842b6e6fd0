//! Encodes values as codes.

use super::dictionary::{DICTIONARY_VALUES_MAX, Dictionary};
use super::strings::ByteStrings;
use super::{CodedColumn, CodedValues, Codes, IntegerCodes};
use arrow::buffer::NullBuffer;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A 64-bit integer whose distances are unsigned 64-bit integers.
pub(super) trait Wide: Copy + Ord + Into<i128> {
    /// `self - base`, for `base <= self`.
    fn distance(self, base: Self) -> u64;
}

impl Wide for i64 {
    #[inline]
    fn distance(self, base: i64) -> u64 {
        self.wrapping_sub(base) as u64
    }
}

impl Wide for u64 {
    #[inline]
    fn distance(self, base: u64) -> u64 {
        self - base
    }
}

/// Codes integers by frame of reference.
pub(super) fn integers<W: Wide>(values: &[W], validity: Option<&NullBuffer>) -> IntegerCodes {
    match validity {
        None => frame_of_reference(values.iter().copied().map(Some), values.iter().copied()),
        Some(validity) => {
            let optional = values.iter().zip(validity).map(|(value, is_valid)| is_valid.then_some(*value));
            frame_of_reference(optional.clone(), optional.flatten())
        }
    }
}

/// `values` has every row, `present` those that are not NULL.
fn frame_of_reference<W: Wide>(
    values: impl Iterator<Item = Option<W>>,
    present: impl Iterator<Item = W> + Clone,
) -> IntegerCodes {
    let Some(base) = present.clone().min() else {
        return IntegerCodes { base: 0, shift: 0, greatest: 0, codes: Codes::U8(values.map(|_| 0).collect()) };
    };
    // The bits that any distance has, and the greatest distance.
    let (bits, greatest) = present.fold((0u64, 0u64), |(bits, greatest), value| {
        let distance = value.distance(base);
        (bits | distance, greatest.max(distance))
    });
    let shift = if bits == 0 { 0 } else { bits.trailing_zeros() };
    let greatest = greatest >> shift;
    let codes = values.map(|value| value.map_or(0, |value| value.distance(base) >> shift));
    IntegerCodes { base: base.into(), shift, greatest, codes: Codes::collect(codes, greatest) }
}

/// So few distinct values get a dictionary in any case: a few delta rows shall have codes as those in segments do.
const ALWAYS_CODED_VALUES: usize = 1 << 10;

/// Codes byte strings with a dictionary if that pays: at most [`DICTIONARY_VALUES_MAX`] distinct values, each of which
/// is in two rows or more on average, or at most [`ALWAYS_CODED_VALUES`]. `None` if there are more than 4 GiB of them.
pub(super) fn strings<'a>(values: impl Iterator<Item = Option<&'a [u8]>> + Clone) -> Option<CodedValues> {
    match with_dictionary(values.clone()) {
        Some(coded) => Some(coded),
        None => {
            let mut strings = ByteStrings::with_capacity(values.size_hint().0, 0);
            for value in values {
                if !strings.push(value.unwrap_or_default()) {
                    return None;
                }
            }
            Some(CodedValues::Bytes(strings))
        }
    }
}

fn with_dictionary<'a>(values: impl Iterator<Item = Option<&'a [u8]>> + Clone) -> Option<CodedValues> {
    let rows = values.size_hint().0;
    let distinct_max = DICTIONARY_VALUES_MAX.min(ALWAYS_CODED_VALUES.max(rows / 2));
    let mut first_seen: FxHashMap<&[u8], u32> = FxHashMap::default();
    let mut provisional = Vec::with_capacity(rows);
    for value in values {
        let Some(value) = value else {
            provisional.push(None);
            continue;
        };
        let next = first_seen.len() as u32;
        provisional.push(Some(*first_seen.entry(value).or_insert(next)));
        if first_seen.len() > distinct_max {
            return None;
        }
    }
    let mut sorted: Vec<(&[u8], u32)> = first_seen.into_iter().collect();
    sorted.sort_unstable();
    let mut strings = ByteStrings::with_capacity(sorted.len(), 0);
    let mut codes_of = vec![0u64; sorted.len()];
    for (code, (value, seen)) in sorted.iter().enumerate() {
        if !strings.push(value) {
            return None;
        }
        codes_of[*seen as usize] = code as u64;
    }
    let greatest = sorted.len().saturating_sub(1) as u64;
    let codes = provisional.iter().map(|seen| seen.map_or(0, |seen| codes_of[seen as usize]));
    let codes = Codes::collect(codes, greatest);
    Some(CodedValues::Dictionary { dictionary: Arc::new(Dictionary::from_sorted(strings)?), codes })
}

impl CodedColumn {
    /// A column of 64-bit integers; those of NULLs are ignored.
    pub fn from_integers(values: &[i64], validity: Option<NullBuffer>) -> CodedColumn {
        let integers = integers(values, validity.as_ref());
        CodedColumn { validity: some_nulls(validity), values: CodedValues::Integers(integers) }
    }
}

/// A validity mask without a NULL says nothing.
pub(super) fn some_nulls(validity: Option<NullBuffer>) -> Option<NullBuffer> {
    validity.filter(|validity| validity.null_count() > 0)
}
