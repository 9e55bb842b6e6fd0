//! CHECK TABLE: compares the indexes of a table with its rows.

use crate::bulk::collect_entries;
use crate::engine::Slice;
use crate::index_key::{IndexCodec, KeyRange, LARGE_VALUES, index_range};
use crate::read_view::ReadView;
use crate::sorter::{Record, Sorted};
use crate::store::RowStore;
use crate::table::Table;
use crate::table::large_values::chunk_key;
use crate::{Direction, ValueRange};
use squall_catalog::IndexId;
use squall_types::SqlResult;
use std::cmp::Ordering;
use std::ops::Bound;
use std::sync::Arc;

/// A difference between an index and the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexFault {
    /// The index's name.
    pub index: String,
    /// Entries that it has.
    pub entries: u64,
    /// Entries that the rows give it.
    pub expected: u64,
    /// The first entry that a row gives and the index has not, or has for another row.
    pub missing: Option<String>,
    /// The first entry that no row gives.
    pub surplus: Option<String>,
}

impl RowStore {
    /// Compares every index with the rows, both ways, in one snapshot: each row has its entries, and each entry its row. So have chunks
    /// of values that lie out of rows. Reads every row as a whole, which fails on a damaged one. `check` is called every few thousand rows; its error ends the work.
    pub fn check_indexes(
        &self,
        table: &Arc<Table>,
        check: impl Fn(u64) -> SqlResult<()> + Sync,
    ) -> SqlResult<Vec<IndexFault>> {
        let view = self.read_view();
        let rows = table.range(IndexId(0), ValueRange::ALL)?;
        let mut faults = Vec::from_iter(check_rows(table, &view, &rows)?);
        // A copy by column and bitmaps have no entries of rows: their segments are checked by themselves.
        let files_rows = |codec: &&IndexCodec| {
            let index = table.def().indexes.iter().find(|index| index.id == codec.id);
            index.is_some_and(|index| !index.has_no_entries() && !index.is_bitmap())
        };
        let codecs: Vec<&IndexCodec> = table.secondary_codecs().iter().filter(files_rows).collect();
        if codecs.is_empty() {
            return Ok(faults);
        }
        let mut sorter = self.sorter(1);
        collect_entries(table, &codecs, &view, &rows, 0, &mut sorter, &check)?;
        let sorted = sorter.finish()?;
        for codec in codecs {
            check(0)?;
            faults.extend(compare(table, &view, codec, &sorted)?);
        }
        Ok(faults)
    }

    /// Puts a record into a table's files, or takes one out, past all that keeps its indexes as its rows are: what finds damage is tested
    /// with it.
    #[doc(hidden)]
    pub fn damage(&self, table: &Table, key: &[u8], value: Option<&[u8]>) -> SqlResult<()> {
        let mut batch = crate::batch::Batch::default();
        match value {
            Some(value) => batch.insert(&table.data.keyspace, key, value),
            None => batch.remove(&table.data.keyspace, key),
        }
        self.committer().write(batch, true)?;
        self.committer().advance_to_newest();
        Ok(())
    }
}

/// Reads all rows, and compares the chunks of their values with those that are there.
fn check_rows(table: &Arc<Table>, view: &ReadView, rows: &KeyRange) -> SqlResult<Option<IndexFault>> {
    let mut fault =
        IndexFault { index: "values out of rows".into(), entries: 0, expected: 0, missing: None, surplus: None };
    let mut cursor = view.scan(table, rows, Direction::Forward);
    // Chunks have the order of their rows.
    let mut chunks = view.scan(table, &index_range(LARGE_VALUES), Direction::Forward);
    let mut chunk = chunks.next_pair()?;
    while let Some(row) = cursor.next_row()? {
        // A chunk that is missing fails the row.
        row.values(table)?;
        let mut references = row.references(table)?;
        references.sort_unstable_by_key(|(_, column, _)| *column);
        for (_, column, reference) in references {
            for number in 0..reference.chunks() {
                fault.expected += 1;
                let key = chunk_key(&row.key, column, number);
                while let Some((found, _)) = chunk.take_if(|(found, _)| found[..] <= key[..]) {
                    fault.entries += 1;
                    if found[..] < key[..] {
                        fault.surplus.get_or_insert_with(|| key_text(&found));
                    }
                    chunk = chunks.next_pair()?;
                }
            }
        }
    }
    while let Some((found, _)) = chunk {
        fault.entries += 1;
        fault.surplus.get_or_insert_with(|| key_text(&found));
        chunk = chunks.next_pair()?;
    }
    Ok((fault.entries != fault.expected || fault.surplus.is_some()).then_some(fault))
}

/// The key of a chunk as hexadecimal digits.
fn key_text(key: &[u8]) -> String {
    key.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compares the entries of an index with the entries that the rows give, both in the order of their keys.
fn compare(table: &Arc<Table>, view: &ReadView, codec: &IndexCodec, sorted: &Sorted) -> SqlResult<Option<IndexFault>> {
    let range: KeyRange = codec.full_range();
    let (from, to) = (bound(&range.start), bound(&range.end));
    let mut expected = sorted.within(from, to)?;
    let mut entries = view.scan(table, &range, Direction::Forward);
    let name = table.def().indexes.iter().find(|index| index.id == codec.id).map(|index| index.name.clone());
    let mut fault =
        IndexFault { index: name.unwrap_or_default(), entries: 0, expected: 0, missing: None, surplus: None };
    let (mut record, mut entry): (Record, Option<(Slice, Slice)>) = (Record::default(), entries.next_pair()?);
    let mut has_record = expected.next_into(&mut record)?;
    let text = |key: &[u8]| table.describe_key(key).map_or_else(String::new, |(_, text)| text);
    loop {
        let order = match (&entry, has_record) {
            (None, false) => break,
            (Some(_), false) => Ordering::Less,
            (None, true) => Ordering::Greater,
            (Some((key, _)), true) => key[..].cmp(&record.key),
        };
        if let Some((key, value)) = entry.as_ref().filter(|_| order != Ordering::Greater) {
            fault.entries += 1;
            if order == Ordering::Less {
                fault.surplus.get_or_insert_with(|| text(key));
            } else if value[..] != record.value[..] {
                fault.missing.get_or_insert_with(|| text(&record.key));
            }
        }
        if order != Ordering::Less {
            fault.expected += 1;
            if order == Ordering::Greater {
                fault.missing.get_or_insert_with(|| text(&record.key));
            }
        }
        if order != Ordering::Greater {
            entry = entries.next_pair()?;
        }
        if order != Ordering::Less {
            has_record = expected.next_into(&mut record)?;
        }
    }
    Ok((fault.missing.is_some() || fault.surplus.is_some()).then_some(fault))
}

fn bound(bound: &Bound<Vec<u8>>) -> Option<&[u8]> {
    match bound {
        Bound::Included(key) | Bound::Excluded(key) => Some(key),
        Bound::Unbounded => None,
    }
}
