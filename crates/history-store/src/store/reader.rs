//! Reads snapshots in the order of time.

use crate::block::{Columns, read_block, unpack};
use crate::codec::Damaged;
use crate::column::Column;
use crate::error::Result;
use crate::store::slice::{BlockPlace, Change, Slice};
use rustc_hash::FxHashMap;
use squall_types::Value;
use std::sync::Arc;

type Decoded<T> = std::result::Result<T, Damaged>;

/// When a snapshot was taken, and of which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Microseconds since 1970 UTC.
    pub ts_micros: i64,
    /// `server_id` at that time.
    pub server_id: u32,
}

/// What a table held, or some rows of it: columns in the order in which they were asked for.
#[derive(Clone, Debug, Default)]
pub struct TableRows {
    /// How many rows.
    pub rows: usize,
    /// `None` for a column that the table did not have.
    columns: Vec<Option<Column>>,
    /// Where each row is in the columns; they are all there, in that order, if it is `None`.
    places: Option<Vec<u32>>,
}

impl TableRows {
    /// This many rows, with their columns.
    pub fn new(rows: usize, columns: Vec<Option<Column>>) -> TableRows {
        TableRows { rows, columns, places: None }
    }

    /// Some of them, by their numbers.
    pub fn some(mut self, places: Vec<u32>) -> TableRows {
        self.rows = places.len();
        self.places = Some(places);
        self
    }

    /// A value, NULL where there is none.
    pub fn value(&self, row: usize, column: usize) -> &Value {
        let row = match &self.places {
            Some(places) => places.get(row).map_or(usize::MAX, |place| *place as usize),
            None => row,
        };
        self.columns.get(column).and_then(Option::as_ref).map_or(&Value::Null, |column| column.get(row))
    }
}

/// Which rows of a table are wanted. It depends on nothing but their own values in some columns: where those are as they were it is not asked again, and
/// where it holds for no row the other columns are not read.
#[derive(Clone, Copy)]
pub struct Condition<'c> {
    /// The columns, all of which are requested.
    pub columns: &'c [&'c str],
    /// The rows for which it holds, in ascending order, given rows of which these columns are there.
    pub holding: &'c dyn Fn(&Arc<TableRows>) -> Vec<u32>,
}

impl std::fmt::Debug for Condition<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Condition").field("columns", &self.columns).finish_non_exhaustive()
    }
}

/// Goes through the snapshots of a range of time.
#[derive(Debug)]
pub struct Reader {
    /// In the order in which they are read.
    slices: Vec<Arc<Slice>>,
    from_micros: i64,
    to_micros: i64,
    backward: bool,
    /// The slice that is read, and the snapshot of it that was gone to; `None` before its first.
    slice: usize,
    at: Option<usize>,
    /// As a whole, and with a condition.
    tables: [FxHashMap<String, ReadTable>; 2],
}

/// A table as it was read last.
#[derive(Debug)]
struct ReadTable {
    wanted: Vec<String>,
    /// Those of the condition.
    tested: Vec<String>,
    /// The slice, and where its columns are there.
    slice: usize,
    ordinals: Vec<Option<usize>>,
    /// By the slice's columns: whether they are wanted, and tested.
    mask: Vec<bool>,
    tested_mask: Vec<bool>,
    key: Option<KeyBlock>,
    current: Option<(BlockPlace, Arc<TableRows>)>,
    nothing: Arc<TableRows>,
}

/// A key block, and what has been made of it.
#[derive(Debug)]
struct KeyBlock {
    place: BlockPlace,
    raw: Vec<u8>,
    rows: usize,
    /// Those that have been wanted so far.
    columns: Columns,
    /// The rows for which the condition holds, if that has been asked.
    places: Option<Vec<u32>>,
}

impl KeyBlock {
    fn new(place: BlockPlace, raw: Vec<u8>) -> Decoded<KeyBlock> {
        let (rows, columns) = read_block(&raw, &[], None)?;
        Ok(KeyBlock { place, raw, rows, columns, places: None })
    }

