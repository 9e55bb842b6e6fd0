//! Encodes values as stored rows and index entries.

use crate::engine::Slice;
use crate::index_key::{Entry, TermScratch};
use crate::sorter::Sorter;
use crate::store::RowStore;
use crate::table::Table;
use crate::table::large_values::{LargeValueLimit, for_each_chunk};
use crate::table::row::{ValueRef, append_borrowed, variable_part};
use crate::table::segment_level::{BlockKeys, SegmentBlock};
use crate::table_part::mark_key;
use squall_types::{SqlResult, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Makes stored rows and index entries of values, for one thread.
pub struct BulkEncoder {
    store: RowStore,
    table: Arc<Table>,
    limit: LargeValueLimit,
    sorter: Sorter,
    /// Whether the rows of a table with a primary key have come in its order so far; `None` if that does not matter.
    in_order: Option<Arc<AtomicBool>>,
    rows: EncodedRows,
    /// Values of key columns; those of others are never looked at.
    key_values: Vec<Value>,
    key_columns: Vec<usize>,
    key: Vec<u8>,
    row: Vec<u8>,
    entry: Entry,
    scratch: TermScratch,
}

/// Rows that one encoder has made one after the other.
#[derive(Default)]
pub struct EncodedRows {
    /// Rows in the form of the level below the store, with their keys, if they come in order and the level takes such.
    block: Option<(Box<dyn SegmentBlock>, BlockKeys)>,
    /// Keys and rows, if they come in the order of their keys; otherwise the encoder's sorter has them.
    bytes: Vec<u8>,
    /// Where each key and each row end in `bytes`.
    ends: Vec<(usize, usize)>,
    /// The rows' numbers, if they have a primary key.
    numbers: Vec<u64>,
    count: u64,
    first_key: Vec<u8>,
    last_key: Vec<u8>,
    descends: bool,
    auto_increment: Option<u64>,
}

impl EncodedRows {
    /// How many.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The memory of the rows, with their keys, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let block = self.block.as_ref().map_or(0, |(block, keys)| block.bytes() + keys.bytes());
        self.bytes.len() + block
    }

    /// Takes out rows in the form of the level below the store.
    pub(super) fn take_block(&mut self) -> Option<(Box<dyn SegmentBlock>, BlockKeys)> {
        self.block.take()
    }

    pub(super) fn first_key(&self) -> &[u8] {
        &self.first_key
    }

    pub(super) fn last_key(&self) -> &[u8] {
        &self.last_key
    }

    /// The rows' numbers, if they have a primary key and are for ingestion.
    pub(super) fn numbers(&self) -> &[u64] {
        &self.numbers
    }

    /// Each key is behind the one before.
    pub(super) fn is_ascending(&self) -> bool {
        !self.descends
    }

    /// The greatest AUTO_INCREMENT value.
    pub(super) fn auto_increment(&self) -> Option<u64> {
        self.auto_increment
    }

    pub(super) fn is_for_ingestion(&self) -> bool {
        !self.ends.is_empty() || self.block.is_some()
    }

    /// The rows go to a sorter instead.
    pub(super) fn sort_into(self, table: &Table, sorter: &mut Sorter) -> SqlResult<()> {
        if let Some((block, keys)) = self.block {
            for ((values, key), number) in block.into_rows()?.iter().zip(keys.iter()).zip(&self.numbers) {
                sorter.push(key, &table.encode_row(key, values)?, *number)?;
            }
            return Ok(());
        }
        let mut start = 0;
        for ((key_end, end), number) in self.ends.iter().zip(&self.numbers) {
            sorter.push(&self.bytes[start..*key_end], &self.bytes[*key_end..*end], *number)?;
            start = *end;
        }
        Ok(())
    }

    /// Keys and rows. Rows share the memory; keys, which the engine keeps some of for long, do not.
    pub(super) fn into_records(self) -> impl Iterator<Item = (Slice, Slice)> {
        let bytes = Slice::from(self.bytes);
        let mut start = 0;
        self.ends.into_iter().map(move |(key_end, end)| {
            let record = (Slice::new(&bytes[start..key_end]), bytes.slice(key_end..end));
            start = end;
            record
        })
    }
}

impl BulkEncoder {
    pub(super) fn new(
        store: RowStore,
        table: Arc<Table>,
        sorter: Sorter,
        in_order: Option<Arc<AtomicBool>>,
    ) -> BulkEncoder {
        let mut key_columns: Vec<usize> = std::iter::once(table.rows_codec())
            .chain(table.secondary_codecs())
            .flat_map(|codec| codec.parts.iter().map(|part| part.ordinal))
            .chain(table.def().auto_increment_ordinal())
            .collect();
        key_columns.sort_unstable();
        key_columns.dedup();
        BulkEncoder {
            key_values: vec![Value::Null; table.def().columns.len()],
            key_columns,
            limit: store.large_value_limit(),
            store,
            table,
            sorter,
            in_order,
            rows: EncodedRows::default(),
            key: Vec::new(),
            row: Vec::new(),
            entry: Entry::default(),
            scratch: TermScratch::default(),
        }
    }

