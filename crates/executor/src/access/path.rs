//! Chooses the access path of a table; nothing is executed here.

use super::cost::{COST_ENTRY, COST_MATCH, COST_RANGE, COST_ROW};
pub use super::cost::{COST_LOCK, COST_LOCK_SHORT, COST_LOOKUP};
use super::key::{IndexKey, index_prefix, storage_index_id};
use super::partitions::pruned_partitions;
use super::predicate::Predicate;
use super::range::{EncodedRange, IndexRanges, index_ranges};
use super::terms;
use squall_catalog::{IndexDef, IndexId, PartitionSet, TableDef};
use squall_row_store::{Direction, ReadView, Table, TableStore, ValueRange, key_between};
use squall_types::{SqlResult, Value};
use std::sync::Arc;

/// The share of rows that a condition is taken to keep where the path does not tell.
const SHARE_KEPT: f64 = 0.1;
/// The share of rows that a one-sided comparison is taken to accept when nothing better is known.
const SHARE_OF_RANGE: f64 = 0.33;

/// Index hints of one table reference, as positions in the table's list of indexes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexHints {
    /// USE INDEX: nothing else may be used.
    pub only: Option<Vec<usize>>,
    /// IGNORE INDEX.
    pub ignored: Vec<usize>,
    /// FORCE INDEX: a table scan is the last resort.
    pub forced: bool,
}

impl IndexHints {
    /// Whether an index may be used.
    pub fn allows(&self, position: usize) -> bool {
        !self.ignored.contains(&position) && self.only.as_ref().is_none_or(|only| only.contains(&position))
    }
}

/// A way to read a table.
#[derive(Clone, Debug, PartialEq)]
pub struct AccessPath {
    /// Position in the table's list of indexes; `None` is the hidden order of a table without a primary key.
    pub index: Option<usize>,
    /// The number that the store knows the index by.
    pub index_id: IndexId,
    /// Ranges of it; `None` is the whole of it.
    pub ranges: Option<IndexRanges>,
    /// Whether the index holds every column that is wanted.
    pub covering: bool,
    /// Rows that are read, estimated.
    pub rows: f64,
    /// Estimated cost.
    pub cost: f64,
    /// Whether at most one row can be found.
    pub unique: bool,
    /// Positions of the indexes that the condition could have used.
    pub possible: Vec<usize>,
    /// The partitions that can have rows which satisfy the condition.
    pub partitions: Option<Arc<PartitionSet>>,
}

impl AccessPath {
    /// Columns that have one value in all rows of the path.
    pub fn constant_columns(&self, def: &TableDef) -> Vec<usize> {
        let (Some(index), Some(ranges)) = (self.index_def(def), &self.ranges) else { return Vec::new() };
        let parts = def.index_ordinals(index).into_iter().zip(&index.parts).take(ranges.parts_constant);
        parts.filter(|(_, part)| part.prefix.is_none()).map(|(column, _)| column).collect()
    }

    /// How many rows of a table have to be read in some other order until `wanted` of those that the path finds have been met.
    pub fn rows_read_in_order(&self, wanted: f64, table_rows: f64, is_filtered: bool) -> f64 {
        let kept = match (is_filtered, self.is_full()) {
            (false, _) => 1.0,
            (true, true) => SHARE_KEPT,
            (true, false) => (self.rows / table_rows.max(1.0)).clamp(1e-6, 1.0),
        };
        (wanted / kept).min(table_rows)
    }

    /// Cost of one of its rows.
    pub fn cost_per_row(&self) -> f64 {
        if self.rows > 0.0 { self.cost / self.rows } else { COST_LOOKUP }
    }

    /// The index.
    pub fn index_def<'a>(&self, def: &'a TableDef) -> Option<&'a IndexDef> {
        self.index.and_then(|position| def.indexes.get(position))
    }

    /// The index that reads are counted by; none where all rows are read in the table's own order.
    pub fn used_index(&self, def: &TableDef) -> Option<IndexId> {
        let index = self.index_def(def).filter(|index| !(index.primary && self.is_full()));
        index.map(|index| index.id)
    }

    /// The ranges to read, in key order.
    pub fn encoded_ranges(&self) -> Vec<EncodedRange> {
        match &self.ranges {
            Some(ranges) => ranges.ranges.clone(),
            None => vec![EncodedRange::all()],
        }
    }

    /// Whether a row may be found more than once.
    pub fn repeats(&self) -> bool {
        self.ranges.as_ref().is_some_and(|ranges| ranges.repeats)
    }

    /// Whether the whole index or table is read.
    pub fn is_full(&self) -> bool {
        self.ranges.is_none()
    }
}

