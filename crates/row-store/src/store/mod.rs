//! The store: it opens directories, finds tables and begins transactions.

mod ddl;
mod dictionaries;
mod engines;
mod file_io;
mod held_table;
mod image;
mod level_store;
mod maintenance;
mod read_lock;
pub(crate) mod recovery;
mod sizes;
mod system_records;
mod table_engine;

pub use self::ddl::DdlChanges;
pub use self::engines::{EngineWork, Engines};
use self::file_io::FileWatch;
pub use self::file_io::{FileIo, TableFileIo};
pub use self::held_table::HeldTable;
pub use self::image::{ImageContent, ImageFile, StoreImage};
pub use self::level_store::LevelStore;
use self::maintenance::Maintenance;
pub(crate) use self::read_lock::is_temporary;
pub use self::read_lock::{BACKUP_LOCK, COMMIT_LOCK, GLOBAL_LOCK, GlobalReadLock};
use self::recovery::{Recovered, recover};
use self::sizes::InlineValues;
pub use self::system_records::{SystemChange, SystemRecords};
pub use self::table_engine::{LevelBytes, LevelFault, LevelPlace, Optimized, ReplacedEngine, TableEngine, WorkFailed};
use crate::batch::Batch;
use crate::bytes::Malformed;
use crate::commit::{Committer, HeldLocks};
use crate::directory_lock::DirectoryLock;
use crate::engine::{AbstractTree, Engine, Keyspace, Kind, SeqNo, Slice, Snapshot};
use crate::error::{engine_error, io_error};
use crate::forward_scan::FilesSeen;
use crate::gate::{DiskRoom, WriteGate};
use crate::kept_samples::KeptSamples;
use crate::layout::RowLayout;
use crate::locks::{LockInfo, LockTable, LockWaitEvent, LockWaits, OWN_FAMILY, Owner};
use crate::memory_reuse::MemoryReuse;
use crate::meta::{self, TablePlace};
use crate::options::{LockWait, StoreOptions, TableLock};
use crate::read_view::first_found;
use crate::row_cache::{RowCache, RowCacheStatus};
use crate::table::row::Row;
use crate::table::segment_level::read_manifest;
use crate::table::{LogicalTable, Partitions, Table, TableData};
use crate::table_part::TablePart;
use crate::vector_graphs::VectorMemory;
use crate::write_set::SpillPlace;
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use squall_catalog::{Catalog, TableCompression, TableDef, TableId};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long closing waits for buffers to become files; what does not is in the log.
const FLUSH_TIME_MAX: Duration = Duration::from_secs(10);
/// How often it looks.
const FILES_POLL: Duration = Duration::from_millis(1);

/// Entries removed at a time.
const CLEAR_BATCH: usize = 10_000;

/// Files that are not needed after a restart.
pub(crate) const TEMPORARY_FOLDER: &str = "temporary";

/// Row tables, their transactions and the catalog, in one directory. Cheap to clone; the last clone closes it.
#[derive(Clone)]
pub struct RowStore(pub(crate) Arc<StoreInner>);

pub(crate) struct StoreInner {
    pub db: Engine,
    pub meta: Keyspace,
    pub options: StoreOptions,
    pub directory: PathBuf,
    pub committer: Arc<Committer>,
    pub locks: Arc<LockTable>,
    pub row_cache: Arc<RowCache>,
    pub vector_memory: Arc<VectorMemory>,
    pub samples: KeptSamples,
    /// The catalog as it is on disk.
    pub catalog: Mutex<Catalog>,
    pub data: RwLock<FxHashMap<TableId, Arc<TableData>>>,
    /// Dropped tables that a catalog in use still has. Locked after `data`.
    leaving: Mutex<Vec<(Weak<TableDef>, Arc<TableData>)>>,
    tables: RwLock<FxHashMap<TableId, Arc<Table>>>,
    /// Entries of dropped indexes may be there.
    pub dropped_indexes: AtomicBool,
    inline_values: InlineValues,
    next_owner: AtomicU64,
    next_temporary: AtomicU64,
    maintenance: Maintenance,
    pub memory_reuse: Arc<MemoryReuse>,
    pub spill_place: Arc<SpillPlace>,
    pub files: Arc<FileWatch>,
    pub engines: Arc<Engines>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Keeps other processes out.
    _lock: DirectoryLock,
}

