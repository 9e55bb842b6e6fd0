//! Lists for GROUP_CONCAT: the values of the matching rows, as text with a separator.

use crate::coded::{Code, CodedColumn, CodedValues, IntegerCodes, with_codes};
use crate::error::{Error, Result};
use crate::parallel::map_in_parallel;
use crate::predicate::{ColumnSource, Condition, Mask, Prepared, zone_verdicts};
use crate::zone_map::zone_rows;
use roaring::RoaringBitmap;
use std::ops::Range;

/// How a list is made.
#[derive(Clone, Copy, Debug)]
pub struct ListOptions<'a> {
    /// What stands between two values.
    pub separator: &'a [u8],
    /// Up to as many threads work, the caller's among them.
    pub threads: usize,
}

/// Appends the values of a column, of the rows for which a condition is true and which are not deleted, in row order. NULLs are
/// left out, as GROUP_CONCAT does. Whole numbers are written in decimal, strings as they are. Returns the number of values.
///
/// The caller bounds memory by asking segment by segment: a segment's list is at most 21 bytes per row, or the bytes of
/// its strings, and separators.
///
/// # Errors
/// If a column cannot be read; [`Error::Invalid`] for columns of floating point, whose text depends on their type.
pub fn append_list(
    source: &(dyn ColumnSource + Sync),
    condition: &Condition,
    deleted: Option<&RoaringBitmap>,
    column: usize,
    options: ListOptions<'_>,
    out: &mut Vec<u8>,
) -> Result<u64> {
    let column = source.column(column)?;
    if matches!(column.values(), CodedValues::Floats(_)) {
        return Err(Error::invalid("a list of floating-point numbers is not made from codes"));
    }
    let prepared = Prepared::new(condition, source)?;
    let zones: Vec<(bool, bool)> = zone_verdicts(condition, source);
    let parts = map_in_parallel(options.threads, zones, |zone, (some, all)| {
        let mut part = (0, Vec::new());
        if !some {
            return part;
        }
        let rows = zone_rows(zone, source.rows());
        let mut mask = Mask::empty();
        mask.set_first(rows.len());
        if let Some(deleted) = deleted {
            mask.and_not(&Mask::of_bitmap(deleted, zone));
        }
        if !all {
            prepared.retain(rows.clone(), &mut mask);
        }
        part.0 = append_rows(&column, rows, &mask, options.separator, &mut part.1);
        part
    });
    out.reserve(parts.iter().map(|(_, text)| text.len()).sum());
    // Each part ends with a separator; the list does not.
    parts.iter().for_each(|(_, text)| out.extend_from_slice(text));
    let values = parts.iter().map(|(values, _)| values).sum();
    if values > 0 {
        out.truncate(out.len() - options.separator.len());
    }
    Ok(values)
}

/// Appends the values of a zone's rows, each followed by the separator.
fn append_rows(column: &CodedColumn, rows: Range<usize>, mask: &Mask, separator: &[u8], out: &mut Vec<u8>) -> u64 {
    // Most keys have seven digits or fewer; a list of longer ones grows once more.
    out.reserve(mask.count() * 8);
    let present = mask.members().map(|row| rows.start + row).filter(|row| !column.is_null(*row));
    match column.values() {
        CodedValues::Integers(integers) => with_codes!(&integers.codes, codes => {
            let codes = present.map(|row| codes[row].to_u64());
            match (separator, small(integers)) {
                ([separator], Some(base)) => {
                    append_small(codes.map(|code| base + (code << integers.shift)), *separator, out)
                }
                _ => append_any(codes.map(|code| integers.value(code)), separator, out),
            }
        }),
        _ => {
            let mut count = 0;
            for value in present.filter_map(|row| column.string(row as u32)) {
                out.extend_from_slice(value);
                out.extend_from_slice(separator);
                count += 1;
            }
            count
        }
    }
}

/// The base of a column that has only numbers from 0 to 99,999,999.
fn small(integers: &IntegerCodes) -> Option<u64> {
    let in_range = integers.base >= 0 && integers.value(integers.greatest) < SMALL_END;
    in_range.then_some(integers.base as u64)
}

/// Bytes that are gathered before they are appended.
const BUFFER_BYTES: usize = 1 << 12;

/// One more than the greatest number of eight digits.
const SMALL_END: i128 = 100_000_000;

/// Numbers of up to eight digits with a separator of one byte, the usual list of keys: all digits at once in one 64-bit word, each
/// step splitting every part of it in two (after Mula's and Khuong's), then the leading zeros shifted out.
fn append_small(values: impl Iterator<Item = u64>, separator: u8, out: &mut Vec<u8>) -> u64 {
    let (mut count, mut buffer, mut end) = (0, [0; BUFFER_BYTES], 0);
    for value in values {
        let (high, low) = (value / 10_000, value % 10_000);
        // Two numbers of four digits, in 32 bits each, the higher digits at the lower address.
        let fours = high | low << 32;
        let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
        // Four numbers of two digits, in 16 bits each.
        let twos = hundreds | (fours - hundreds * 100) << 16;
        let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
        // Eight digits, a byte each.
        let digits = tens | (twos - tens * 10) << 8;
        // Bytes of leading zeros, but for the last digit.
        let zeros = ((digits | 1 << 56).trailing_zeros() / 8) as usize;
        let text = (digits | 0x3030_3030_3030_3030) >> (8 * zeros);
        let mut bytes = [0; 9];
        bytes[..8].copy_from_slice(&text.to_le_bytes());
        bytes[8 - zeros] = separator;
        // Nine bytes always, and the next number goes over those that are not this one's.
        if end > BUFFER_BYTES - bytes.len() {
            out.extend_from_slice(&buffer[..end]);
            end = 0;
        }
        buffer[end..end + bytes.len()].copy_from_slice(&bytes);
        end += bytes.len() - zeros;
        count += 1;
    }
    out.extend_from_slice(&buffer[..end]);
    count
}

fn append_any(values: impl Iterator<Item = i128>, separator: &[u8], out: &mut Vec<u8>) -> u64 {
    let mut count = 0;
    for value in values {
        // An i128 has 39 digits and a sign.
        let mut text = [0; 40];
        let mut at = text.len();
        let mut left = value.unsigned_abs();
        loop {
            at -= 1;
            text[at] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        if value < 0 {
            at -= 1;
            text[at] = b'-';
        }
        out.extend_from_slice(&text[at..]);
        out.extend_from_slice(separator);
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_and_every_step() {
        let near =
            (0..8).flat_map(|power| [10u64.pow(power).saturating_sub(1), 10u64.pow(power), 10u64.pow(power) + 1]);
        let values: Vec<u64> = near.chain((0..SMALL_END as u64).step_by(9_973)).chain([99_999_999]).collect();
        let mut list = Vec::new();
        assert_eq!(append_small(values.iter().copied(), b',', &mut list), values.len() as u64);
        let expected: String = values.iter().map(|value| format!("{value},")).collect();
        assert_eq!(String::from_utf8(list).unwrap(), expected);
    }
}