/// Statistics of a table's size.
#[derive(Clone, Debug)]
pub struct TableEstimate {
    /// Rows.
    pub rows: f64,
}

impl TableEstimate {
    /// The store's statistics.
    pub fn of(store: &dyn TableStore, table: &Table) -> TableEstimate {
        TableEstimate { rows: store.table_stats(table).row_count as f64 }
    }

    /// Rows that have one value each in the first `parts` parts of an index.
    pub fn rows_per_key(&self, store: &dyn TableStore, table: &Table, index: &IndexDef, parts: usize) -> f64 {
        if parts == 0 {
            return self.rows;
        }
        if (index.unique || index.primary) && parts >= index.parts.len() {
            return 1.0;
        }
        let sampled = store.distinct_prefixes(table, storage_index_id(index));
        let distinct = sampled.and_then(|counts| counts.get(parts - 1).copied()).map(|distinct| distinct as f64);
        let distinct = distinct.filter(|distinct| *distinct >= 1.0).unwrap_or_else(|| {
            if index.unique || index.primary {
                self.rows.powf(parts as f64 / index.parts.len() as f64)
            } else {
                // Ten rows a key, and fewer when more parts are known.
                self.rows / 10f64.powf(1.0 / parts as f64)
            }
        });
        (self.rows / distinct.max(1.0)).max(1.0)
    }
}

/// Chooses the cheapest way to read the rows that satisfy `predicate`, of which `columns` are wanted. `lock_cost` is that of one row's
/// lock.
pub fn choose(
    store: &dyn TableStore,
    view: &ReadView,
    table: &Arc<Table>,
    predicate: &Predicate,
    columns: &[usize],
    hints: &IndexHints,
    lock_cost: f64,
) -> SqlResult<AccessPath> {
    let partitions = pruned_partitions(table, predicate);
    let table = &partitions.as_ref().map_or_else(|| table.clone(), |set| table.restricted(set));
    let def = table.def();
    let estimate = TableEstimate::of(store, table);
    let matched = terms::matched_indexes(predicate);
    let match_cost =
        |but: Option<usize>| COST_MATCH * matched.iter().filter(|index| Some(**index) != but).count() as f64;
    let mut best = full_scan(store, table, &estimate, columns, hints);
    best.cost += best.rows * (lock_cost + match_cost(None));
    let mut possible = Vec::new();
    for (position, index) in def.indexes.iter().enumerate() {
        if index.is_fulltext() && !index.invisible && hints.allows(position) {
            let Some((ranges, rows)) = terms::best(view, table, position, predicate, estimate.rows)? else { continue };
            possible.push(position);
            let covering = covers_by_row_key(table, columns);
            let mut cost = rows * if covering { COST_ENTRY } else { COST_LOOKUP };
            if lock_cost == 0.0 {
                // Many rows are read with those between them.
                cost = cost.min(rows * COST_ENTRY + estimate.rows * COST_ROW);
            }
            cost += rows * (lock_cost + match_cost(Some(position))) + ranges.ranges.len() as f64 * COST_RANGE;
            if !best.unique && (cost < best.cost || (best.is_full() && hints.forced)) {
                let index_id = storage_index_id(index);
                let (index, ranges, possible) = (Some(position), Some(ranges), Vec::new());
                best = AccessPath {
                    index,
                    index_id,
                    ranges,
                    covering,
                    rows,
                    cost,
                    unique: false,
                    possible,
                    partitions: None,
                };
            }
            continue;
        }
        let by_elements = index.is_multi_valued() && !index.invisible;
        if !(is_usable(index) || by_elements) || !hints.allows(position) {
            continue;
        }
        let key = IndexKey::new(table, index);
        let Some(ranges) = index_ranges(&key, predicate) else { continue };
        possible.push(position);
        let rows = match by_elements {
            true => terms::rows_found(view, table, index, &ranges, estimate.rows)?,
            false => estimate_rows(store, view, table, index, &ranges, &estimate)?,
        };
        let covering = !index.primary && covers(table, index, columns);
        let per_row = match (index.primary, covering) {
            (true, _) => COST_ROW,
            (false, true) => COST_ENTRY,
            (false, false) => COST_LOOKUP,
        };
        let cost = rows * (per_row + lock_cost + match_cost(None)) + ranges.ranges.len() as f64 * COST_RANGE;
        let all_parts = ranges.points && ranges.ranges.len() <= 1 && ranges.parts_used == index.parts.len();
        let unique = all_parts && index.unique | index.primary && !has_null_point(def, index, predicate);
        let better = match (best.unique, unique) {
            (true, false) => false,
            (false, true) => true,
            // A forced index beats any table scan.
            _ if best.is_full() && hints.forced => true,
            _ => cost < best.cost,
        };
        if better {
            best = AccessPath {
                index: Some(position),
                index_id: key.id(),
                ranges: Some(ranges),
                covering,
                rows,
                cost,
                unique,
                possible: Vec::new(),
                partitions: None,
            };
        }
    }
    best.possible = possible;
    best.partitions = partitions.map(Arc::new);
    Ok(best)
}