impl std::fmt::Debug for RowStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowStore").field("directory", &self.0.directory).finish()
    }
}

impl RowStore {
    /// Opens the store in a directory, which is made if it is not there. All commits are there, uncommitted changes are gone, and
    /// files of tables that no catalog has are removed.
    pub fn open(directory: impl AsRef<Path>, options: StoreOptions) -> SqlResult<RowStore> {
        RowStore::open_with(directory, options, Vec::new())
    }

    /// As [`RowStore::open`], with storage engines beside that of rows.
    pub fn open_with(
        directory: impl AsRef<Path>,
        options: StoreOptions,
        engines: Vec<Arc<dyn TableEngine>>,
    ) -> SqlResult<RowStore> {
        let engines = Arc::new(Engines::with(engines));
        let directory = directory.as_ref().to_path_buf();
        let lock = DirectoryLock::take(&directory)?;
        let files = Arc::new(FileWatch::default());
        let Recovered { committer, catalog, has_large_values } = recover(&directory, &options, &files, &engines)?;
        let (spills, spill_gate) = (directory.join(TEMPORARY_FOLDER), committer.gate.clone());
        let spill_place = Arc::new(SpillPlace::new(spills, spill_gate, options.transaction_buffer_bytes));
        let store = RowStore(Arc::new(StoreInner {
            locks: Arc::new(LockTable::new()),
            row_cache: Arc::new(RowCache::new(options.row_cache_bytes)),
            vector_memory: Arc::default(),
            samples: KeptSamples::default(),
            catalog: Mutex::new(catalog),
            data: RwLock::default(),
            leaving: Mutex::default(),
            tables: RwLock::default(),
            dropped_indexes: AtomicBool::new(true),
            inline_values: InlineValues::new(options.inline_value_bytes_max, has_large_values),
            next_owner: AtomicU64::new(1),
            // The greatest are `COMMIT_LOCK` and `BACKUP_LOCK`.
            next_temporary: AtomicU64::new(u64::from(BACKUP_LOCK.0) - 1),
            maintenance: Maintenance::default(),
            engines,
            threads: Mutex::default(),
            _lock: lock,
            files,
            db: committer.db.clone(),
            meta: committer.meta.clone(),
            committer,
            memory_reuse: Arc::new(MemoryReuse::new(options.keep_freed_memory)),
            spill_place,
            options,
            directory,
        }));
        store.resize_vector_memory(store.0.options.vector_memory_bytes);
        store.start_threads()?;
        Ok(store)
    }

    fn start_threads(&self) -> SqlResult<()> {
        let committer = self.0.committer.clone();
        let commits = std::thread::Builder::new().name("squall-commit".into()).spawn(move || committer.run());
        let maintenance = self.0.maintenance.spawn(Arc::downgrade(&self.0));
        let mut threads = self.0.threads.lock();
        for thread in [commits, maintenance] {
            threads.push(thread.map_err(|error| io_error(&error))?);
        }
        Ok(())
    }

    /// Closes the store: commits under way are finished, everything is synced. Later commits fail with 1053.
    pub fn close(&self) -> SqlResult<()> {
        self.0.shut_down()
    }

    /// Sends everything in memory to files and waits for it, so that a restart has little to read again.
    pub fn flush(&self) -> SqlResult<()> {
        self.0.flush().map(|_| ())
    }

    /// How it was opened.
    pub fn options(&self) -> &StoreOptions {
        &self.0.options
    }

