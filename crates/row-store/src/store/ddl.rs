//! The catalog on disk, and its atomic changes.
//!
//! A change is one batch in the meta keyspace. Files of new tables are made before it, files of dropped tables are
//! removed after it; a crash in between leaves files that no catalog names, and opening the store removes those.

use crate::batch::Batch;
use crate::catalog_codec::{
    Counters, decode_database, decode_table, decode_view, encode_database, encode_table, encode_view,
};
use crate::commit::Committer;
use crate::engine::Keyspace;
use crate::error::engine_error;
use crate::meta;
use crate::routine_codec::{decode_routine, encode_routine};
use crate::store::system_records::{SystemChange, push_system};
use crate::store::{RowStore, StoreInner, malformed, read_u64};
use crate::table::{LogicalTable, TableData};
use rustc_hash::{FxHashMap, FxHashSet};
use squall_catalog::{
    Catalog, ColumnDef, Database, DatabaseId, IndexDef, IndexId, RoutineDef, RoutineName, TableDef, TableEntry,
    TableId, ViewDef,
};
use squall_types::SqlResult;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The changes of a DDL statement beside the catalog.
#[derive(Clone, Debug, Default)]
pub struct DdlChanges {
    /// Storages to be emptied: of whole tables all that they have. The catalog has a new version of each table.
    pub truncated: Vec<TableId>,
    /// Other records of the server.
    pub system: Vec<SystemChange>,
}

