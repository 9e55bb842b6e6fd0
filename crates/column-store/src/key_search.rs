//! Finds the rows of a key in a segment whose rows are in the key's order.

use crate::coded::{Code, CodedColumn, CodedValues, Codes, with_codes};
use crate::domain::Datum;
use crate::error::Result;
use crate::predicate::ColumnSource;
use crate::zone_map::{ZONE_ROWS, ZoneMap};
use std::ops::Range;

/// The rows whose first key columns have the given values, each a column's ordinal and a value. Rows have to be in the order of
/// these columns, as values compare here: for strings that is the order of their bytes, and a table whose key has another
/// collation has to be searched by a condition.
///
/// Zone maps tell without a read which zones may have the first column's value. If none has, nothing is read.
///
/// # Errors
/// If a column cannot be read.
pub fn rows_of_key(source: &dyn ColumnSource, key: &[(usize, Datum)]) -> Result<Range<usize>> {
    let mut rows = 0..source.rows();
    if let Some((column, value)) = key.first()
        && let Some(zones) = source.zone_map(*column)
    {
        let zones = possible_zones(zones, value);
        rows = (zones.start * ZONE_ROWS).min(rows.end)..(zones.end * ZONE_ROWS).min(rows.end);
    }
    for (column, value) in key {
        if rows.is_empty() {
            break;
        }
        rows = source.column(*column)?.equal_range(rows, value);
    }
    Ok(rows)
}

/// The zones whose bounds admit a value. As rows are in order they follow one another.
fn possible_zones(zones: &ZoneMap, value: &Datum) -> Range<usize> {
    let admits = |zone: usize| {
        let bounds = zones.zones[zone].bounds.as_ref();
        bounds.is_some_and(|bounds| bounds.min.order(value).is_le() && bounds.max.order(value).is_ge())
    };
    let start = (0..zones.zones.len()).find(|zone| admits(*zone)).unwrap_or(zones.zones.len());
    let end = (start..zones.zones.len()).find(|zone| !admits(*zone)).unwrap_or(zones.zones.len());
    start..end
}

impl CodedColumn {
    /// The rows of a range that have a value. The range's rows have to be in the order of this column and not NULL.
    fn equal_range(&self, rows: Range<usize>, value: &Datum) -> Range<usize> {
        let nothing = rows.start..rows.start;
        match (self.values(), value) {
            (CodedValues::Integers(integers), Datum::Integer(value)) => {
                match integers.ceiling(*value).filter(|code| integers.value(*code) == *value) {
                    Some(code) => code_range(&integers.codes, rows, code),
                    None => nothing,
                }
            }
            (CodedValues::Dictionary { dictionary, codes }, Datum::Bytes(value)) => match dictionary.search(value) {
                Ok(code) => code_range(codes, rows, code as u64),
                Err(_) => nothing,
            },
            (CodedValues::Bytes(strings), Datum::Bytes(value)) => {
                let start = partition(rows.clone(), |row| strings.value(row) < &**value);
                start..partition(start..rows.end, |row| strings.value(row) == &**value)
            }
            (CodedValues::Floats(values), Datum::Float(value)) => {
                let start = partition(rows.clone(), |row| values[row] < *value);
                start..partition(start..rows.end, |row| values[row] == *value)
            }
            _ => nothing,
        }
    }
}

fn code_range(codes: &Codes, rows: Range<usize>, code: u64) -> Range<usize> {
    with_codes!(codes, codes => {
        let start = partition(rows.clone(), |row| codes[row].to_u64() < code);
        start..partition(start..rows.end, |row| codes[row].to_u64() == code)
    })
}

/// The first row for which `before` does not hold, by binary search.
fn partition(rows: Range<usize>, before: impl Fn(usize) -> bool) -> usize {
    let Range { mut start, mut end } = rows;
    while start < end {
        let middle = start + (end - start) / 2;
        if before(middle) { start = middle + 1 } else { end = middle }
    }
    start
}