    /// Adds a row: values of all columns in the order of the definition, of the columns' types. `number` tells rows
    /// apart and grows from row to row of the whole load; `row_id` is of those that
    /// [`RowIds`](super::RowIds) gave, likewise.
    pub fn push(&mut self, values: &[ValueRef<'_>], number: u64, row_id: u64) -> SqlResult<()> {
        let table = &self.table;
        for ordinal in &self.key_columns {
            self.key_values[*ordinal] = values[*ordinal].to_value();
        }
        self.key.clear();
        table.rows_codec().push_parts(&self.key_values, &mut self.key)?;
        if table.has_hidden_row_id() {
            self.key.extend_from_slice(&row_id.to_be_bytes());
        }
        let layout = &table.current_projection().layout;
        // Chunks are sorted, also where rows come in their order: they lie behind all rows.
        let large = table.large_values(self.limit, |ordinal| values.get(ordinal).copied())?;
        for (ordinal, reference) in &large {
            let value = variable_part(values[*ordinal]).unwrap_or_default();
            let place = (&self.key[..], table.def().columns[*ordinal].id);
            let sorter = &mut self.sorter;
            for_each_chunk(place, (value, *reference), table.packs_rows(), |key, chunk| {
                sorter.push(&key, &chunk, number)
            })?;
        }
        // The rows between two calls of `take_rows` stay together.
        let comes_in_order = match &self.in_order {
            Some(in_order) if self.rows.count == 0 => in_order.load(Ordering::Acquire),
            Some(_) => self.rows.is_for_ingestion(),
            None => false,
        };
        if comes_in_order {
            self.rows.numbers.push(number);
        }
        let comes_in_order = comes_in_order || table.is_loaded_in_order();
        if comes_in_order && self.rows.count == 0 && table.secondary_codecs().is_empty() {
            let block = table.segment_source().and_then(|source| source.block(table));
            self.rows.block = block.map(|block| (block, BlockKeys::default()));
        }
        if let Some((block, keys)) = &mut self.rows.block {
            block.push(values)?;
            keys.push(&self.key);
        } else if comes_in_order {
            let rows = &mut self.rows;
            rows.bytes.extend_from_slice(&self.key);
            let key_end = rows.bytes.len();
            append_borrowed(layout, &self.key, values, &large, &mut rows.bytes)?;
            self.store.pack_row_of_load(table, &self.key, &mut rows.bytes, key_end)?;
            rows.ends.push((key_end, rows.bytes.len()));
        } else {
            self.row.clear();
            append_borrowed(layout, &self.key, values, &large, &mut self.row)?;
            self.store.pack_row_of_load(table, &self.key, &mut self.row, 0)?;
            self.sorter.push(&self.key, &self.row, number)?;
        }
        for codec in table.secondary_codecs() {
            if codec.has_terms() {
                codec.for_each_term_entry(&self.key_values, &self.key, &mut self.scratch, |entry| {
                    self.sorter.push(&entry.key, &entry.value, number)
                })?;
                continue;
            }
            if codec.is_copy {
                self.sorter.push(&mark_key(codec.id, &self.key), &[], number)?;
                continue;
            }
            codec.replace_entry(&self.key_values, &self.key, &mut self.entry)?;
            self.sorter.push(&self.entry.key, &self.entry.value, number)?;
        }
        let rows = &mut self.rows;
        if rows.count == 0 {
            rows.first_key.clone_from(&self.key);
        } else {
            rows.descends |= rows.last_key >= self.key;
        }
        std::mem::swap(&mut rows.last_key, &mut self.key);
        rows.count += 1;
        if let Some(value) = table.auto_increment_of(&self.key_values) {
            rows.auto_increment = rows.auto_increment.max(Some(value));
        }
        Ok(())
    }

    /// Makes sure that AUTO_INCREMENT values of the rows since the last [`BulkEncoder::take_rows`] are not given again,
    /// which otherwise happens when the rows are written.
    pub fn observe_auto_increment(&self) {
        if let Some(greatest) = self.rows.auto_increment {
            self.table.data.logical.observe_auto_increment(greatest);
        }
    }

    /// The rows since the last time.
    pub fn take_rows(&mut self) -> EncodedRows {
        let room = (self.rows.bytes.len(), self.rows.ends.len());
        let next = EncodedRows {
            bytes: Vec::with_capacity(room.0 + room.0 / 8),
            ends: Vec::with_capacity(room.1 + room.1 / 8),
            numbers: Vec::with_capacity(self.rows.numbers.len()),
            ..EncodedRows::default()
        };
        std::mem::replace(&mut self.rows, next)
    }

    pub(super) fn into_sorter(self) -> Sorter {
        self.sorter
    }
}