#[derive(Default)]
struct Objects<'a> {
    databases: FxHashMap<DatabaseId, &'a Arc<Database>>,
    tables: FxHashMap<TableId, (DatabaseId, &'a Arc<TableDef>)>,
    views: FxHashMap<(DatabaseId, &'a str), &'a Arc<ViewDef>>,
    routines: FxHashMap<(DatabaseId, &'a RoutineName), &'a Arc<RoutineDef>>,
}

impl<'a> Objects<'a> {
    /// The table of each storage.
    fn owners(&self) -> FxHashMap<TableId, TableId> {
        let storages = self.tables.values().flat_map(|(_, def)| def.storages().map(|storage| (storage, def.id)));
        storages.collect()
    }

    /// The objects that `other` does not share. A table that is in both, in one database, under one name, is neither made nor dropped nor
    /// changed: a definition looks at all tables of its database, and at no more than that of nearly all of them.
    fn not_shared(catalog: &'a Catalog, other: &Catalog) -> Objects<'a> {
        let mut objects = Objects::default();
        for (name, database) in catalog.databases() {
            if other.database(name).is_some_and(|same| Arc::ptr_eq(same, database)) {
                continue;
            }
            objects.databases.insert(database.id, database);
            let routines = database.routines.iter().map(|(name, routine)| ((database.id, name), routine));
            objects.routines.extend(routines);
            let mut others = other
                .databases()
                .get(name)
                .filter(|same| same.id == database.id)
                .into_iter()
                .flat_map(|same| &same.tables)
                .peekable();
            for (name, entry) in &database.tables {
                while others.next_if(|(other, _)| *other < name).is_some() {}
                match entry {
                    TableEntry::Table(table)
                        if others.peek().is_some_and(|(other, same)| {
                            *other == name && matches!(same, TableEntry::Table(same) if Arc::ptr_eq(same, table))
                        }) => {}
                    TableEntry::Table(table) => {
                        objects.tables.insert(table.id, (database.id, table));
                    }
                    TableEntry::View(view) => {
                        objects.views.insert((database.id, name), view);
                    }
                }
            }
        }
        objects
    }

    /// The storages that an earlier catalog has not, with whether they are of tables that it has not either.
    fn filled(&self, earlier: &Objects<'_>) -> Vec<(TableId, bool)> {
        let known = earlier.owners();
        let new = self.owners().into_iter().filter(|(storage, _)| !known.contains_key(storage));
        new.map(|(storage, table)| (storage, !earlier.tables.contains_key(&table))).collect()
    }
}

impl RowStore {
    /// Makes `next` the catalog, durably and as a whole: tables that it has and the last one had not get their files,
    /// tables that it has no more lose theirs. The caller holds the DDL lock, and the exclusive lock of every table that
    /// is changed, dropped or truncated.
    pub fn commit_ddl(&self, next: &Catalog, changes: &DdlChanges) -> SqlResult<()> {
        let inner = &self.0;
        // Their folders may be used again at once.
        inner.forget_dropped();
        let mut current = inner.catalog.lock();
        let mut batch = Batch::default();
        let (old, new) = (Objects::not_shared(&current, next), Objects::not_shared(next, &current));
        let makes_tables = new.tables.keys().any(|id| !old.tables.contains_key(id));
        self.gate().check_definition(makes_tables)?;
        write_objects(&inner.meta, &mut batch, &old, &new);
        let counters = Counters {
            version: next.version,
            next_database_id: next.next_database_id,
            next_table_id: next.next_table_id,
        };
        batch.insert(&inner.meta, [meta::COUNTERS], counters.encode());
        push_system(&inner.meta, &mut batch, &changes.system);
        let moved = inner.put_moved(&mut batch, &old, &new)?;
        let (dropped, mut makes_room) = inner.remove_dropped(&mut batch, &old, &new)?;
        let Redefined { tables: defined, dropped_copies } = inner.redefined(&mut batch, &old, &new);
        let mut fresh = Vec::new();
        let made = inner.make_fresh_data(&mut batch, &old, &new, &changes.truncated, &mut fresh);
        let filled = new.filled(&old);
        if let Err(error) = made.and_then(|()| inner.committer.write(batch, true)) {
            // If the store has stopped, it is unknown whether the disk has the batch; the next start removes files that it does not
            // name.
            if !self.gate().is_stopped() {
                fresh.iter().for_each(|data| inner.db.drop_keyspace(&data.keyspace));
            }
            return Err(error);
        }
        let new_storages = inner.add_new_data(&fresh);
        *current = next.clone();
        drop(current);
        let seqno = inner.publish_definition(
            !moved.is_empty() || !filled.is_empty() || !changes.truncated.is_empty() || !defined.is_empty(),
        )?;
        inner.forget_moved(&moved, seqno)?;
        for (id, of_new_table) in filled {
            // A new partition is empty at any sequence number. So is a new table, but another may have had its name.
            if new_storages.contains(&id) && !of_new_table {
                continue;
            }
            if let Some(data) = inner.data.read().get(&id) {
                data.complete_from(seqno);
            }
        }
        for data in fresh {
            let id = data.id;
            inner.forget_table(data.logical.id);
            data.logical.feed.reset();
            let replaced = inner.data.write().insert(id, data.clone());
            if let Some(replaced) = replaced.filter(|old| !Arc::ptr_eq(old, &data)) {
                data.complete_from(seqno);
                makes_room |= replaced.keyspace.disk_space() > 0;
                inner.retire(&replaced);
            }
        }
        for RedefinedTable { def, built, changes_for_readers } in defined {
            let logical = inner.data(def.id)?.logical.clone();
            logical.feed.reset();
            logical.defined_since.fetch_max(def.version, Ordering::AcqRel);
            if changes_for_readers {
                logical.change_for_readers(def.version, seqno);
            }
            inner.forget_table(def.id);
            for storage in def.storages() {
                let data = inner.data_of(storage, &logical)?;
                if let Some(level) = data.segment_level().filter(|_| !built.is_empty()) {
                    level.source().indexes_added();
                }
                built.iter().for_each(|index| data.built_from(*index, seqno));
            }
        }
        for (storage, index) in dropped_copies {
            inner.stored_data(storage)?.drop_copy(index);
        }
        for (def, storage) in &dropped {
            inner.drop_storage(def, *storage);
        }
        if makes_room {
            inner.reserve_space();
        }
        Ok(())
    }
}

/// A storage that goes, and the table that had it.
type DroppedStorage = (Arc<TableDef>, TableId);

/// A storage that another table has from now on.
struct Moved {
    storage: TableId,
    from: TableId,
    to: TableId,
}

/// A table with a new definition.
struct RedefinedTable {
    def: Arc<TableDef>,
    /// The indexes that were built.
    built: Vec<IndexId>,
    /// Whether readers see other rows or columns.
    changes_for_readers: bool,
}

/// What happens to tables that stay.
struct Redefined {
    tables: Vec<RedefinedTable>,
    dropped_copies: Vec<(TableId, IndexId)>,
}

/// Whether a definition shows its readers other columns than the one before, rows under another name, or not all of the rows.
fn changes_for_readers(before: &TableDef, after: &TableDef) -> bool {
    let is_same = |(old, new): (&ColumnDef, &ColumnDef)| {
        old.id == new.id && old.name == new.name && old.sql_type == new.sql_type && old.invisible == new.invisible
    };
    before.name != after.name
        || before.columns.len() != after.columns.len()
        || !before.columns.iter().zip(&after.columns).all(is_same)
        || before.storages().any(|storage| after.storages().all(|kept| kept != storage))
}

impl StoreInner {
    /// Storages that change tables: their new tables count AUTO_INCREMENT on from what either has come to.
    fn put_moved(&self, batch: &mut Batch, old: &Objects<'_>, new: &Objects<'_>) -> SqlResult<Vec<Moved>> {
        let owners = new.owners();
        let mut moved = Vec::new();
        for (_, def) in old.tables.values() {
            for storage in def.storages() {
                let to = owners.get(&storage).copied().filter(|to| *to != def.id);
                moved.extend(to.map(|to| Moved { storage, from: def.id, to }));
            }
        }
        for Moved { storage, from, to } in &moved {
            let from = self.data(*from)?;
            let data = self.data_of(*storage, &from.logical)?;
            let mut next = from.logical.auto_increment.load(Ordering::Relaxed);
            if old.tables.contains_key(to) {
                next = next.max(self.data(*to)?.logical.auto_increment.load(Ordering::Relaxed));
            }
            batch.insert(&self.meta, meta::table_key(meta::AUTO_INCREMENT, *to), next.to_le_bytes());
            self.put_statistics(batch, &data)?;
        }
        Ok(moved)
    }

    /// Has storages that have changed tables opened again, as their new tables'. Tells users of an old table that it is outdated,
    /// and readers of an earlier snapshot that its rows are elsewhere.
    fn forget_moved(&self, moved: &[Moved], seqno: u64) -> SqlResult<()> {
        for Moved { storage, from, to } in moved {
            let from = self.data(*from)?.logical.clone();
            from.feed.reset();
            from.defined_since.fetch_add(1, Ordering::AcqRel);
            if from.id == *storage {
                from.defined_since.store(u64::MAX, Ordering::Release);
            }
            self.forget_table(from.id);
            self.forget_table(*to);
        }
        for Moved { storage, .. } in moved {
            self.data.write().remove(storage);
        }
        for Moved { storage, from: _, to } in moved {
            let logical = self.data(*to)?.logical.clone();
            if let Some(next) = read_u64(&self.meta, &meta::table_key(meta::AUTO_INCREMENT, *to))? {
                logical.auto_increment.fetch_max(next, Ordering::Relaxed);
                logical.auto_increment_saved.fetch_max(next, Ordering::Relaxed);
            }
            self.data_of(*storage, &logical)?.complete_from(seqno);
        }
        Ok(())
    }

    /// Removes the records of dropped storages; returns their tables, and whether disk space becomes free.
    fn remove_dropped(
        &self,
        batch: &mut Batch,
        old: &Objects<'_>,
        new: &Objects<'_>,
    ) -> SqlResult<(Vec<DroppedStorage>, bool)> {
        let kept = new.owners();
        let mut dropped = Vec::new();
        let mut makes_room = false;
        for (_, def) in old.tables.values() {
            for storage in def.storages().filter(|storage| !kept.contains_key(storage)) {
                // Opened, so that its files can be let go once nothing names them.
                let data = self.data_of(storage, &self.data(def.id)?.logical)?;
                self.open_levels(&data, def)?;
                makes_room |= data.keyspace.disk_space() > 0;
                self.remove_table_records(batch, storage)?;
                dropped.push(((*def).clone(), storage));
            }
        }
        Ok((dropped, makes_room))
    }

    /// Notes the indexes that tables lose.
    fn redefined(&self, batch: &mut Batch, old: &Objects<'_>, new: &Objects<'_>) -> Redefined {
        let mut redefined = Redefined { tables: Vec::new(), dropped_copies: Vec::new() };
        for (id, (from, before)) in &old.tables {
            let Some((to, after)) = new.tables.get(id) else { continue };
            if !Arc::ptr_eq(before, after) {
                let is_new = |index: &&IndexDef| before.indexes.iter().all(|old| old.id != index.id);
                let built: Vec<IndexId> = after.indexes.iter().filter(is_new).map(|index| index.id).collect();
                let changes_for_readers = from != to || changes_for_readers(before, after);
                redefined.tables.push(RedefinedTable { def: (*after).clone(), built, changes_for_readers });
            }
            for index in before.indexes.iter().filter(|index| after.indexes.iter().all(|kept| kept.id != index.id)) {
                for storage in after.storages() {
                    batch.insert(&self.meta, meta::dropped_index_key(storage, index.id), []);
                    if index.is_columnar() {
                        redefined.dropped_copies.push((storage, index.id));
                    }
                }
                self.dropped_indexes.store(true, Ordering::Release);
            }
        }
        redefined
    }

    /// Everything that is kept of a table beside its definition and its rows.
    pub fn remove_table_records(&self, batch: &mut Batch, id: TableId) -> SqlResult<()> {
        for kind in [meta::GENERATION, meta::AUTO_INCREMENT, meta::STATISTICS] {
            batch.remove(&self.meta, meta::table_key(kind, id));
        }
        for kind in [meta::LAYOUT, meta::DICTIONARY, meta::DROPPED_INDEX] {
            for guard in self.meta.prefix(meta::table_key(kind, id)) {
                batch.remove(&self.meta, guard.key().map_err(engine_error)?);
            }
        }
        Ok(())
    }

    /// The first sequence number that has a definition which has just been written; readers that begin from now on read at that sequence number
    /// or a later one.
    fn publish_definition(&self, is_asked_for: bool) -> SqlResult<u64> {
        if !is_asked_for {
            return Ok(0);
        }
        let snapshot = {
            let _log = self.committer.log.lock();
            self.db.snapshot()
        };
        let since = snapshot.seqno();
        self.committer.advance_or_sync(snapshot)?;
        Ok(since)
    }

    /// Makes the keyspaces of new and of truncated storages, and adds them to `fresh`.
    fn make_fresh_data(
        &self,
        batch: &mut Batch,
        old: &Objects<'_>,
        new: &Objects<'_>,
        truncated: &[TableId],
        fresh: &mut Vec<Arc<TableData>>,
    ) -> SqlResult<()> {
        let known = old.owners();
        for (_, def) in new.tables.values() {
            if def.storages().all(|storage| known.contains_key(&storage)) {
                continue;
            }
            let logical = match self.data.read().get(&def.id) {
                Some(data) => data.logical.clone(),
                None if known.contains_key(&def.id) => self.data(def.id)?.logical.clone(),
                None => {
                    let logical = LogicalTable::new(def.id);
                    logical.start_auto_increment(def.auto_increment_start.max(1));
                    Arc::new(logical)
                }
            };
            for storage in def.storages().filter(|storage| !known.contains_key(storage)) {
                let existing = self.data.read().get(&storage).cloned();
                let place = match existing {
                    // The table's data was made, and perhaps filled, before it came into the catalog.
                    Some(data) => data.place_record(),
                    None => {
                        let data = self.create_data(def, storage, &logical, 1)?;
                        let place = data.place_record();
                        fresh.push(data);
                        place
                    }
                };
                batch.insert(&self.meta, meta::table_key(meta::GENERATION, storage), place);
            }
            if !known.contains_key(&def.id) {
                let next = logical.auto_increment.load(Ordering::Relaxed);
                batch.insert(&self.meta, meta::table_key(meta::AUTO_INCREMENT, def.id), next.to_le_bytes());
            }
        }
        self.make_truncated(batch, new, truncated, fresh)
    }

    /// Makes the data of new storages known before anybody can look for them: their files would be opened a second time, and what was opened
    /// first taken for a generation that goes. Gives their numbers.
    fn add_new_data(&self, fresh: &[Arc<TableData>]) -> FxHashSet<TableId> {
        let mut all = self.data.write();
        let new: Vec<&Arc<TableData>> = fresh.iter().filter(|data| !all.contains_key(&data.id)).collect();
        new.into_iter()
            .map(|data| {
                all.insert(data.id, data.clone());
                data.id
            })
            .collect()
    }

    /// Makes the next generations of storages that are emptied.
    fn make_truncated(
        &self,
        batch: &mut Batch,
        new: &Objects<'_>,
        truncated: &[TableId],
        fresh: &mut Vec<Arc<TableData>>,
    ) -> SqlResult<()> {
        let truncated: FxHashSet<TableId> = truncated.iter().copied().collect();
        for (_, def) in new.tables.values() {
            let storages: Vec<TableId> = def.storages().filter(|storage| truncated.contains(storage)).collect();
            if storages.is_empty() {
                continue;
            }
            let mut logical = self.data(def.id)?.logical.clone();
            if storages.contains(&def.id) {
                let start = def.auto_increment_start.max(1);
                let emptied = LogicalTable::new(def.id);
                emptied.start_auto_increment(start);
                batch.insert(&self.meta, meta::table_key(meta::AUTO_INCREMENT, def.id), start.to_le_bytes());
                logical = Arc::new(emptied);
            }
            for storage in storages {
                let before = self.data_of(storage, &logical)?;
                let generation = before.generation.checked_add(1).ok_or_else(|| malformed("generation"))?;
                self.open_levels(&before, def)?;
                let data = self.create_data(def, storage, &logical, generation)?;
                for (number, layout) in before.layouts().read().iter().enumerate() {
                    debug_assert_eq!(usize::from(layout.number), number + 1);
                    data.layouts().write().push(layout.clone());
                }
                batch.insert(&self.meta, meta::table_key(meta::GENERATION, storage), data.place_record());
                batch.remove(&self.meta, meta::table_key(meta::STATISTICS, storage));
                batch.remove(&self.meta, meta::dictionary_key(storage, before.generation));
                fresh.push(data);
            }
        }
        Ok(())
    }
}

fn write_objects(meta_keyspace: &Keyspace, batch: &mut Batch, old: &Objects<'_>, new: &Objects<'_>) {
    for (id, database) in &new.databases {
        let same = old
            .databases
            .get(id)
            .is_some_and(|before| before.name == database.name && before.collation == database.collation);
        if !same {
            batch.insert(meta_keyspace, meta::database_key(*id), encode_database(&database.name, database.collation));
        }
    }
    for id in old.databases.keys().filter(|id| !new.databases.contains_key(id)) {
        batch.remove(meta_keyspace, meta::database_key(*id));
    }
    for (id, (database, table)) in &new.tables {
        let same = old.tables.get(id).is_some_and(|(was_in, before)| was_in == database && before == table);
        if !same {
            batch.insert(meta_keyspace, meta::table_key(meta::TABLE, *id), encode_table(*database, table));
        }
    }
    for id in old.tables.keys().filter(|id| !new.tables.contains_key(id)) {
        batch.remove(meta_keyspace, meta::table_key(meta::TABLE, *id));
    }
    for ((database, name), view) in &new.views {
        if old.views.get(&(*database, *name)) != Some(view) {
            batch.insert(meta_keyspace, meta::view_key(*database, name), encode_view(view));
        }
    }
    for (database, name) in old.views.keys().filter(|at| !new.views.contains_key(at)) {
        batch.remove(meta_keyspace, meta::view_key(*database, name));
    }
    for ((database, name), routine) in &new.routines {
        if old.routines.get(&(*database, *name)) != Some(routine) {
            batch.insert(meta_keyspace, meta::routine_key(*database, name), encode_routine(routine));
        }
    }
    for (database, name) in old.routines.keys().filter(|at| !new.routines.contains_key(at)) {
        batch.remove(meta_keyspace, meta::routine_key(*database, name));
    }
}

/// Reads the catalog.
pub(crate) fn load_catalog(meta_keyspace: &Keyspace) -> SqlResult<Catalog> {
    let mut catalog = Catalog::new(0, 1, 1);
    if let Some(record) = meta_keyspace.get([meta::COUNTERS]).map_err(engine_error)? {
        let counters = Counters::decode(&record)?;
        catalog.version = counters.version;
        catalog.next_database_id = counters.next_database_id;
        catalog.next_table_id = counters.next_table_id;
    }
    let mut databases: BTreeMap<DatabaseId, Database> = BTreeMap::new();
    for guard in meta_keyspace.prefix([meta::DATABASE]) {
        let (key, record) = guard.into_inner().map_err(engine_error)?;
        let id = database_id(&key)?;
        let (name, collation) = decode_database(&record)?;
        databases.insert(id, Database::new(id, name, collation));
    }
    for guard in meta_keyspace.prefix([meta::TABLE]) {
        let (database, table) = decode_table(&guard.value().map_err(engine_error)?)?;
        let database = databases.get_mut(&database).ok_or_else(|| malformed("table"))?;
        database.tables.insert(table.name.clone(), TableEntry::Table(Arc::new(table)));
    }
    for guard in meta_keyspace.prefix([meta::VIEW]) {
        let (key, record) = guard.into_inner().map_err(engine_error)?;
        let view = decode_view(&record)?;
        let database = databases.get_mut(&database_id(&key)?).ok_or_else(|| malformed("view"))?;
        database.tables.insert(view.name.clone(), TableEntry::View(Arc::new(view)));
    }
    for guard in meta_keyspace.prefix([meta::ROUTINE]) {
        let (key, record) = guard.into_inner().map_err(engine_error)?;
        let routine = decode_routine(&record)?;
        let database = databases.get_mut(&database_id(&key)?).ok_or_else(|| malformed("routine"))?;
        database.routines.insert(routine.key(), Arc::new(routine));
    }
    databases.into_values().for_each(|database| catalog.put_database(database));
    Ok(catalog)
}

/// Has the catalog's foreign keys refer to columns by their ids, which records of before did by name, and writes those records
/// again: from now on a name may be another column's.
pub(crate) fn convert_references(
    catalog: &mut Catalog,
    committer: &Committer,
    meta_keyspace: &Keyspace,
) -> SqlResult<()> {
    let converted = catalog.resolve_references();
    if converted.is_empty() {
        return Ok(());
    }
    let mut batch = Batch::default();
    for (database, table) in &converted {
        batch.insert(meta_keyspace, meta::table_key(meta::TABLE, table.id), encode_table(*database, table));
    }
    committer.write(batch, true)
}

fn database_id(key: &[u8]) -> SqlResult<DatabaseId> {
    let id = key.get(1..5).and_then(|id| id.try_into().ok()).ok_or_else(|| malformed("database"))?;
    Ok(DatabaseId(u32::from_be_bytes(id)))
}
