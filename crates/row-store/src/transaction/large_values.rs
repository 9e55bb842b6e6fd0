//! Rows with their large values.

use super::Transaction;
use super::entry_change::EntryChange;
use crate::engine::Slice;
use crate::error::{StoreResult, engine_error};
use crate::table::Table;
use crate::table::large_values::{Reference, chunk_key, for_each_chunk};
use crate::table::row::{Row, ValueRef, encode_row, variable_part};
use squall_catalog::ColumnId;
use squall_types::{SqlResult, Value};

/// The row that another one replaces.
pub(super) enum Replaced<'r> {
    /// There is none.
    Nothing,
    /// One that is locked. What has not changed of its large values stays.
    Locked(&'r Row),
    /// One whose large values cannot be read: its commit may not be visible yet.
    Unread(&'r Row),
}

impl Transaction {
    /// A row as it is stored, and the changes of chunks that go with it.
    pub(super) fn encode_row(
        &self,
        table: &Table,
        key: &Slice,
        values: &[Value],
        replaced: Replaced<'_>,
    ) -> SqlResult<(Vec<u8>, Vec<EntryChange>)> {
        let value_at = |ordinal: usize| values.get(ordinal).map(ValueRef::from);
        let mut large = table.large_values(self.store.large_value_limit(), value_at)?;
        let (old, is_locked) = match replaced {
            Replaced::Nothing => (None, false),
            Replaced::Locked(row) => (Some(row), true),
            Replaced::Unread(row) => (Some(row), false),
        };
        let before = old.map_or(Ok(Vec::new()), |old| old.references(table))?;
        let stays = old.filter(|old| old.key == *key);
        let mut chunks = Vec::new();
        for (ordinal, reference) in &mut large {
            let column = table.def().columns[*ordinal].id;
            let value = value_at(*ordinal).and_then(variable_part).unwrap_or_default();
            if let Some(old) = stays.filter(|_| is_locked)
                && let Some(earlier) = reference_of(&before, column).filter(|earlier| earlier.fits(value))
                && old.view(table).get_bytes(*ordinal)? == Some(value)
            {
                *reference = earlier;
                continue;
            }
            for_each_chunk((key, column), (value, *reference), table.packs_rows(), |key, chunk| {
                chunks.push(EntryChange::chunk(key, Some(chunk)));
                Ok(())
            })?;
        }
        if let Some(old) = old {
            let written = |column| large.iter().find(|(ordinal, _)| table.def().columns[*ordinal].id == column);
            for (_, column, earlier) in &before {
                let kept = stays.and_then(|_| written(*column)).map_or(0, |(_, reference)| reference.chunks());
                chunks.extend(removed_chunks(&old.key, *column, *earlier, kept));
            }
        }
        let mut row = encode_row(&table.current_projection().layout, key, values, &large)?;
        self.store.pack_row(table, key, &mut row);
        Ok((row, chunks))
    }

    /// The changes of chunks that go with a row.
    pub(super) fn chunks_of_deleted(table: &Table, row: &Row) -> SqlResult<Vec<EntryChange>> {
        let references = row.references(table)?;
        let removed = |(_, column, reference)| removed_chunks(&row.key, column, reference, 0);
        Ok(references.into_iter().flat_map(removed).collect())
    }

    /// A row that was read in its newest version. It is locked, so no other session changes its chunks.
    pub(super) fn newest_with_large_values(&self, table: &Table, row: Row) -> StoreResult<Row> {
        if !row.has_large_values() {
            return Ok(row);
        }
        if self.own_change(table, &row.key)?.is_none() {
            return Ok(row.in_snapshot(table, &self.store.snapshot()));
        }
        // Later writes of the statement may replace them.
        Ok(self.with_own_large_values(table, row)?)
    }

    /// Reads the large values of a row that the transaction has written.
    pub(super) fn with_own_large_values(&self, table: &Table, row: Row) -> SqlResult<Row> {
        row.with_large_values(table, &|key| match self.own_change(table, key)? {
            Some(change) => Ok(change),
            None => table.data.keyspace.get(key).map_err(engine_error),
        })
    }
}

fn reference_of(references: &[(usize, ColumnId, Reference)], column: ColumnId) -> Option<Reference> {
    references.iter().find(|(_, other, _)| *other == column).map(|(_, _, reference)| *reference)
}

/// Removals of the chunks of a value from one on.
fn removed_chunks(
    row_key: &[u8],
    column: ColumnId,
    reference: Reference,
    first: u32,
) -> impl Iterator<Item = EntryChange> {
    (first..reference.chunks()).map(move |chunk| EntryChange::chunk(chunk_key(row_key, column, chunk), None))
}