    /// The directory.
    pub fn directory(&self) -> &Path {
        &self.0.directory
    }

    /// The catalog as the store has it.
    pub fn load_catalog(&self) -> Catalog {
        self.0.catalog.lock().clone()
    }

    pub(crate) fn temporary_directory(&self) -> PathBuf {
        self.0.directory.join(TEMPORARY_FOLDER)
    }

    pub(crate) fn gate(&self) -> &Arc<WriteGate> {
        &self.0.committer.gate
    }

    /// Where writes of large transactions go.
    pub(crate) fn spill_place(&self) -> &Arc<SpillPlace> {
        &self.0.spill_place
    }

    pub(crate) fn committer(&self) -> &Committer {
        &self.0.committer
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.0.committer.visible.snapshot()
    }

    /// A snapshot with which a SERIALIZABLE transaction is checked at its commit.
    pub(crate) fn validated_snapshot(&self) -> (Snapshot, u64) {
        let mut log = self.0.committer.log.lock();
        let snapshot = self.snapshot();
        let since = snapshot.seqno();
        log.register(since);
        (snapshot, since)
    }

    /// Why changes are refused since a write or a sync has failed, until a restart; `None` while they are taken.
    pub fn write_failure(&self) -> Option<&str> {
        self.gate().failure()
    }

    // ---- the row cache ----

    /// Lets the cache of rows take this many bytes; 0 turns it off. It is empty then.
    pub fn resize_row_cache(&self, bytes_max: u64) {
        // No commit is between its changes and the cache while the log is held.
        let _log = self.0.committer.log.lock();
        self.0.row_cache.resize(bytes_max, self.0.db.snapshot().seqno());
    }

    /// Lets the graphs of vector indexes take so many bytes. Those that are there stay.
    pub fn resize_vector_memory(&self, bytes_max: usize) {
        self.0.vector_memory.resize(bytes_max);
    }

    /// How the cache of rows has done.
    pub fn row_cache_status(&self) -> RowCacheStatus {
        self.0.row_cache.status()
    }

    // ---- transactions ----

    /// Memory that blocks of files take which are kept, bytes.
    pub fn block_cache_bytes(&self) -> u64 {
        self.0.db.cache_size()
    }

    /// How many tables have committed changes in memory that are to go to files, and the bytes of these.
    pub fn write_buffers(&self) -> (u64, u64) {
        let data = self.0.data.read();
        let sizes = data.values().map(|data| data.keyspace.tree.active_memtable().size()).filter(|size| *size > 0);
        sizes.fold((0, 0), |(count, bytes), size| (count + 1, bytes + size))
    }

    /// The locks of rows and tables that are held or waited for now.
    pub fn locks(&self) -> Vec<LockInfo> {
        self.0.locks.list()
    }

    /// How many transactions wait for a row or table lock now.
    pub fn lock_waiter_count(&self) -> usize {
        self.0.locks.waiter_count()
    }

    /// How long a session has waited for row and table locks since it was asked for the last time.
    pub fn take_lock_wait(&self, session: u64) -> LockWaits {
        self.0.locks.take_wait(session)
    }

    /// What sessions wait for now: rows and tables.
    pub fn lock_waits(&self) -> Vec<(u64, LockWaitEvent)> {
        self.0.locks.waits()
    }

    /// Locks of a session that outlive its transactions (LOCK TABLES) or belong to none (DDL).
    pub fn session_locks(&self, session: u64) -> SessionLocks {
        SessionLocks(self.new_owner(Some(session)))
    }

    pub(crate) fn new_owner(&self, session: Option<u64>) -> HeldLocks {
        let id = self.0.next_owner.fetch_add(1, Ordering::Relaxed);
        let owner = Owner { id, family: session.unwrap_or(OWN_FAMILY | id) };
        HeldLocks::none(self.0.locks.clone(), owner)
    }

    /// Ends a session's wait for a lock with 1317, as KILL does. Tells whether it waited.
    pub fn interrupt(&self, session: u64) -> bool {
        self.0.locks.interrupt(session)
    }