/// A path over the whole of an index, for its order.
pub fn whole_index(store: &dyn TableStore, table: &Table, position: usize, columns: &[usize]) -> Option<AccessPath> {
    let index = table.def().indexes.get(position).filter(|index| is_usable(index))?;
    let rows = TableEstimate::of(store, table).rows;
    let covering = !index.primary && covers(table, index, columns);
    let per_row = if index.primary {
        COST_ROW
    } else if covering {
        COST_ENTRY
    } else {
        COST_LOOKUP
    };
    Some(AccessPath {
        index: Some(position),
        index_id: storage_index_id(index),
        ranges: None,
        covering,
        rows,
        cost: rows * per_row,
        unique: false,
        possible: Vec::new(),
        partitions: None,
    })
}

/// Whether the planner may read through an index in the order of its columns' values.
pub fn is_usable(index: &IndexDef) -> bool {
    !index.invisible && !index.is_bitmap() && !index.files_by_terms() && !index.has_no_order()
}

/// Whether an index gives back all of `columns` by itself.
pub fn covers(table: &Table, index: &IndexDef, columns: &[usize]) -> bool {
    if !table.is_covering(storage_index_id(index)) {
        return false;
    }
    let parts = table.def().index_ordinals(index);
    columns.iter().all(|column| parts.contains(column))
}

/// Whether the key of a row gives back all of `columns`: what an entry of an index of terms has beside the term.
fn covers_by_row_key(table: &Table, columns: &[usize]) -> bool {
    let key = table.def().primary_key().map_or_else(Vec::new, |key| table.def().index_ordinals(key));
    columns.is_empty() || (table.is_covering(IndexId(0)) && columns.iter().all(|column| key.contains(column)))
}

/// The table in its own order, or the smallest index that holds all that is wanted.
fn full_scan(
    store: &dyn TableStore,
    table: &Table,
    estimate: &TableEstimate,
    columns: &[usize],
    hints: &IndexHints,
) -> AccessPath {
    let def = table.def();
    let table_order = AccessPath {
        index: def.primary_key().map(|_| 0),
        index_id: IndexId(0),
        ranges: None,
        covering: false,
        rows: estimate.rows,
        cost: estimate.rows * COST_ROW,
        unique: false,
        possible: Vec::new(),
        partitions: None,
    };
    let narrowest = def
        .indexes
        .iter()
        .enumerate()
        .filter(|(position, index)| {
            !index.primary && is_usable(index) && hints.allows(*position) && covers(table, index, columns)
        })
        .min_by_key(|(_, index)| index.parts.len());
    match narrowest.and_then(|(position, _)| whole_index(store, table, position, columns)) {
        Some(path) if path.cost < table_order.cost => path,
        _ => table_order,
    }
}

/// Whether a unique index was restricted by IS NULL, which many rows may satisfy.
fn has_null_point(def: &TableDef, index: &IndexDef, predicate: &Predicate) -> bool {
    let columns = def.index_ordinals(index);
    let is_null = |predicate: &Predicate| match predicate {
        Predicate::IsNull(column) => columns.contains(column),
        Predicate::Compare { column, value: Value::Null, .. } => columns.contains(column),
        _ => false,
    };
    match predicate {
        Predicate::And(parts) => parts.iter().any(is_null),
        one => is_null(one),
    }
}

