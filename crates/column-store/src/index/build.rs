//! Builds the index of a coded column.

use super::encoding::{EncodedOrdinals, Encoding};
use super::{BitmapIndex, IndexChoice, Keys};
use crate::coded::{CodedColumn, CodedValues, with_codes};
use crate::domain::Datum;
use roaring::RoaringBitmap;
use rustc_hash::FxHashSet;

/// Up to as many distinct values the choice by cardinality is an equality-encoded index.
const EQUALITY_VALUES_MAX: usize = 64;
/// Up to as many, a range-encoded one.
const RANGE_VALUES_MAX: usize = 1_000;
/// Above as many, bins even if another encoding was asked for.
const VALUES_MAX: usize = 1 << 16;
/// Bins of a binned index; six bits per row, and one row in 64 a candidate at each end of a range.
const BINS: usize = 64;
/// Values that bins are chosen by.
const SAMPLE_VALUES: usize = 1 << 14;
/// Lower ends of bins of byte strings are cut to as many bytes; any cut is as good.
const BIN_END_BYTES_MAX: usize = 64;

/// Rows of a run, on average, from which on an index that was not asked for is small beside its column.
const AUTO_RUN_ROWS: usize = 32;

/// Builds the bitmap index that a choice asks for; `None` if it asks for none.
pub fn build_index(column: &CodedColumn, choice: &IndexChoice) -> Option<BitmapIndex> {
    let distinct_max = match choice {
        IndexChoice::None | IndexChoice::Elements(_) => return None,
        IndexChoice::Auto | IndexChoice::Bitmap => RANGE_VALUES_MAX,
        IndexChoice::Equality | IndexChoice::Range => VALUES_MAX,
        IndexChoice::Binned => 0,
    };
    if *choice == IndexChoice::Auto && !has_long_runs(column) {
        return None;
    }
    let nulls: RoaringBitmap = match column.validity() {
        Some(validity) => (0..column.rows() as u32).filter(|row| validity.is_null(*row as usize)).collect(),
        None => RoaringBitmap::new(),
    };
    let Some(codes) = distinct_codes(column, distinct_max) else {
        return (*choice != IndexChoice::Auto).then(|| binned(column, nulls));
    };
    let encoding = match choice {
        IndexChoice::Equality => Encoding::Equality,
        IndexChoice::Range => Encoding::Range,
        _ if codes.len() <= EQUALITY_VALUES_MAX => Encoding::Equality,
        _ => Encoding::Range,
    };
    let count = codes.len();
    let ordinals = rows_of(column).map(|row| row.map(|row| codes.ordinal(column, row)));
    let ordinals = EncodedOrdinals::build(encoding, count, ordinals);
    Some(BitmapIndex { keys: codes.keys, nulls, ordinals })
}

/// Whether equal values follow one another.
fn has_long_runs(column: &CodedColumn) -> bool {
    let Some(codes) = column.codes() else { return false };
    let changes = with_codes!(codes, codes => codes.windows(2).filter(|pair| pair[0] != pair[1]).count());
    changes * AUTO_RUN_ROWS <= column.rows()
}

/// Each row; `None` if it is NULL.
fn rows_of(column: &CodedColumn) -> impl Iterator<Item = Option<usize>> {
    (0..column.rows()).map(|row| (!column.is_null(row)).then_some(row))
}

/// The distinct values of a column with their codes.
struct DistinctCodes {
    keys: Keys,
    /// In order; empty if a code is its own ordinal.
    codes: Vec<u64>,
}

impl DistinctCodes {
    fn len(&self) -> usize {
        match &self.keys {
            Keys::Dictionary(dictionary) => dictionary.len(),
            Keys::Values(values) | Keys::Bins(values) => values.len(),
        }
    }

    fn ordinal(&self, column: &CodedColumn, row: usize) -> u32 {
        let code = code(column, row);
        match &self.keys {
            Keys::Dictionary(_) => code as u32,
            _ => self.codes.partition_point(|other| *other < code) as u32,
        }
    }
}

/// An integer that orders as the row's value does among those of its column, if it has one.
fn code(column: &CodedColumn, row: usize) -> u64 {
    match column.values() {
        CodedValues::Integers(integers) => integers.codes.get(row),
        CodedValues::Dictionary { codes, .. } => codes.get(row),
        CodedValues::Floats(values) => float_code(values[row]),
        CodedValues::Bytes(_) => 0,
    }
}