    /// A session begins to wait for the end of what another one does. A lock of the one that the other would wait for is a deadlock.
    pub fn begin_call(&self, caller: u64, child: u64) {
        self.0.locks.begin_call(caller, child);
    }

    /// It waits no more.
    pub fn end_call(&self, caller: u64, child: u64) {
        self.0.locks.end_call(caller, child);
    }

    /// The newest committed version of a row: a plain autocommit read of one row needs no more.
    pub fn get(&self, table: &Table, key: &[u8]) -> SqlResult<Option<Row>> {
        if let Some(partitions) = &table.partitions {
            let storages = table.storages_for_key(partitions, key);
            return first_found(storages, |storage| self.get(storage, key));
        }
        // The newest version needs no snapshot to be registered and is never collected. The version of a commit that is not yet
        // durable must not be visible. Then, and if no row is found (such a commit may have deleted it), the answer comes from a
        // snapshot.
        let newest = match table.data.segment_level() {
            None => table.data.newest_visible_row(key, || self.0.committer.visible.seqno())?,
            Some(_) => None,
        };
        let value = match newest {
            None => {
                let snapshot = self.snapshot();
                let entry = snapshot.get(&table.data.keyspace, key).map_err(engine_error)?;
                table.or_in_segment(entry, key, snapshot.seqno())?
            }
            found => found,
        };
        let row = value.map(|value| Row::check(table, Slice::new(key), value)).transpose()?;
        match &row {
            // These are read in a snapshot, so the row is, too.
            Some(row) if row.has_large_values() => self.read_view().get(table, key),
            _ => Ok(row),
        }
    }

    /// The number of the newest commit that readers see.
    pub fn committed_seqno(&self) -> u64 {
        self.0.committer.visible.seqno()
    }

    /// A view of what is committed now, for the plain reads of one statement outside of a transaction.
    pub fn read_view(&self) -> crate::ReadView {
        crate::ReadView { snapshot: self.snapshot(), own: None, step: 0 }
    }

    // ---- tables ----

    /// A table by its definition: one of the catalog, or one made by [`RowStore::create_data`].
    pub fn table(&self, def: &Arc<TableDef>) -> SqlResult<Arc<Table>> {
        if let Some(table) = self.0.tables.read().get(&def.id)
            && (Arc::ptr_eq(table.def(), def) || **table.def() == **def)
            && !table.is_retired()
        {
            return Ok(table.clone());
        }
        let table = Arc::new(self.open_table(def)?);
        let mut tables = self.0.tables.write();
        // A session that drops a table calls this before the table is removed here, so that it cannot come back.
        if !table.is_retired() {
            tables.insert(def.id, table.clone());
        }
        Ok(table)
    }

    /// A table by a definition that others need not know.
    pub(crate) fn open_table(&self, def: &Arc<TableDef>) -> SqlResult<Table> {
        let whole = self.open_storage(def, self.0.data(def.id)?)?;
        let Some(partitioning) = &def.partitioning else { return Ok(whole) };
        let logical = &whole.data.logical;
        let partitions = partitioning
            .storages()
            .map(|id| Ok(Arc::new(self.open_storage(def, self.0.data_of(id, logical)?)?)))
            .collect::<SqlResult<Vec<_>>>()?;
        let bind = self.0.options.bind_partitions;
        let bind = bind.ok_or_else(|| SqlError::internal("a store that cannot place rows in partitions"))?;
        Ok(whole.with_partitions(Some(Box::new(Partitions::new(partitions, bind(def)?)))))
    }

    fn open_storage(&self, def: &Arc<TableDef>, data: Arc<TableData>) -> SqlResult<Table> {
        self.0.open_levels(&data, def)?;
        data.vectors.retain(def);
        let layout = self.0.layout_for(&data, def)?;
        let traits = self.0.engines.get(&def.engine)?.traits();
        Table::new(def.clone(), data, layout, traits)
    }

