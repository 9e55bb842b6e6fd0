//! Evaluates dimensions that have coded columns themselves.

use super::expression::integer_codes;
use super::key_map::KeyMap;
use crate::coded::CodedColumn;
use crate::domain::Datum;
use crate::error::{Error, Result};
use crate::predicate::{ColumnSource, Condition, matching_rows};
use roaring::RoaringBitmap;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// A dimension that a star query joins to.
#[derive(Clone, Debug)]
pub struct Dimension {
    /// Its rows' keys, and the groups they belong to.
    pub keys: Arc<KeyMap>,
    /// For each group code the values of the group columns.
    pub groups: Vec<Vec<Option<Datum>>>,
}

/// Makes the map of a dimension: of the rows that match a condition, the key column, and a group code for each combination of
/// values in the group columns. Codes are given in the order in which rows have the combinations, so there are no more than
/// the answer can have.
///
/// # Errors
/// If a column cannot be read; [`Error::Invalid`] if keys are not whole numbers of 64 bits or a group column has no codes.
pub fn dimension(
    source: &dyn ColumnSource,
    condition: &Condition,
    deleted: Option<&RoaringBitmap>,
    key: usize,
    groups: &[usize],
) -> Result<Dimension> {
    let rows = matching_rows(condition, source, deleted)?;
    let key = source.column(key)?;
    let integers = integer_codes(&key)?;
    let columns: Vec<Arc<CodedColumn>> = groups.iter().map(|column| source.column(*column)).collect::<Result<_>>()?;
    let mut found = GroupCodes::new(&columns)?;
    let mut pairs = Vec::with_capacity(rows.len() as usize);
    for row in &rows {
        let row = row as usize;
        if key.is_null(row) {
            continue;
        }
        let value = i64::try_from(integers.value(integers.codes.get(row)))
            .map_err(|_| Error::invalid("a star query joins by keys of 64 bits with sign only"))?;
        pairs.push((value, found.code(row)));
    }
    let keys = KeyMap::new(&pairs, (found.first_rows.len() as u32).max(1))?;
    let values = |row: &usize| columns.iter().map(|column| column.datum(*row)).collect();
    Ok(Dimension { keys: Arc::new(keys), groups: found.first_rows.iter().map(values).collect() })
}

/// Gives each combination of codes a number.
struct GroupCodes<'a> {
    columns: &'a [Arc<CodedColumn>],
    numbers: FxHashMap<u128, u32>,
    /// A row that has the combination, by number.
    first_rows: Vec<usize>,
    last: Option<(u128, u32)>,
}

/// Bits of a code in a combination, one value being kept for NULL.
const CODE_BITS: u32 = 32;

impl<'a> GroupCodes<'a> {
    fn new(columns: &'a [Arc<CodedColumn>]) -> Result<GroupCodes<'a>> {
        if columns.len() > (u128::BITS / CODE_BITS) as usize {
            return Err(Error::invalid("a dimension is grouped by four columns at most"));
        }
        for column in columns {
            let bits = column.codes().map(|codes| codes.bits());
            if bits.is_none_or(|bits| bits >= CODE_BITS) {
                return Err(Error::invalid("a star query does not group by a column without narrow codes"));
            }
        }
        Ok(GroupCodes { columns, numbers: FxHashMap::default(), first_rows: Vec::new(), last: None })
    }

    fn code(&mut self, row: usize) -> u32 {
        let combination = self.columns.iter().fold(0u128, |combination, column| {
            let code = column.codes().map_or(0, |codes| codes.get(row));
            let code = if column.is_null(row) { u64::from(u32::MAX) } else { code };
            combination << CODE_BITS | u128::from(code)
        });
        // Rows with the same combination often follow one another.
        if let Some((last, number)) = self.last
            && last == combination
        {
            return number;
        }
        let next = self.first_rows.len() as u32;
        let number = *self.numbers.entry(combination).or_insert(next);
        if number == next {
            self.first_rows.push(row);
        }
        self.last = Some((combination, number));
        number
    }
}