    /// The columns, among them those that are marked.
    fn columns(&mut self, mask: &[bool]) -> Decoded<&Columns> {
        self.columns.resize(mask.len(), None);
        let missing: Vec<bool> =
            mask.iter().zip(&self.columns).map(|(wanted, known)| *wanted && known.is_none()).collect();
        if missing.contains(&true) {
            let (_, columns) = read_block(&self.raw, &missing, None)?;
            merge(&mut self.columns, columns);
        }
        Ok(&self.columns)
    }
}

/// Adds columns that are not there yet.
fn merge(columns: &mut Columns, more: Columns) {
    for (column, more) in columns.iter_mut().zip(more) {
        *column = column.take().or(more);
    }
}

impl Reader {
    pub(crate) fn new(mut slices: Vec<Arc<Slice>>, from_micros: i64, to_micros: i64, backward: bool) -> Reader {
        if backward {
            slices.reverse();
        }
        Reader { slices, from_micros, to_micros, backward, slice: 0, at: None, tables: Default::default() }
    }

    /// Goes to the next snapshot.
    ///
    /// # Errors
    /// When a file cannot be read.
    #[expect(clippy::should_implement_trait, reason = "the reader is asked for tables between the steps")]
    pub fn next(&mut self) -> Result<Option<Moment>> {
        while let Some(slice) = self.slices.get(self.slice) {
            let index = slice.index()?;
            let (from, to) = (self.from_micros, self.to_micros);
            let next = match (self.at, self.backward) {
                (Some(at), false) => Some(at + 1),
                (Some(at), true) => at.checked_sub(1),
                (None, false) => Some(index.snapshots.partition_point(|snapshot| snapshot.ts_micros < from)),
                (None, true) => index.snapshots.partition_point(|snapshot| snapshot.ts_micros <= to).checked_sub(1),
            };
            match next.and_then(|next| Some((next, index.snapshots.get(next)?))) {
                Some((_, snapshot)) if !(from..=to).contains(&snapshot.ts_micros) => return Ok(None),
                Some((next, snapshot)) => {
                    self.at = Some(next);
                    return Ok(Some(Moment { ts_micros: snapshot.ts_micros, server_id: snapshot.server_id }));
                }
                None => {
                    drop(index);
                    self.slice += 1;
                    self.at = None;
                }
            }
        }
        Ok(None)
    }

    /// What a table held at the snapshot that [`Reader::next`] has gone to; the same `Arc` as long as it has not changed. A table
    /// is asked for the same columns each time.
    ///
    /// # Errors
    /// When a file cannot be read, or is damaged.
    pub fn table(&mut self, name: &str, columns: &[&str]) -> Result<Arc<TableRows>> {
        self.find(name, columns, None)
    }

    /// The rows of it that meet a condition, which is the same each time. Snapshots that differ from others in other columns than
    /// those of the condition are not read if it holds for none of their rows.
    ///
    /// # Errors
    /// As above.
    pub fn table_where(&mut self, name: &str, columns: &[&str], condition: Condition<'_>) -> Result<Arc<TableRows>> {
        self.find(name, columns, Some(condition))
    }

    fn find(&mut self, name: &str, columns: &[&str], condition: Option<Condition<'_>>) -> Result<Arc<TableRows>> {
        let (Some(slice), Some(snapshot)) = (self.slices.get(self.slice), self.at) else { return Ok(Arc::default()) };
        // With a condition it is another table.
        let tables = &mut self.tables[usize::from(condition.is_some())];
        if !tables.contains_key(name) {
            let tested = condition.map_or(&[][..], |condition| condition.columns);
            tables.insert(name.to_string(), ReadTable::new(columns, tested));
        }
        let Some(table) = tables.get_mut(name) else { return Ok(Arc::default()) };
        let index = slice.index()?;
        let Some(indexed) = index.table(name) else { return Ok(table.nothing.clone()) };
        let Some(change) = indexed.change_at(snapshot).copied() else { return Ok(table.nothing.clone()) };
        if table.slice != self.slice {
            table.enter(self.slice, &indexed.columns);
        }
        if let Some((block, rows)) = &table.current
            && *block == change.block
        {
            return Ok(rows.clone());
        }
        let is_as_key = condition.is_some() && indexed.is_as_key(&change, &table.tested_mask);
        drop(index);
        let found = table.read(slice, &change, condition, is_as_key)?;
        table.current = Some((change.block, found.clone()));
        Ok(found)
    }
}