    /// Makes the files of a table that is in no catalog yet, or never will be (a TEMPORARY table, the copy that an ALTER
    /// fills). They are gone after a restart unless a catalog with the table has been committed by then.
    pub fn create_data(&self, def: &Arc<TableDef>) -> SqlResult<Arc<Table>> {
        self.gate().check_definition(true)?;
        self.0.forget_table(def.id);
        let logical = Arc::new(LogicalTable::new(def.id));
        logical.auto_increment.store(def.auto_increment_start.max(1), Ordering::Relaxed);
        for storage in def.storages() {
            let data = self.0.create_data(def, storage, &logical, 1)?;
            if let Some(replaced) = self.0.data.write().insert(storage, data) {
                replaced.retired.store(true, Ordering::Release);
            }
        }
        self.table(def)
    }

    /// Removes the files of a table that is in no catalog.
    pub fn drop_data(&self, def: &TableDef) -> SqlResult<()> {
        let mut batch = Batch::default();
        for storage in def.storages() {
            self.0.remove_table_records(&mut batch, storage)?;
        }
        self.0.committer.write(batch, false)?;
        def.storages().for_each(|storage| self.0.drop_data(storage));
        Ok(())
    }

    /// An id for a TEMPORARY table, from the far end so that it never meets the catalog's.
    pub fn allocate_temporary_id(&self) -> TableId {
        TableId(self.0.next_temporary.fetch_sub(1, Ordering::Relaxed) as u32)
    }

    /// Takes `count` AUTO_INCREMENT values in a row and returns the first.
    pub fn next_auto_increment(&self, table: &Table, count: u64) -> u64 {
        table.data.logical.auto_increment.fetch_add(count, Ordering::Relaxed)
    }

    /// The next AUTO_INCREMENT value, not taken.
    pub fn peek_auto_increment(&self, table: &Table) -> u64 {
        table.data.logical.auto_increment.load(Ordering::Relaxed)
    }

    /// Sets the next AUTO_INCREMENT value, as ALTER TABLE … AUTO_INCREMENT does; durable when it returns. The caller
    /// keeps it above the values that are in use.
    pub fn set_auto_increment(&self, table: &Table, next: u64) -> SqlResult<()> {
        self.0.committer.set_counter(&table.data, next.max(1))
    }
}

/// Locks of a session that outlive its transactions. Dropping gives them back.
pub struct SessionLocks(pub(crate) HeldLocks);

impl SessionLocks {
    /// Locks a table. An exclusive lock is that of a definition, of LOCK TABLES … WRITE or of a bulk load, which no global read lock
    /// may come in between.
    pub fn lock(&mut self, table: TableId, mode: TableLock, wait: LockWait) -> crate::StoreResult<()> {
        if mode == TableLock::Exclusive && !is_temporary(table) {
            self.pass(wait)?;
        }
        let held = &mut self.0;
        if held.table.lock_table(held.owner, table, mode, wait)?.is_new() {
            held.tables.push((table, mode));
        }
        Ok(())
    }

    /// Gives all locks back.
    pub fn release(&mut self) {
        self.0.release();
    }
}

impl std::fmt::Debug for SessionLocks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("SessionLocks").field(&self.0.owner).finish()
    }
}

impl StoreInner {
    /// Makes the keyspace of a generation of one of a table's storages.
    pub fn create_data(
        &self,
        def: &TableDef,
        id: TableId,
        logical: &Arc<LogicalTable>,
        generation: u64,
    ) -> SqlResult<Arc<TableData>> {
        let failed = |error| self.committer.gate.files_failed(error);
        let name = keyspace_name(id, generation);
        let keyspace = self.db.create_keyspace(&name, kind_of(def, &self.engines)).map_err(failed)?;
        self.files.add(&keyspace);
        Ok(Arc::new(self.new_data(id, logical.clone(), generation, keyspace, Vec::new())))
    }