/// Orders as floating point does, with one zero: the sign bit turned for positive numbers, all bits for negative ones.
fn float_code(value: f64) -> u64 {
    let bits = (value + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

fn float_of(code: u64) -> f64 {
    f64::from_bits(if code >> 63 == 1 { code & !(1 << 63) } else { !code })
}

/// All distinct values, or `None` if they are more than `distinct_max` or have no codes.
fn distinct_codes(column: &CodedColumn, distinct_max: usize) -> Option<DistinctCodes> {
    if let CodedValues::Dictionary { dictionary, .. } = column.values() {
        let keys = Keys::Dictionary(dictionary.clone());
        return (dictionary.len() <= distinct_max).then_some(DistinctCodes { keys, codes: Vec::new() });
    }
    if matches!(column.values(), CodedValues::Bytes(_)) {
        return None;
    }
    let mut distinct = FxHashSet::default();
    for row in rows_of(column).flatten() {
        distinct.insert(code(column, row));
        if distinct.len() > distinct_max {
            return None;
        }
    }
    let mut codes: Vec<u64> = distinct.into_iter().collect();
    codes.sort_unstable();
    let value = |code: &u64| match column.values() {
        CodedValues::Integers(integers) => Datum::Integer(integers.value(*code)),
        _ => Datum::Float(float_of(*code)),
    };
    Some(DistinctCodes { keys: Keys::Values(codes.iter().map(value).collect()), codes })
}

/// Bins of about as many rows each, by a sample at even distances.
fn binned(column: &CodedColumn, nulls: RoaringBitmap) -> BitmapIndex {
    let step = column.rows().div_ceil(SAMPLE_VALUES).max(1);
    let mut sample: Vec<Datum> = (0..column.rows()).step_by(step).filter_map(|row| column.datum(row)).collect();
    sample.sort_unstable_by(Datum::order);
    let mut ends: Vec<Datum> = (0..BINS).filter_map(|bin| sample.get(bin * sample.len() / BINS)).map(cut).collect();
    ends.dedup_by(|a, b| a.order(b).is_eq());
    // The first bin takes whatever the sample did not see below it.
    match (ends.first_mut(), least(column)) {
        (Some(first), Some(least)) if least.order(first).is_lt() => *first = least,
        (None, Some(least)) => ends.push(least),
        _ => {}
    }
    let bin_codes = bin_codes(column, &ends);
    let bin = |row: usize| match &bin_codes {
        Some(codes) => codes.partition_point(|end| *end <= code(column, row)).saturating_sub(1) as u32,
        None => {
            let value = column.string(row as u32).unwrap_or_default();
            let below = |end: &Datum| matches!(end, Datum::Bytes(end) if **end <= *value);
            ends.partition_point(below).saturating_sub(1) as u32
        }
    };
    let ordinals = rows_of(column).map(|row| row.map(bin));
    let ordinals = EncodedOrdinals::build(Encoding::Range, ends.len(), ordinals);
    BitmapIndex { keys: Keys::Bins(ends), nulls, ordinals }
}

/// The bins' lower ends as codes: the least code that is not below each. `None` if values have no codes.
fn bin_codes(column: &CodedColumn, ends: &[Datum]) -> Option<Vec<u64>> {
    let code = |end: &Datum| match (column.values(), end) {
        (CodedValues::Integers(integers), Datum::Integer(end)) => integers.ceiling(*end),
        (CodedValues::Floats(_), Datum::Float(end)) => Some(float_code(*end)),
        (CodedValues::Dictionary { dictionary, .. }, Datum::Bytes(end)) => {
            Some(dictionary.search(end).unwrap_or_else(|above| above) as u64)
        }
        _ => None,
    };
    ends.iter().map(code).collect()
}

/// A lower end that is as good and not long.
fn cut(end: &Datum) -> Datum {
    match end {
        Datum::Bytes(bytes) if bytes.len() > BIN_END_BYTES_MAX => Datum::Bytes(bytes[..BIN_END_BYTES_MAX].into()),
        Datum::Float(value) => Datum::Float(value + 0.0),
        other => other.clone(),
    }
}

/// A lower bound of all values, of at most [`BIN_END_BYTES_MAX`] bytes.
fn least(column: &CodedColumn) -> Option<Datum> {
    crate::zone_map::ZoneMap::build(column).bounds().map(|bounds| cut(&bounds.min))
}
