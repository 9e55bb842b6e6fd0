//! Reads for MATCH from FULLTEXT keys: how often words occur, and the texts of some rows.

use super::key::{storage_index_id, storage_range};
use super::range::EncodedRange;
use parking_lot::Mutex;
use squall_accounting::{GrowingCharge, SessionMemory};
use squall_catalog::{IndexId, TableId};
use squall_row_store::{Direction, ReadView, Table, TableStore};
use squall_statement_context::{FulltextKey, FulltextReader, KillState, StatementContext};
use squall_types::json::terms::TermRange;
use squall_types::{SqlResult, Value};
use std::collections::{HashMap, HashSet};
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

/// Rows of a table that are counted. Beyond this the table's statistics are used: their error does not visibly change a logarithm.
const ROWS_COUNTED_MAX: u64 = 4096;
/// Entries between two looks at the kill flag.
const ENTRIES_PER_CHECK: u64 = 4096;

/// Memory of a row's key in a set beyond its bytes, roughly.
const KEY_BYTES: usize = 48;

/// A table, a position among its indexes, and a range of terms.
type CountedRange = (TableId, usize, Vec<u8>, Option<Vec<u8>>);

/// The FULLTEXT keys of one snapshot.
pub struct SnapshotWords {
    view: ReadView,
    store: Arc<dyn TableStore>,
    kill: Arc<KillState>,
    memory: Arc<SessionMemory>,
    /// The counts so far: several expressions of a statement need the same.
    counts: Mutex<HashMap<CountedRange, u64>>,
}

impl Debug for SnapshotWords {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotWords").field("version", &self.view.version()).finish_non_exhaustive()
    }
}

impl SnapshotWords {
    /// Lets the expressions of a statement count words in a snapshot, for as long as the reader is kept.
    pub fn read_by(context: &StatementContext, view: &ReadView, store: Arc<dyn TableStore>) -> Arc<dyn FulltextReader> {
        let reader: Arc<dyn FulltextReader> = Arc::new(SnapshotWords {
            view: view.clone(),
            store,
            kill: context.kill.clone(),
            memory: context.memory.clone(),
            counts: Mutex::default(),
        });
        context.fulltext.set(&reader);
        reader
    }

    /// Entries of an index from a range, up to a limit.
    fn count(&self, table: &Arc<Table>, index: IndexId, range: &EncodedRange, limit: u64) -> SqlResult<u64> {
        let mut cursor = self.view.scan(table, &storage_range(table, index, range)?, Direction::Forward);
        let mut count = 0;
        while count < limit && cursor.next_entry()?.is_some() {
            count += 1;
            if count.is_multiple_of(ENTRIES_PER_CHECK) {
                self.kill.check()?;
            }
        }
        Ok(count)
    }
}

impl FulltextReader for SnapshotWords {
    fn row_count(&self, key: &FulltextKey) -> SqlResult<u64> {
        let table = self.store.table(&key.table)?;
        let mut cursor =
            self.view.scan(&table, &storage_range(&table, IndexId(0), &EncodedRange::all())?, Direction::Forward);
        let mut count = 0;
        while count <= ROWS_COUNTED_MAX && cursor.next_row()?.is_some() {
            count += 1;
        }
        Ok(match count > ROWS_COUNTED_MAX {
            true => self.store.table_stats(&table).row_count.max(count),
            false => count,
        })
    }

    fn entry_count(&self, key: &FulltextKey, range: &TermRange) -> SqlResult<u64> {
        let counted = (key.table.id, key.position, range.low.clone(), range.high.clone());
        if let Some(count) = self.counts.lock().get(&counted) {
            return Ok(*count);
        }
        let table = self.store.table(&key.table)?;
        let Some(index) = key.table.indexes.get(key.position) else { return Ok(0) };
        let encoded = EncodedRange { low: range.low.clone(), high: range.high.clone() };
        let count = self.count(&table, storage_index_id(index), &encoded, u64::MAX)?;
        self.counts.lock().insert(counted, count);
        Ok(count)
    }

    fn visit_texts(
        &self,
        key: &FulltextKey,
        ranges: &[TermRange],
        visit: &mut dyn FnMut(&[String]) -> SqlResult<()>,
    ) -> SqlResult<()> {
        let table = self.store.table(&key.table)?;
        let Some(index) = key.table.indexes.get(key.position) else { return Ok(()) };
        let ordinals = key.table.index_ordinals(index);
        let mut seen: HashSet<Vec<u8>> = HashSet::new();
        let mut charge = GrowingCharge::new(&self.memory);
        for range in ranges {
            let encoded = EncodedRange { low: range.low.clone(), high: range.high.clone() };
            let range = storage_range(&table, storage_index_id(index), &encoded)?;
            let mut cursor = self.view.scan(&table, &range, Direction::Forward);
            while let Some(row) = cursor.next_row()? {
                if ranges.len() > 1 {
                    if !seen.insert(row.key_bytes().to_vec()) {
                        continue;
                    }
                    charge.grow(row.key_bytes().len() + KEY_BYTES)?;
                }
                let mut texts = Vec::with_capacity(ordinals.len());
                for ordinal in &ordinals {
                    if let Value::String(text) = row.view(&table).get_value(*ordinal)? {
                        texts.push(text);
                    }
                }
                visit(&texts)?;
            }
        }
        Ok(())
    }
}