    fn new_data(
        &self,
        id: TableId,
        logical: Arc<LogicalTable>,
        generation: u64,
        keyspace: Keyspace,
        layouts: Vec<Arc<RowLayout>>,
    ) -> TableData {
        let files_seen = FilesSeen::new(self.db.seqno.clone());
        TableData::new(id, logical, generation, keyspace, files_seen, layouts, self.row_cache.clone())
    }

    /// Gives a table the levels that its engine keeps its rows in, and another one its copy of columns.
    ///
    /// # Errors
    /// 1286 if the engine is not there; those of opening a level.
    pub fn open_levels(&self, data: &TableData, def: &TableDef) -> SqlResult<()> {
        for part in TablePart::all(def) {
            let Some(engine) = self.engines.of_level(def, part)? else { continue };
            if !data.lacks_level(part) {
                continue;
            }
            // One at a time: what no list names is removed, before the first sealing can make what no list names yet.
            let _tables = self.tables.write();
            if !data.lacks_level(part) {
                continue;
            }
            let place = LevelPlace {
                storage: data.id,
                generation: data.generation,
                part,
                manifest: read_manifest(part, &data.keyspace, SeqNo::MAX)?,
                is_new: data.keyspace.is_empty().map_err(engine_error)?,
                room: DiskRoom(self.committer.gate.clone()),
            };
            data.add_level(part, engine.open(def, place)?);
        }
        Ok(())
    }

    /// The data of a table that exists, or of a storage of one that has been read before.
    pub fn data(&self, id: TableId) -> SqlResult<Arc<TableData>> {
        if let Some(data) = self.data.read().get(&id) {
            return Ok(data.clone());
        }
        self.data_of(id, &Arc::new(LogicalTable::new(id)))
    }

    /// The data of a storage of a table.
    pub fn data_of(&self, id: TableId, logical: &Arc<LogicalTable>) -> SqlResult<Arc<TableData>> {
        if let Some(data) = self.data.read().get(&id) {
            return Ok(data.clone());
        }
        let mut all = self.data.write();
        if let Some(data) = all.get(&id) {
            return Ok(data.clone());
        }
        if let Some((_, data)) = self.leaving.lock().iter().find(|(_, data)| data.id == id) {
            return Ok(data.clone());
        }
        let data = Arc::new(self.open_data(id, logical)?);
        all.insert(id, data.clone());
        Ok(data)
    }

    /// The data of a storage that a table of the catalog has.
    pub fn stored_data(&self, id: TableId) -> SqlResult<Arc<TableData>> {
        let owner = self.catalog.lock().table_of_storage(id).map(|def| def.id);
        match owner {
            Some(owner) if owner != id => self.data_of(id, &self.data(owner)?.logical),
            _ => self.data(id),
        }
    }

    fn open_data(&self, id: TableId, logical: &Arc<LogicalTable>) -> SqlResult<TableData> {
        // The definition is of a catalog that is not the newest one any more.
        let dropped = || SqlError::new(ErrorCode::DoesNotSupportSchemaChange, &[]);
        let record = self.meta.get(meta::table_key(meta::GENERATION, id)).map_err(engine_error)?.ok_or_else(dropped)?;
        let generation = TablePlace::decode(&record).ok_or_else(|| malformed("generation"))?.generation;
        let missing = || SqlError::internal(format_args!("the files of table {} are missing", id.0));
        let keyspace = self.db.keyspace(&keyspace_name(id, generation)).ok_or_else(missing)?;
        let mut layouts = Vec::new();
        for guard in self.meta.prefix(meta::table_key(meta::LAYOUT, id)) {
            let (key, record) = guard.into_inner().map_err(engine_error)?;
            // Counted from 1 without a gap: rows name their layout by its number.
            let number = u16::try_from(layouts.len() + 1).map_err(|_| malformed("row layout"))?;
            if key[..] != meta::layout_key(id, number)[..] {
                return Err(malformed("row layout"));
            }
            layouts.push(Arc::new(RowLayout::decode(number, &record).map_err(|_| malformed("row layout"))?));
        }
        let data = self.new_data(id, logical.clone(), generation, keyspace, layouts);
        if let Some(dictionary) = self.meta.get(meta::dictionary_key(id, generation)).map_err(engine_error)? {
            data.packing.set_dictionary(&dictionary);
        }
        if logical.id == id
            && let Some(next) = read_u64(&self.meta, &meta::table_key(meta::AUTO_INCREMENT, id))?
        {
            data.logical.start_auto_increment(next);
        }
        self.load_statistics(&data)?;
        Ok(data)
    }

