//! Changes of single rows, with the entries of their indexes.

use super::Transaction;
use super::entry_change::EntryChange;
use super::large_values::Replaced;
use crate::engine::Slice;
use crate::error::{StoreResult, corrupted};
use crate::index_key::{Entry, IndexCodec, row_key_of_entry};
use crate::options::{LockMode, LockRequest};
use crate::row_key::RowKey;
use crate::table::Table;
use crate::table::row::Row;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::atomic::Ordering;

impl Transaction {
    pub(super) fn write_request(&self) -> LockRequest {
        LockRequest { mode: LockMode::Exclusive, wait: self.lock_wait }
    }

    /// Inserts a row; `values` are those of all columns in the order of the definition, of the columns' types.
    pub fn insert(&mut self, table: &Table, values: &[Value]) -> StoreResult<RowKey> {
        self.check_writable(table)?;
        self.check_room(table)?;
        if table.is_partitioned() && table.has_hidden_row_id() {
            table.find_last_row_id()?;
        }
        let table = table.storage_for(values)?;
        let key = Slice::from(table.place_row(values)?);
        self.insert_at(table, key, values)
    }

    /// Inserts a row into a storage, at its key.
    fn insert_at(&mut self, table: &Table, key: Slice, values: &[Value]) -> StoreResult<RowKey> {
        if !table.has_hidden_row_id() {
            self.lock_row(table, &key, self.write_request())?;
            if self.newest(table, &key)?.is_some() {
                return Err(table.duplicate(table.rows_codec(), (values, &key), key.to_vec()));
            }
        }
        let (row, chunks) = self.encode_row(table, &key, values, Replaced::Nothing)?;
        let mut entries = chunks;
        entries.reserve(table.secondary_codecs().len());
        for codec in table.secondary_codecs() {
            if codec.has_terms() {
                for entry in codec.term_entries(values, &key)? {
                    self.check_unique(table, codec, &entry, values, true)?;
                    entries.push(codec.put(entry));
                }
                continue;
            }
            if codec.is_copy {
                entries.push(EntryChange::mark(codec, &key));
                continue;
            }
            let entry = codec.entry(values, &key)?;
            self.check_unique(table, codec, &entry, values, true)?;
            entries.push(codec.put(entry));
        }
        self.write(table, None, (key.clone(), Some(row.into()), 1), entries)?;
        table.observe_auto_increment(values);
        Ok(RowKey(key))
    }

    /// Writes a row of one of the server's own tables. Such a table is never redefined, has no index but its primary key, and each
    /// of its rows has one writer. So nothing is locked, and the old row is read only for the large values that go with it. `is_new`
    /// says that nothing was.
    pub fn put(&mut self, table: &Table, values: &[Value], is_new: bool) -> SqlResult<()> {
        if !table.secondary_codecs().is_empty() || table.has_hidden_row_id() || table.is_retired() {
            return Err(SqlError::internal(format_args!("rows of {} have to be looked at", table.def().name)));
        }
        self.check_alive().map_err(SqlError::from)?;
        self.check_room(table).map_err(SqlError::from)?;
        let key = Slice::from(table.place_row(values)?);
        let old = if is_new { None } else { self.row_with_chunks(table, &key)? };
        let replaced = old.as_ref().map_or(Replaced::Nothing, Replaced::Unread);
        let (row, chunks) = self.encode_row(table, &key, values, replaced)?;
        self.own.any.store(true, Ordering::Release);
        let mut writes = self.own.writes.write();
        writes.put(&table.data, key, Some(row.into()), i64::from(is_new));
        self.put_entries(writes, table, chunks).inspect_err(|_| self.abort_if_lost()).map_err(SqlError::from)
    }

    /// The row at a key that may have chunks, as it is now. A damaged one is about to be written over, and its chunks are not known.
    fn row_with_chunks(&self, table: &Table, key: &Slice) -> SqlResult<Option<Row>> {
        if !table.has_large_columns() || !self.store.may_have_large_values() {
            return Ok(None);
        }
        let row = match self.own_change(table, key)? {
            Some(change) => change,
            None => table.newest(key)?.0,
        };
        match row.map(|row| Row::check(table, key.clone(), row)).transpose() {
            Err(error) if error.is(ErrorCode::CorruptedRow) => Ok(None),
            row => row,
        }
    }

