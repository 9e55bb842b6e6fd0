//! A test translated into the codes of one column.

use super::mask::Mask;
use super::{KeySet, Test};
use crate::coded::{Code, CodedColumn, CodedValues, Codes, IntegerCodes, with_codes};
use crate::domain::Datum;
use std::ops::{Bound, Range};
use std::sync::Arc;

/// What a row's code has to be for a test to be true.
pub(crate) struct PreparedTest {
    matches: Matches,
    negated: bool,
}

enum Matches {
    /// The row is NULL.
    Null,
    /// No value.
    Nothing,
    /// Codes in `first..=last`.
    Codes { first: u64, last: u64 },
    /// Codes whose entry is true; codes past the end do not match.
    Table(Vec<bool>),
    /// Codes whose bit is set; bit 0 is that of the code `least`, which may be below the least code there is.
    Bits { least: i64, bits: Arc<[u64]> },
    /// Codes that are too far from each other for that.
    List(CodeList),
    /// Whatever the test says of the value itself.
    Values(Test),
}

/// Sets of codes below this are a table, which is looked at faster than bits.
const TABLE_CODES_MAX: u64 = 1 << 16;

/// A set of codes that span no more has a bit for each of them: 1 MiB, which a processor keeps near.
const SPAN_OF_BITS_MAX: u64 = 1 << 23;

/// What it costs to test a value that is no code, in comparisons of codes.
pub(crate) const COST_OF_VALUE: u32 = 100;

/// Below one of this many members a mask is checked member by member.
const SPARSE_SHARE: usize = 32;

impl PreparedTest {
    pub(crate) fn new(test: &Test, negated: bool, column: &CodedColumn) -> PreparedTest {
        let matches = match (test, column.values()) {
            (Test::IsNull, _) => Matches::Null,
            (Test::Range { low, high }, CodedValues::Integers(integers)) => integer_range(integers, low, high),
            (Test::AnyOf(values), CodedValues::Integers(integers)) => {
                let code = |value: &Datum| match value {
                    Datum::Integer(value) => integers.ceiling(*value).filter(|code| integers.value(*code) == *value),
                    _ => None,
                };
                set(values.iter().filter_map(code).collect())
            }
            (Test::Keys(keys), CodedValues::Integers(integers)) => keys_in_codes(keys, integers),
            (Test::Range { low, high }, CodedValues::Dictionary { dictionary, .. }) => {
                let position = |value: &Datum| match value {
                    Datum::Bytes(bytes) => Some(dictionary.search(bytes)),
                    _ => None,
                };
                dictionary_range(dictionary.len(), low, high, position)
            }
            (Test::AnyOf(values), CodedValues::Dictionary { dictionary, .. }) => {
                let code = |value: &Datum| match value {
                    Datum::Bytes(bytes) => dictionary.search(bytes).ok().map(|code| code as u64),
                    _ => None,
                };
                set(values.iter().filter_map(code).collect())
            }
            (Test::Matches(matches), CodedValues::Dictionary { dictionary, .. }) => {
                Matches::Table(dictionary.iter().map(|value| matches(value)).collect())
            }
            (test, _) => Matches::Values(test.clone()),
        };
        PreparedTest { matches, negated }
    }

    /// Keeps the rows of a mask for which the test is true. The mask's row 0 is the first of `rows`.
    pub(crate) fn retain(&self, column: &CodedColumn, rows: Range<usize>, mask: &mut Mask) {
        if mask.count() * SPARSE_SHARE < rows.len() {
            return mask.retain_sparse(|row| self.holds(column, rows.start + row));
        }
        if matches!(self.matches, Matches::Null) {
            return match column.validity() {
                None if self.negated => {}
                None => *mask = Mask::empty(),
                Some(validity) => mask.retain_sparse(|row| validity.is_null(rows.start + row) != self.negated),
            };
        }
        let negated = self.negated;
        match (&self.matches, column.codes()) {
            (Matches::Nothing, _) if !negated => *mask = Mask::empty(),
            (Matches::Nothing, _) => {}
            (Matches::Codes { first, last }, Some(codes)) => with_codes!(codes, codes => {
                retain_range(mask, &codes[rows.clone()], *first, *last, negated)
            }),
            (Matches::Table(table), Some(codes)) => with_codes!(codes, codes => {
                mask.retain_dense(&codes[rows.clone()], |code| {
                    table.get(code.to_u64() as usize).is_some_and(|matches| *matches) != negated
                });
            }),
            (Matches::Bits { least, bits }, Some(codes)) => {
                with_codes!(codes, codes => mask.retain_dense(&codes[rows.clone()], |code| {
                    has_bit(bits, *least, code.to_u64()) != negated
                }));
            }
            (Matches::List(list), Some(codes)) => with_codes!(codes, codes => {
                let codes = &codes[rows.clone()];
                if !negated {
                    mask.retain_dense(codes, |code| list.may_contain(code.to_u64()));
                }
                mask.retain_sparse(|row| list.contains(codes[row].to_u64()) != negated);
            }),
            _ => return mask.retain_sparse(|row| self.holds(column, rows.start + row)),
        }
        if let Some(validity) = column.validity() {
            mask.retain_sparse(|row| validity.is_valid(rows.start + row));
        }
    }