    /// The layout that rows of a definition are written with; a new one is made durable with the first row that uses it,
    /// since the log keeps the order of commits.
    /// A table that has been used since the start.
    pub fn known_table(&self, id: TableId) -> Option<Arc<Table>> {
        self.tables.read().get(&id).cloned()
    }

    fn layout_for(&self, data: &Arc<TableData>, def: &TableDef) -> SqlResult<Arc<RowLayout>> {
        let columns = RowLayout::columns_of(def);
        if let Some(layout) = data.layouts().read().iter().rev().find(|layout| layout.columns == columns) {
            return Ok(layout.clone());
        }
        let mut layouts = data.layouts().write();
        if let Some(layout) = layouts.iter().rev().find(|layout| layout.columns == columns) {
            return Ok(layout.clone());
        }
        let number = u16::try_from(layouts.len() + 1)
            .map_err(|_| SqlError::internal("the table's columns have been changed too often; copy the table"))?;
        let layout = Arc::new(RowLayout::new(number, columns));
        let mut batch = Batch::default();
        batch.insert(&self.meta, meta::layout_key(data.id, number), layout.encode());
        self.committer.write(batch, false)?;
        layouts.push(layout.clone());
        Ok(layout)
    }

    /// Forgets a table and lets its files go as soon as no reader has them.
    pub fn drop_data(&self, id: TableId) {
        let data = self.data.write().remove(&id);
        data.iter().for_each(|data| self.retire(data));
    }

    /// As [`StoreInner::drop_data`] of a storage that the last catalog had: readers of that catalog still find its
    /// rows.
    pub fn drop_storage(&self, def: &Arc<TableDef>, id: TableId) {
        let data = {
            let mut all = self.data.write();
            let Some(data) = all.remove(&id) else { return };
            self.leaving.lock().push((Arc::downgrade(def), data.clone()));
            data
        };
        self.retire(&data);
    }

    /// Forgets dropped tables that no catalog snapshot has any more.
    pub fn forget_dropped(&self) {
        let mut leaving = self.leaving.lock();
        let (stay, gone) = std::mem::take(&mut *leaving).into_iter().partition(|(def, _)| def.strong_count() > 0);
        *leaving = stay;
        drop(leaving);
        // The last to have a table removes its files.
        drop::<Vec<_>>(gone);
    }

    /// Removes whatever a range holds, a batch at a time.
    pub fn clear_range(&self, data: &TableData, range: &crate::KeyRange) -> SqlResult<()> {
        loop {
            let mut batch = Batch::default();
            for guard in data.keyspace.range(range.to_slices()).take(CLEAR_BATCH) {
                batch.remove(&data.keyspace, guard.key().map_err(engine_error)?);
            }
            if batch.is_empty() {
                return Ok(());
            }
            self.committer.write(batch, false)?;
        }
    }

    /// Lets the files of a generation go as soon as no reader has them.
    pub fn retire(&self, data: &TableData) {
        data.retired.store(true, Ordering::Release);
        data.logical.feed.reset();
        self.forget_table(data.logical.id);
        self.files.retire(&data.keyspace);
        self.db.drop_keyspace(&data.keyspace);
    }