    pub(super) fn check_unique(
        &mut self,
        table: &Table,
        codec: &IndexCodec,
        entry: &Entry,
        values: &[Value],
        locked: bool,
    ) -> StoreResult<()> {
        if !entry.exclusive {
            return Ok(());
        }
        if locked {
            self.lock_row(table, &Slice::new(&entry.key), self.write_request())?;
        }
        match self.newest(table, &entry.key)? {
            Some(value) => {
                let existing = row_key_of_entry(&entry.key, &value).ok_or_else(|| corrupted(&table.def().name))?;
                Err(table.duplicate(codec, (values, &entry.key), existing))
            }
            None => Ok(()),
        }
    }

    /// Locks a row for a change and makes sure that it is still what the caller has read. A caller that read it
    /// under a lock will find it so.
    pub(super) fn lock_for_change(&mut self, table: &Table, row: &Row) -> StoreResult<()> {
        self.check_writable(table)?;
        if self.lock_row(table, &row.key, self.write_request())?.is_new()
            && self
                .newest_row(table, &row.key, self.fails_on_change(), None)?
                .is_none_or(|newest| newest.value != row.value)
        {
            return Err(SqlError::new(ErrorCode::RecordChanged, &[&table.def().name]).into());
        }
        Ok(())
    }

    /// Gives a row new values, all of them; `old` was read under a lock by this transaction. The row's key is
    /// returned, as it may be another.
    pub fn update(&mut self, table: &Table, old: &Row, values: &[Value]) -> StoreResult<RowKey> {
        self.lock_for_change(table, old)?;
        self.check_room(table)?;
        let from = table.storage_of_row(old)?;
        let table = table.storage_for(values)?;
        if table.storage_id() != from.storage_id() {
            let key = match table.has_hidden_row_id() {
                true => old.key.clone(),
                false => Slice::from(table.rows_codec().primary_key(values)?),
            };
            // No unique key is the same in both: each has the columns that have changed.
            let key = self.insert_at(table, key, values)?;
            self.delete_at(from, old)?;
            return Ok(key);
        }
        let old_values = indexed_values(table, old)?;
        let moved_to = if table.has_hidden_row_id() {
            None
        } else {
            let key = table.rows_codec().primary_key(values)?;
            (key != old.key[..]).then(|| Slice::from(key))
        };
        if let Some(key) = &moved_to {
            self.lock_row(table, key, self.write_request())?;
            if self.newest(table, key)?.is_some() {
                return Err(table.duplicate(table.rows_codec(), (values, key), key.to_vec()));
            }
        }
        let key = moved_to.clone().unwrap_or_else(|| old.key.clone());
        let mut changes = self.entry_changes(table, (&old_values, &old.key), (values, &key), true)?;
        let (row, chunks) = self.encode_row(table, &key, values, Replaced::Locked(old))?;
        changes.extend(chunks);
        let moved_from = moved_to.map(|_| old.key.clone());
        self.write(table, moved_from, (key.clone(), Some(row.into()), 0), changes)?;
        Ok(RowKey(key))
    }

    /// Changes the entries of a row that gets another key or other values. Checks new unique entries against existing ones. Unless
    /// the table is the transaction's alone, they are locked.
    pub(super) fn entry_changes(
        &mut self,
        table: &Table,
        (old_values, old_key): (&[Value], &Slice),
        (values, key): (&[Value], &Slice),
        locked: bool,
    ) -> StoreResult<Vec<EntryChange>> {
        let moved = old_key != key;
        let mut changes = Vec::new();
        for codec in table.secondary_codecs() {
            if codec.has_terms() {
                let TermChanges { lost, got, moved } = term_changes(codec, (old_values, old_key), (values, key))?;
                for entry in lost.iter().filter(|entry| locked && entry.exclusive) {
                    // A transaction that inserts the old value waits until it is known to be gone.
                    self.lock_row(table, &Slice::new(&entry.key), self.write_request())?;
                }
                for entry in &got {
                    self.check_unique(table, codec, entry, values, locked)?;
                }
                changes.extend(lost.into_iter().map(|entry| codec.removed(entry)));
                changes.extend(got.into_iter().chain(moved).map(|entry| codec.put(entry)));
                continue;
            }
            if codec.is_copy {
                let same = codec.has_same_parts(old_values, values);
                if moved {
                    changes.push(EntryChange::mark(codec, old_key));
                }
                if moved || !same {
                    changes.push(EntryChange::mark(codec, key));
                }
                continue;
            }
            // Long values are compared sooner than hashed.
            if codec.is_hashed && !moved && codec.has_same_parts(old_values, values) {
                continue;
            }
            let before = codec.entry(old_values, old_key)?;
            let after = codec.entry(values, key)?;
            if before.key == after.key {
                if before.value != after.value {
                    changes.push(codec.put(after));
                }
                continue;
            }
            if locked && before.exclusive {
                // A transaction that inserts the old value waits until it is known to be gone.
                self.lock_row(table, &Slice::new(&before.key), self.write_request())?;
            }
            self.check_unique(table, codec, &after, values, locked)?;
            changes.push(codec.removed(before));
            changes.push(codec.put(after));
        }
        Ok(changes)
    }