    /// What it costs for a row, in comparisons of codes.
    pub(crate) fn cost(&self) -> u32 {
        match &self.matches {
            Matches::Null | Matches::Nothing | Matches::Codes { .. } => 1,
            Matches::Table(_) => 2,
            Matches::Bits { .. } => 4,
            Matches::List(_) => 8,
            // It reads the value.
            Matches::Values(_) => COST_OF_VALUE,
        }
    }

    /// Whether the test is true of a row.
    pub(crate) fn holds(&self, column: &CodedColumn, row: usize) -> bool {
        if matches!(self.matches, Matches::Null) {
            return column.is_null(row) != self.negated;
        }
        if column.is_null(row) {
            return false;
        }
        let code = || column.codes().map_or(0, |codes| codes.get(row));
        let matches = match &self.matches {
            Matches::Null | Matches::Nothing => false,
            Matches::Codes { first, last } => (*first..=*last).contains(&code()),
            Matches::Table(table) => table.get(code() as usize).is_some_and(|matches| *matches),
            Matches::Bits { least, bits } => has_bit(bits, *least, code()),
            Matches::List(list) => list.contains(code()),
            Matches::Values(test) => value_matches(test, column, row),
        };
        matches != self.negated
    }
}

/// Distinct codes in order, behind a Bloom filter of one bit for each of them (Bloom, 1970): most codes of a column are none of a
/// few, and one look tells.
struct CodeList {
    codes: Vec<u64>,
    filter: Box<[u64]>,
    /// How far a hash is moved to be the number of a bit of the filter.
    shift: u32,
}

impl CodeList {
    /// Bits of the filter for each code: one of sixteen other codes is looked for in vain.
    const BITS_PER_CODE: usize = 16;
    const BITS_MAX: usize = 1 << 23;

    fn new(codes: Vec<u64>) -> CodeList {
        let bits = (codes.len() * Self::BITS_PER_CODE).next_power_of_two().clamp(64, Self::BITS_MAX);
        let shift = 64 - bits.trailing_zeros();
        let mut filter = vec![0u64; bits / 64].into_boxed_slice();
        for code in &codes {
            let bit = hash(*code) >> shift;
            filter[(bit / 64) as usize] |= 1 << (bit % 64);
        }
        CodeList { codes, filter, shift }
    }

    #[inline(always)]
    fn may_contain(&self, code: u64) -> bool {
        let bit = hash(code) >> self.shift;
        self.filter[(bit / 64) as usize] >> (bit % 64) & 1 == 1
    }

    fn contains(&self, code: u64) -> bool {
        self.may_contain(code) && self.codes.binary_search(&code).is_ok()
    }
}

/// Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4).
#[inline(always)]
fn hash(code: u64) -> u64 {
    code.wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// Whether the bit of a code is set.
#[inline(always)]
fn has_bit(bits: &[u64], least: i64, code: u64) -> bool {
    // Modulo 2^64 a code below the least is behind the last bit.
    let at = code.wrapping_sub(least as u64);
    bits.get((at / 64) as usize).is_some_and(|word| word >> (at % 64) & 1 == 1)
}

impl CodedColumn {
    /// The codes of a column that has any.
    pub(crate) fn codes(&self) -> Option<&Codes> {
        match self.values() {
            CodedValues::Integers(integers) => Some(&integers.codes),
            CodedValues::Dictionary { codes, .. } => Some(codes),
            CodedValues::Floats(_) | CodedValues::Bytes(_) => None,
        }
    }
}

/// One subtraction and one comparison per code: `first <= code <= last` if and only if `code - first <= last - first`
/// without sign.
fn retain_range<C: Code>(mask: &mut Mask, codes: &[C], first: u64, last: u64, negated: bool) {
    if first > C::MAX {
        // No code of this width is so great.
        return if negated { mask.retain_dense(codes, |_| true) } else { *mask = Mask::empty() };
    }
    let (first, last) = (C::from_u64(first), C::from_u64(last.min(C::MAX)));
    let span = last.wrapping_minus(first);
    if negated {
        mask.retain_dense(codes, |code| code.wrapping_minus(first) > span);
    } else {
        mask.retain_dense(codes, |code| code.wrapping_minus(first) <= span);
    }
}

fn integer_range(integers: &IntegerCodes, low: &Bound<Datum>, high: &Bound<Datum>) -> Matches {
    let first = match low {
        Bound::Unbounded => Some(0),
        Bound::Included(Datum::Integer(value)) => integers.ceiling(*value),
        Bound::Excluded(Datum::Integer(value)) => value.checked_add(1).and_then(|value| integers.ceiling(value)),
        _ => None,
    };
    let last = match high {
        Bound::Unbounded => Some(u64::MAX),
        Bound::Included(Datum::Integer(value)) => integers.floor(*value),
        Bound::Excluded(Datum::Integer(value)) => value.checked_sub(1).and_then(|value| integers.floor(value)),
        _ => None,
    };
    code_range(first, last)
}

fn dictionary_range(
    count: usize,
    low: &Bound<Datum>,
    high: &Bound<Datum>,
    position: impl Fn(&Datum) -> Option<Result<usize, usize>>,
) -> Matches {
    // Either side as the first code inside and the first code behind.
    let first = match low {
        Bound::Unbounded => Some(0),
        Bound::Included(value) => position(value).map(|at| at.unwrap_or_else(|above| above)),
        Bound::Excluded(value) => position(value).map(|at| at.map_or_else(|above| above, |at| at + 1)),
    };
    let end = match high {
        Bound::Unbounded => Some(count),
        Bound::Included(value) => position(value).map(|at| at.map_or_else(|above| above, |at| at + 1)),
        Bound::Excluded(value) => position(value).map(|at| at.unwrap_or_else(|above| above)),
    };
    code_range(first.map(|first| first as u64), end.and_then(|end| end.checked_sub(1)).map(|last| last as u64))
}

fn code_range(first: Option<u64>, last: Option<u64>) -> Matches {
    match first.zip(last) {
        Some((first, last)) if first <= last => Matches::Codes { first, last },
        _ => Matches::Nothing,
    }
}

fn set(mut codes: Vec<u64>) -> Matches {
    codes.sort_unstable();
    codes.dedup();
    match codes.as_slice() {
        [] => Matches::Nothing,
        [first, .., last] | [first @ last] if last - first == codes.len() as u64 - 1 => {
            Matches::Codes { first: *first, last: *last }
        }
        [.., last] if *last < TABLE_CODES_MAX => {
            let mut table = vec![false; *last as usize + 1];
            codes.iter().for_each(|code| table[*code as usize] = true);
            Matches::Table(table)
        }
        [first, .., last] if last - first < SPAN_OF_BITS_MAX => {
            let mut bits = vec![0u64; ((last - first) / 64) as usize + 1];
            codes.iter().for_each(|code| bits[((code - first) / 64) as usize] |= 1 << ((code - first) % 64));
            Matches::Bits { least: *first as i64, bits: bits.into() }
        }
        _ => Matches::List(CodeList::new(codes)),
    }
}

/// The codes of keys: by their bits if codes are distances, else a set of codes.
fn keys_in_codes(keys: &Arc<KeySet>, integers: &IntegerCodes) -> Matches {
    // The code of the least key; the bits of keys are codes then, too.
    let least = keys.bounds().0 - integers.base;
    if let (0, Some(bits), Ok(least)) = (integers.shift, keys.bits(), i64::try_from(least))
        && integers.greatest >= TABLE_CODES_MAX
    {
        return Matches::Bits { least, bits: bits.clone() };
    }
    let code = |value: i128| {
        integers.ceiling(value).filter(|code| *code <= integers.greatest && integers.value(*code) == value)
    };
    set(keys.iter().filter_map(code).collect())
}

/// A test of a value that has no code.
fn value_matches(test: &Test, column: &CodedColumn, row: usize) -> bool {
    match (test, column.values()) {
        (Test::Matches(matches), _) => column.string(row as u32).is_some_and(|value| matches(value)),
        (Test::Range { low, high }, CodedValues::Bytes(strings)) => {
            let value = strings.value(row);
            let compare = |bound: &Datum| match bound {
                Datum::Bytes(bound) => Some(value.cmp(bound)),
                _ => None,
            };
            in_range(low, high, compare)
        }
        (Test::Range { low, high }, CodedValues::Floats(values)) => {
            let compare = |bound: &Datum| match bound {
                Datum::Float(bound) => values[row].partial_cmp(bound),
                _ => None,
            };
            in_range(low, high, compare)
        }
        (Test::Keys(keys), _) => matches!(column.datum(row), Some(Datum::Integer(value)) if keys.contains(value)),
        (Test::AnyOf(any), _) => column.datum(row).is_some_and(|value| {
            any.iter().any(|other| value.domain() == other.domain() && value.order(other).is_eq())
        }),
        _ => false,
    }
}

fn in_range(low: &Bound<Datum>, high: &Bound<Datum>, compare: impl Fn(&Datum) -> Option<std::cmp::Ordering>) -> bool {
    let above = match low {
        Bound::Unbounded => true,
        Bound::Included(low) => compare(low).is_some_and(|order| order.is_ge()),
        Bound::Excluded(low) => compare(low).is_some_and(|order| order.is_gt()),
    };
    let below = match high {
        Bound::Unbounded => true,
        Bound::Included(high) => compare(high).is_some_and(|order| order.is_le()),
        Bound::Excluded(high) => compare(high).is_some_and(|order| order.is_lt()),
    };
    above && below
}