    /// Plans that hold the table as it was have to get it again.
    pub fn forget_table(&self, id: TableId) {
        self.tables.write().remove(&id);
    }

    fn shut_down(&self) -> SqlResult<()> {
        self.committer.close();
        self.maintenance.close();
        let this_thread = std::thread::current().id();
        for thread in self.threads.lock().drain(..) {
            // The last clone may be dropped by the maintenance thread itself.
            if thread.thread().id() != this_thread && thread.join().is_err() {
                return Err(SqlError::internal("a thread of the store has panicked"));
            }
        }
        self.save_statistics()?;
        self.committer.sync()?;
        // What is in files the next start need not read from the log.
        if self.flush()? {
            self.committer.redo.clear().map_err(|error| io_error(&error))?;
        }
        Ok(())
    }

    /// Sends all buffers to files; whether all of them arrived in time.
    fn flush(&self) -> SqlResult<bool> {
        let keyspaces = keyspaces(&self.db);
        for keyspace in keyspaces.iter().filter(|keyspace| !keyspace.tree.active_memtable().is_empty()) {
            self.committer.send_to_file(keyspace)?;
        }
        Ok(wait_for_files(&self.db, &keyspaces, Some(Instant::now() + FLUSH_TIME_MAX))?
            && keyspaces.iter().all(|keyspace| keyspace.tree.active_memtable().is_empty()))
    }
}

impl Drop for StoreInner {
    fn drop(&mut self) {
        if let Err(error) = self.shut_down() {
            // No caller is left to return it to; what was committed is in the log all the same.
            eprintln!("closing the row store: {error}");
        }
    }
}

pub(crate) fn malformed(what: &str) -> SqlError {
    SqlError::internal(format_args!("the data directory has a malformed {what} record"))
}

pub(crate) fn read_u64(meta: &Keyspace, key: &[u8]) -> SqlResult<Option<u64>> {
    match meta.get(key).map_err(engine_error)? {
        Some(value) => {
            let bytes = value[..].try_into().map_err(|_| malformed("number"))?;
            Ok(Some(u64::from_le_bytes(bytes)))
        }
        None => Ok(None),
    }
}

pub(crate) fn keyspace_name(id: TableId, generation: u64) -> String {
    format!("t{}.{generation}", id.0)
}

/// The table of a keyspace's name; `None` for the store's own records.
pub(crate) fn table_of_keyspace(name: &str) -> Option<TableId> {
    let (id, _) = name.strip_prefix('t')?.split_once('.')?;
    id.parse().ok().map(TableId)
}

pub(crate) fn keyspaces(db: &Engine) -> Vec<Keyspace> {
    db.keyspaces().values().cloned().collect()
}

/// Waits until buffers that have been sent to files are there; `false` if they are not in time, an error if they never will
/// be.
pub(crate) fn wait_for_files(db: &Engine, keyspaces: &[Keyspace], deadline: Option<Instant>) -> SqlResult<bool> {
    while keyspaces.iter().any(|keyspace| keyspace.sealed_memtable_count() > 0 && !keyspace.is_dropped()) {
        if deadline.is_some_and(|deadline| Instant::now() > deadline) {
            return Ok(false);
        }
        db.check().map_err(engine_error)?;
        std::thread::sleep(FILES_POLL);
    }
    Ok(true)
}

/// How a table's files are made.
pub(crate) fn kind_of(def: &TableDef, engines: &Engines) -> Kind {
    // Of an engine that is not there nothing is written.
    let of_engine = engines.get(&def.engine).map_or(TableCompression::Lz4, |engine| engine.traits().compression);
    match def.compression(of_engine) {
        None => Kind::Plain,
        Some(TableCompression::Lz4) => Kind::Compressed,
        Some(TableCompression::Zstd) => Kind::Packed,
    }
}

impl From<Malformed> for SqlError {
    fn from(_: Malformed) -> Self {
        malformed("catalog")
    }
}
