//! Reading snapshots in the order of time.

use crate::block::{Columns, read_block, unpack};
use crate::column::Column;
use crate::error::Result;
use crate::slice::{BlockPlace, Slice};
use rustc_hash::FxHashMap;
use squall_types::Value;
use std::sync::Arc;

/// When a snapshot was taken, and of which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Microseconds since 1970 UTC.
    pub ts_micros: i64,
    /// `server_id` at that time.
    pub server_id: u32,
}

/// What a table held: columns in the order in which they were asked for.
#[derive(Clone, Debug, Default)]
pub struct TableRows {
    /// How many rows.
    pub rows: usize,
    /// `None` for a column that the table did not have.
    pub columns: Vec<Option<Column>>,
}

impl TableRows {
    /// A value, NULL where there is none.
    pub fn value(&self, row: usize, column: usize) -> &Value {
        self.columns.get(column).and_then(Option::as_ref).map_or(&Value::Null, |column| column.get(row))
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
    tables: FxHashMap<String, ReadTable>,
}

/// A table as it was read last.
#[derive(Debug)]
struct ReadTable {
    wanted: Vec<String>,
    /// The slice, and where its columns are there.
    slice: usize,
    ordinals: Vec<Option<usize>>,
    mask: Vec<bool>,
    key: Option<(BlockPlace, Columns)>,
    current: Option<(BlockPlace, Arc<TableRows>)>,
}

impl Reader {
    pub(crate) fn new(mut slices: Vec<Arc<Slice>>, from_micros: i64, to_micros: i64, backward: bool) -> Reader {
        if backward {
            slices.reverse();
        }
        Reader { slices, from_micros, to_micros, backward, slice: 0, at: None, tables: FxHashMap::default() }
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
        let Some(slice) = self.slices.get(self.slice) else { return Ok(Arc::default()) };
        let Some(snapshot) = self.at else { return Ok(Arc::default()) };
        if !self.tables.contains_key(name) {
            self.tables.insert(name.to_string(), ReadTable::new(columns));
        }
        let Some(table) = self.tables.get_mut(name) else { return Ok(Arc::default()) };
        let index = slice.index()?;
        let Some(indexed) = index.table(name) else { return Ok(table.nothing()) };
        let Some(change) = indexed.change_at(snapshot).copied() else { return Ok(table.nothing()) };
        if table.slice != self.slice {
            table.enter(self.slice, &indexed.columns);
        }
        drop(index);
        if let Some((block, rows)) = &table.current
            && *block == change.block
        {
            return Ok(rows.clone());
        }
        let read = |place: BlockPlace| unpack(&slice.read(place)?).map_err(|_| slice.damaged());
        if change.block != change.key && table.key.as_ref().is_none_or(|(place, _)| *place != change.key) {
            let raw = read(change.key)?;
            let (_, columns) = read_block(&raw, &table.mask, None).map_err(|_| slice.damaged())?;
            table.key = Some((change.key, columns));
        }
        let raw = read(change.block)?;
        let key = table.key.as_ref().filter(|_| change.block != change.key).map(|(_, columns)| columns);
        let (rows, decoded) = read_block(&raw, &table.mask, key).map_err(|_| slice.damaged())?;
        let column = |ordinal: &Option<usize>| ordinal.and_then(|ordinal| decoded.get(ordinal)?.clone());
        let found = Arc::new(TableRows { rows, columns: table.ordinals.iter().map(column).collect() });
        if change.block == change.key {
            table.key = Some((change.key, decoded));
        }
        table.current = Some((change.block, found.clone()));
        Ok(found)
    }
}

impl ReadTable {
    fn new(columns: &[&str]) -> ReadTable {
        ReadTable {
            wanted: columns.iter().map(|name| (*name).to_string()).collect(),
            slice: usize::MAX,
            ordinals: Vec::new(),
            mask: Vec::new(),
            key: None,
            current: None,
        }
    }

    /// Another slice begins, which may have other columns.
    fn enter(&mut self, slice: usize, columns: &[String]) {
        let ordinal = |name: &String| columns.iter().position(|column| column.eq_ignore_ascii_case(name));
        self.ordinals = self.wanted.iter().map(ordinal).collect();
        self.mask = (0..columns.len()).map(|at| self.ordinals.contains(&Some(at))).collect();
        (self.slice, self.key, self.current) = (slice, None, None);
    }

    fn nothing(&self) -> Arc<TableRows> {
        Arc::new(TableRows { rows: 0, columns: vec![None; self.wanted.len()] })
    }
}