    /// Deletes a row that this transaction has read under a lock.
    pub fn delete(&mut self, table: &Table, row: &Row) -> StoreResult<()> {
        self.lock_for_change(table, row)?;
        self.delete_at(table.storage_of_row(row)?, row)
    }

    /// Deletes a row from a storage.
    fn delete_at(&mut self, table: &Table, row: &Row) -> StoreResult<()> {
        let values = indexed_values(table, row)?;
        let mut entries = Vec::with_capacity(table.secondary_codecs().len());
        let mut mark = None;
        for codec in table.secondary_codecs() {
            if codec.has_terms() {
                for entry in codec.term_entries(&values, &row.key)? {
                    if entry.exclusive {
                        self.lock_row(table, &Slice::new(&entry.key), self.write_request())?;
                    }
                    entries.push(codec.removed(entry));
                }
                continue;
            }
            if codec.is_copy {
                mark = Some(EntryChange::mark(codec, &row.key));
                continue;
            }
            let entry = codec.entry(&values, &row.key)?;
            if entry.exclusive {
                self.lock_row(table, &Slice::new(&entry.key), self.write_request())?;
            }
            entries.push(codec.removed(entry));
        }
        entries.extend(mark);
        entries.extend(Transaction::chunks_of_deleted(table, row)?);
        self.write(table, None, (row.key.clone(), None, -1), entries)
    }
}

/// What a change of a row does to its entries in an index of terms or elements.
#[derive(Default)]
struct TermChanges {
    /// Entries that go.
    lost: Vec<Entry>,
    /// Entries that were not there.
    got: Vec<Entry>,
    /// Entries that are there for the row's old place.
    moved: Vec<Entry>,
}

/// The entries of an index of terms or elements that a row loses and gets.
fn term_changes(
    codec: &IndexCodec,
    (old_values, old_key): (&[Value], &[u8]),
    (values, key): (&[Value], &[u8]),
) -> SqlResult<TermChanges> {
    let mut changes = TermChanges::default();
    let mut before = codec.term_entries(old_values, old_key)?.into_iter().peekable();
    let mut after = codec.term_entries(values, key)?.into_iter().peekable();
    // Both are in order.
    loop {
        let order = match (before.peek(), after.peek()) {
            (None, None) => return Ok(changes),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (Some(old), Some(new)) => old.key.cmp(&new.key),
        };
        let lost = if order.is_le() { before.next() } else { None };
        let got = if order.is_ge() { after.next() } else { None };
        match (lost, got) {
            (Some(old), Some(new)) => changes.moved.extend((old.value != new.value).then_some(new)),
            (lost, got) => {
                changes.lost.extend(lost);
                changes.got.extend(got);
            }
        }
    }
}

/// The values of a row that its indexes need; NULL elsewhere.
fn indexed_values(table: &Table, row: &Row) -> SqlResult<Vec<Value>> {
    let view = row.view(table);
    let mut values = vec![Value::Null; table.def().columns.len()];
    for part in table.secondary_codecs().iter().flat_map(|codec| &codec.parts) {
        if values[part.ordinal].is_null() {
            values[part.ordinal] = view.get_value(part.ordinal)?;
        }
    }
    Ok(values)
}