fn estimate_rows(
    store: &dyn TableStore,
    view: &ReadView,
    table: &Arc<Table>,
    index: &IndexDef,
    ranges: &IndexRanges,
    estimate: &TableEstimate,
) -> SqlResult<f64> {
    let count = ranges.ranges.len() as f64;
    if ranges.points {
        return Ok((count * estimate.rows_per_key(store, table, index, index.parts.len())).min(estimate.rows));
    }
    if ranges.parts_constant == ranges.parts_used {
        return Ok((count * estimate.rows_per_key(store, table, index, ranges.parts_used)).min(estimate.rows));
    }
    if ranges.parts_constant > 0 {
        let rows = estimate.rows_per_key(store, table, index, ranges.parts_constant) * SHARE_OF_RANGE;
        return Ok(rows.max(1.0).min(estimate.rows));
    }
    if ranges.parts_used > 1 && count > 1.0 {
        let rows = count * estimate.rows_per_key(store, table, index, ranges.parts_used - 1);
        return Ok(rows.min(estimate.rows));
    }
    let share = share_of_keys(view, table, storage_index_id(index), &ranges.ranges)?;
    Ok((estimate.rows * share.unwrap_or(SHARE_OF_RANGE)).max(1.0))
}

/// The share of an index's keys that lie in the ranges, taking them to be spread evenly between the first and the last.
fn share_of_keys(
    view: &ReadView,
    table: &Arc<Table>,
    index: IndexId,
    ranges: &[EncodedRange],
) -> SqlResult<Option<f64>> {
    let Some(space) = KeySpace::of(view, table, index)? else { return Ok(None) };
    let share: f64 = ranges
        .iter()
        .map(|range| {
            let low = space.position(&range.low);
            let high = range.high.as_ref().map_or(1.0, |high| space.position(high));
            (high - low).max(0.0)
        })
        .sum();
    Ok(Some(share.clamp(0.0, 1.0)))
}

/// Where an index's keys begin and end.
pub struct KeySpace {
    first: Vec<u8>,
    last: Vec<u8>,
}

impl KeySpace {
    /// Looks at both ends of an index; `None` if it is empty.
    pub fn of(view: &ReadView, table: &Arc<Table>, index: IndexId) -> SqlResult<Option<KeySpace>> {
        let prefix = index_prefix(table, index)?.len();
        let range = table.range(index, ValueRange::ALL)?;
        let end = |direction| -> SqlResult<Option<Vec<u8>>> {
            let entry = view.scan(table, &range, direction).next_entry()?;
            Ok(entry.map(|entry| entry.key().get(prefix..).unwrap_or_default().to_vec()))
        };
        let (Some(first), Some(last)) = (end(Direction::Forward)?, end(Direction::Backward)?) else { return Ok(None) };
        Ok((first < last).then_some(KeySpace { first, last }))
    }

    /// The part of the space that a range covers.
    pub fn within(self, range: &EncodedRange) -> KeySpace {
        let last = range.high.clone().map_or(self.last.clone(), |high| high.min(self.last));
        KeySpace { first: self.first.max(range.low.clone()), last }
    }

    /// Where a key lies between the first (0) and the last (1).
    fn position(&self, key: &[u8]) -> f64 {
        let common = self.first.iter().zip(&self.last).take_while(|(a, b)| a == b).count();
        if key < self.first.as_slice() {
            return 0.0;
        }
        if key > self.last.as_slice() {
            return 1.0;
        }
        let number = |key: &[u8]| {
            let tail = key.get(common..).unwrap_or_default();
            let bytes: [u8; 8] = std::array::from_fn(|at| tail.get(at).copied().unwrap_or(0));
            u64::from_be_bytes(bytes) as f64
        };
        let (first, last) = (number(&self.first), number(&self.last));
        if last > first { ((number(key) - first) / (last - first)).clamp(0.0, 1.0) } else { 0.0 }
    }

    /// Keys that cut the space into `pieces` of about the same width.
    pub fn cuts(&self, pieces: usize) -> Vec<Vec<u8>> {
        let cut = |piece| key_between(&self.first, &self.last, piece, pieces as u64);
        let mut cuts: Vec<Vec<u8>> = (1..pieces as u64).map(cut).collect();
        cuts.dedup();
        cuts
    }
}
