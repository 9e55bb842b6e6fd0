//! Rows of a scan whose keys are found before the rows are read: by entries of terms, or by keys of a join.

use super::cost::COST_LOOKUP;
use super::key::{index_prefix, storage_index_id};
use super::path::TableEstimate;
use super::range::after_prefix;
use crate::env::StatementEnv;
use crate::runtime_filters::JoinKeys;
use rustc_hash::FxHashSet;
use squall_accounting::GrowingCharge;
use squall_catalog::IndexDef;
use squall_row_store::{Cursor, Direction, KeyRange, Row, Table};
use squall_types::SqlResult;
use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

/// Rows read between two looks at the size of a batch.
pub(super) const CHUNK_ROWS: usize = 64;

/// Rows whose keys are known.
pub(super) struct CandidateRows {
    /// The keys of those that are not read yet, the last one first.
    keys: Vec<Box<[u8]>>,
    /// The table in the order of its keys, where so many of its rows are named that reading it is faster than looking each of them up.
    scan: Option<Cursor>,
    #[expect(dead_code, reason = "given back when the keys go")]
    charge: GrowingCharge,
}

/// More keys of a join are not looked up.
const JOIN_KEYS_MAX: usize = 1 << 16;
/// A look-up costs as much as reading this many rows one after the other, at least.
const ROWS_PER_LOOKUP: u64 = 16;
/// Entries that are read between two looks at KILL.
pub(super) const ENTRIES_PER_CHECK: usize = 1024;

/// Keys of the rows found so far, where one may be found again.
pub(super) struct SeenRows {
    keys: FxHashSet<Box<[u8]>>,
    charge: GrowingCharge,
}

impl SeenRows {
    /// The memory of a key beside its bytes, roughly.
    const OVERHEAD_BYTES: usize = 32;

    pub fn new(env: &StatementEnv) -> SeenRows {
        SeenRows { keys: FxHashSet::default(), charge: GrowingCharge::new(&env.context.memory) }
    }

    /// Whether a row is met for the first time.
    pub fn is_first(&mut self, key: &[u8]) -> SqlResult<bool> {
        if self.keys.contains(key) {
            return Ok(false);
        }
        self.charge.grow(key.len() + Self::OVERHEAD_BYTES)?;
        Ok(self.keys.insert(key.into()))
    }
}

impl CandidateRows {
    /// Some rows of a table.
    pub fn new(env: &StatementEnv, table: &Arc<Table>, seen: SeenRows) -> SqlResult<CandidateRows> {
        let mut keys: Vec<Box<[u8]>> = seen.keys.into_iter().collect();
        keys.sort_unstable_by(|left, right| right.cmp(left));
        let rows = env.store.table_stats(table).row_count;
        let is_dense = keys.len() as u64 * ROWS_PER_LOOKUP > rows;
        let scan = match (keys.last(), keys.first()) {
            (Some(first), Some(last)) if is_dense => {
                let range = KeyRange { start: Bound::Included(first.to_vec()), end: Bound::Included(last.to_vec()) };
                Some(env.view()?.scan(table, &range, Direction::Forward))
            }
            _ => None,
        };
        Ok(CandidateRows { keys, scan, charge: seen.charge })
    }

    /// The rows of some ranges of a table whose entries in an index lie in others.
    pub fn of_entries(
        env: &StatementEnv,
        table: &Arc<Table>,
        index: &IndexDef,
        entries: &[KeyRange],
        ranges: &VecDeque<KeyRange>,
    ) -> SqlResult<CandidateRows> {
        let mut seen = SeenRows::new(env);
        let mut read = 0;
        for entries in entries {
            let mut cursor = env.view()?.scan(table, entries, Direction::Forward);
            while let Some(entry) = cursor.next_entry()? {
                let key = if index.primary { entry.key().to_vec() } else { entry.row_key(table)? };
                if ranges.iter().any(|range| range.contains(&key)) {
                    seen.is_first(&key)?;
                }
                read += 1;
                if read % ENTRIES_PER_CHECK == 0 {
                    env.context.kill.check()?;
                }
            }
        }
        CandidateRows::new(env, table, seen)
    }

    /// Reads the next rows, until there are this many of them or of their bytes.
    pub fn read(
        &mut self,
        env: &StatementEnv,
        table: &Arc<Table>,
        (rows_max, bytes_max): (usize, usize),
        rows: &mut Vec<Row>,
    ) -> SqlResult<()> {
        let mut bytes = 0;
        while rows.len() < rows_max && bytes < bytes_max && !self.keys.is_empty() {
            let known = rows.len();
            match &mut self.scan {
                None => rows.extend(self.keys.pop().map(|key| env.view()?.get(table, &key)).transpose()?.flatten()),
                Some(cursor) => {
                    let missing = (rows_max - known).min(CHUNK_ROWS);
                    let goes_on = cursor.next_batch(missing, rows)?;
                    let mut kept = known;
                    for at in known..rows.len() {
                        while self.keys.pop_if(|key| **key < *rows[at].key_bytes()).is_some() {}
                        if self.keys.pop_if(|key| **key == *rows[at].key_bytes()).is_some() {
                            rows.swap(kept, at);
                            kept += 1;
                        }
                    }
                    rows.truncate(kept);
                    if !goes_on {
                        self.keys.clear();
                    }
                    env.context.kill.check()?;
                }
            }
            bytes += rows[known..].iter().map(Row::size_bytes).sum::<usize>();
        }
        Ok(())
    }
}

/// The ranges of an index's entries that have keys of a join in its first column, in their order; `None` if the keys are not known, or so many
/// that all rows are read as fast.
pub(super) fn ranges_of_join_keys(
    env: &StatementEnv,
    table: &Table,
    index: &IndexDef,
    keys: &JoinKeys,
) -> SqlResult<Option<Vec<KeyRange>>> {
    let estimate = TableEstimate::of(&*env.store, table);
    let of_each = estimate.rows_per_key(&*env.store, table, index, 1);
    let most = estimate.rows / (table.traits().lookup_cost + of_each * COST_LOOKUP);
    let Some(values) = keys.few(JOIN_KEYS_MAX.min(most as usize)) else { return Ok(None) };
    let id = storage_index_id(index);
    let prefix = index_prefix(table, id)?;
    // What the column cannot have no row has.
    let parts = values.iter().filter_map(|value| table.encode_part(id, 0, value).ok());
    let range = |part: Vec<u8>| {
        let start = [prefix.as_slice(), &part].concat();
        let end = after_prefix(&start).map_or(Bound::Unbounded, Bound::Excluded);
        KeyRange { start: Bound::Included(start), end }
    };
    let mut parts: Vec<Vec<u8>> = parts.collect();
    parts.sort_unstable();
    Ok(Some(parts.into_iter().map(range).collect()))
}
