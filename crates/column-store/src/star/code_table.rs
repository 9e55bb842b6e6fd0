//! Key maps rewritten for the codes of a column, so that a look-up is one load.

use super::key_map::{DenseCodes, GroupCode, KeyMap, KeyTable};
use crate::coded::IntegerCodes;
use parking_lot::Mutex;
use std::sync::Arc;

/// Columns whose codes need more entries are looked up by key.
const ENTRIES_MAX: u64 = 1 << 21;

/// The group code of each code of a column, by the widths that group codes have. There is a power of two of entries, at least
/// one more than the greatest code: the low bits of any code are inside, which spares a comparison.
#[derive(Debug)]
pub(super) enum CodeTable {
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
}

/// The tables that a query has made so far: segments often have the same least key, and then share one.
#[derive(Default)]
pub(super) struct CodeTables {
    made: Mutex<Vec<(Shape, Arc<CodeTable>)>>,
}

/// What a table depends on.
#[derive(PartialEq, Eq)]
struct Shape {
    join: usize,
    base: i128,
    shift: u32,
    entries: usize,
}

impl CodeTables {
    /// The table of a query's join for a column; `None` if it would be too large.
    pub(super) fn get(&self, join: usize, keys: &KeyMap, column: &IntegerCodes) -> Option<Arc<CodeTable>> {
        if column.greatest >= ENTRIES_MAX {
            return None;
        }
        let entries = (column.greatest as usize + 1).next_power_of_two();
        let shape = Shape { join, base: column.base, shift: column.shift, entries };
        let mut made = self.made.lock();
        if let Some((_, table)) = made.iter().find(|(other, _)| *other == shape) {
            return Some(table.clone());
        }
        let table = Arc::new(CodeTable::new(keys, column, entries));
        made.push((shape, table.clone()));
        Some(table)
    }
}

impl CodeTable {
    fn new(keys: &KeyMap, column: &IntegerCodes, entries: usize) -> CodeTable {
        match &keys.table {
            KeyTable::Dense { base, codes: DenseCodes::U8(codes) } => {
                CodeTable::U8(fill(column, entries, dense_pairs(*base, codes)))
            }
            KeyTable::Dense { base, codes: DenseCodes::U16(codes) } => {
                CodeTable::U16(fill(column, entries, dense_pairs(*base, codes)))
            }
            KeyTable::Dense { base, codes: DenseCodes::U32(codes) } => {
                CodeTable::U32(fill(column, entries, dense_pairs(*base, codes)))
            }
            KeyTable::Hash(codes) => {
                CodeTable::U32(fill(column, entries, codes.iter().map(|(key, code)| (i128::from(*key), *code))))
            }
        }
    }
}

fn dense_pairs<T: GroupCode>(base: i64, codes: &[T]) -> impl Iterator<Item = (i128, T)> {
    let keys = i128::from(base)..;
    keys.zip(codes).filter(|(_, code)| **code != T::REJECTED).map(|(key, code)| (key, *code))
}

/// Puts the pairs whose keys have a code where that is.
fn fill<T: GroupCode>(column: &IntegerCodes, entries: usize, pairs: impl Iterator<Item = (i128, T)>) -> Vec<T> {
    let mut table = vec![T::REJECTED; entries];
    for (key, group) in pairs {
        let distance = key - column.base;
        let code = distance >> column.shift;
        // Up to the table's end, not this column's greatest code: another column may share the table.
        if distance >= 0
            && code << column.shift == distance
            && let Some(entry) = usize::try_from(code).ok().and_then(|code| table.get_mut(code))
        {
            *entry = group;
        }
    }
    table
}