impl ReadTable {
    fn new(columns: &[&str], tested: &[&str]) -> ReadTable {
        let names = |columns: &[&str]| columns.iter().map(|name| (*name).to_string()).collect();
        ReadTable {
            wanted: names(columns),
            tested: names(tested),
            slice: usize::MAX,
            ordinals: Vec::new(),
            mask: Vec::new(),
            tested_mask: Vec::new(),
            key: None,
            current: None,
            nothing: Arc::new(TableRows::new(0, vec![None; columns.len()])),
        }
    }

    /// Another slice begins, which may have other columns.
    fn enter(&mut self, slice: usize, columns: &[String]) {
        let ordinal = |name: &String| columns.iter().position(|column| column.eq_ignore_ascii_case(name));
        let mask = |ordinals: &[Option<usize>]| (0..columns.len()).map(|at| ordinals.contains(&Some(at))).collect();
        self.ordinals = self.wanted.iter().map(ordinal).collect();
        self.mask = mask(&self.ordinals);
        self.tested_mask = mask(&self.tested.iter().map(ordinal).collect::<Vec<_>>());
        (self.slice, self.key, self.current) = (slice, None, None);
    }

    /// Reads the block of a change; with `is_as_key` the condition holds for the rows for which it does in the key block.
    fn read(
        &mut self,
        slice: &Slice,
        change: &Change,
        condition: Option<Condition<'_>>,
        is_as_key: bool,
    ) -> Result<Arc<TableRows>> {
        let damaged = |Damaged| slice.damaged();
        let unpacked = |place: BlockPlace| unpack(&slice.read(place)?).map_err(damaged);
        if self.key.as_ref().is_none_or(|key| key.place != change.key) {
            self.key = Some(KeyBlock::new(change.key, unpacked(change.key)?).map_err(damaged)?);
        }
        let Some(key) = &mut self.key else { return Ok(self.nothing.clone()) };
        let is_key = change.block == change.key;
        let mut places = None;
        if let Some(condition) = condition.filter(|_| is_key || is_as_key) {
            if key.places.is_none() {
                let rows = key.rows;
                let tested = key.columns(&self.tested_mask).map_err(damaged)?;
                key.places = Some((condition.holding)(&Arc::new(shown(&self.ordinals, rows, tested))));
            }
            places = key.places.clone();
            if places.as_ref().is_some_and(Vec::is_empty) {
                return Ok(self.nothing.clone());
            }
        }
        let (rows, columns) = if is_key {
            (key.rows, key.columns(&self.mask).map_err(damaged)?.clone())
        } else {
            let raw = unpacked(change.block)?;
            let mut tested = Columns::new();
            if let Some(condition) = condition.filter(|_| places.is_none()) {
                let before = key.columns(&self.tested_mask).map_err(damaged)?;
                let (rows, columns) = read_block(&raw, &self.tested_mask, Some(before)).map_err(damaged)?;
                let holding = (condition.holding)(&Arc::new(shown(&self.ordinals, rows, &columns)));
                if holding.is_empty() {
                    return Ok(self.nothing.clone());
                }
                (tested, places) = (columns, Some(holding));
            }
            let missing: Vec<bool> =
                (0..self.mask.len()).map(|at| self.mask[at] && !tested.get(at).is_some_and(Option::is_some)).collect();
            let before = key.columns(&self.mask).map_err(damaged)?;
            let (rows, mut columns) = read_block(&raw, &missing, Some(before)).map_err(damaged)?;
            merge(&mut columns, tested);
            (rows, columns)
        };
        let found = shown(&self.ordinals, rows, &columns);
        Ok(Arc::new(match places {
            Some(places) => found.some(places),
            None => found,
        }))
    }
}

/// A block's columns in the order in which they were asked for.
fn shown(ordinals: &[Option<usize>], rows: usize, columns: &Columns) -> TableRows {
    let column = |ordinal: &Option<usize>| ordinal.and_then(|ordinal| columns.get(ordinal)?.clone());
    TableRows::new(rows, ordinals.iter().map(column).collect())
}
