//! Indexes over rows that are there.

use crate::conflicts::Conflicts;
use crate::error::{StoreError, StoreResult, corrupted};
use crate::index_key::{Entry, IndexCodec, row_key_of_entry};
use crate::store::RowStore;
use crate::table::Table;
use crate::{Direction, ValueRange};
use rustc_hash::FxHashSet;
use squall_catalog::IndexId;
use squall_types::{SqlError, SqlResult, Value};
use std::sync::Arc;

/// Rows after which a build looks whether it is still wanted.
const ROWS_PER_CHECK: u64 = 4096;

impl RowStore {
    /// Fills indexes of `table`'s definition from the rows that are there, all in one scan. `check` is called every few
    /// thousand rows; its error ends the build. The caller holds the table's exclusive lock and makes the definition
    /// the catalog's afterwards.
    pub fn build_indexes(
        &self,
        table: &Arc<Table>,
        indexes: &[IndexId],
        mut check: impl FnMut() -> SqlResult<()>,
    ) -> StoreResult<()> {
        let codecs = indexes.iter().map(|index| table.index_codec(*index)).collect::<SqlResult<Vec<&IndexCodec>>>()?;
        if codecs.is_empty() {
            return Ok(());
        }
        for codec in &codecs {
            if codec.id == IndexId(0) {
                return Err(SqlError::internal("a primary key is built by copying the table").into());
            }
            // An earlier attempt that was cut short may have left entries.
            self.0.clear_range(&table.data, &codec.full_range())?;
        }
        let mut columns: Vec<usize> =
            codecs.iter().flat_map(|codec| codec.parts.iter().map(|part| part.ordinal)).collect();
        columns.sort_unstable();
        columns.dedup();
        let mut sorter = self.sorter(1);
        let mut cursor = self.read_view().scan(table, &table.range(IndexId(0), ValueRange::ALL)?, Direction::Forward);
        let mut values = vec![Value::Null; table.def().columns.len()];
        let mut entry = Entry::default();
        let mut number = 0u64;
        while let Some(row) = cursor.next_row()? {
            if number.is_multiple_of(ROWS_PER_CHECK) {
                check()?;
            }
            let view = row.view(table);
            for ordinal in &columns {
                values[*ordinal] = view.get_value(*ordinal)?;
            }
            for codec in &codecs {
                codec.replace_entry(&values, &row.key, &mut entry)?;
                sorter.push(&entry.key, &entry.value, number)?;
            }
            number += 1;
        }
        let sorted = sorter.finish()?;
        if codecs.iter().any(|codec| codec.unique)
            && let Some(loser) = Conflicts::find(table, &sorted, false)?.first_loser()
        {
            let row_key = row_key_of_entry(loser.key, loser.value).ok_or_else(|| corrupted(&table.def().name))?;
            let row = self.get(table, &row_key)?.ok_or_else(|| corrupted(&table.def().name))?;
            let codec = table.index_codec(loser.index)?;
            return Err(StoreError::duplicate(table, codec, &row.values(table)?, row_key));
        }
        self.ingest(table, &sorted, &FxHashSet::default())?;
        Ok(())
    }
}
