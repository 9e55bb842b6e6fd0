//! A table, as its readers and writers use it.

pub(crate) mod change_feed;
mod column;
mod duplicate;
mod engine_traits;
pub(crate) mod key_capture;
mod keys;
pub(crate) mod large_values;
mod logical;
pub(crate) mod packing;
mod partitions;
pub(crate) mod row;
pub(crate) mod segment_level;
mod stored_value;

pub use self::change_feed::{OnChanges, PlaceLost, RowChange, RowChangeKind};
pub use self::column::FixedColumn;
pub use self::engine_traits::{EngineTraits, TableFeature};
use self::key_capture::KeyCapture;
use self::large_values::{LargeValueLimit, Reference};
pub(crate) use self::logical::LogicalTable;
use self::packing::Packing;
pub(crate) use self::partitions::Partitions;
pub use self::row::{Row, RowView, ValueRef};
use self::row::{encode_row, variable_part};
pub use self::segment_level::{
    BlockKeys, DeltaRow, LevelFile, ManifestEntry, ReadAt, SegmentBlock, SegmentRowWriter, SegmentScan,
    SegmentSnapshot, SegmentSource, UncommittedRows,
};
use self::segment_level::{DELETED, SegmentLevel};
pub use self::stored_value::StoredValue;
use crate::engine::{AbstractTree, Keyspace, SeqNo, Slice};
use crate::error::{corrupted, engine_error};
use crate::forward_scan::FilesSeen;
use crate::index_key::is_row_key;
use crate::index_key::{IndexCodec, LARGE_VALUES, push_index_id, split_index_id};
use crate::layout::{Projection, RowLayout};
use crate::meta::TablePlace;
use crate::row_cache::{Place, RowCache, Version};
use crate::table_part::TablePart;
use crate::unused_files::UnusedFiles;
use crate::vector_graphs::VectorGraphs;
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use squall_catalog::{IndexId, TableCompression, TableDef, TableId};
use squall_types::{ErrorCode, SqlError, SqlResult, SqlType, StringKind};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// What a table is on disk, apart from its current definition.
pub(crate) struct TableData {
    /// The id that it is stored under: the table's, or that of a partition.
    pub id: TableId,
    /// The state that all partitions of the table share.
    pub logical: Arc<LogicalTable>,
    pub generation: u64,
    pub keyspace: Keyspace,
    pub files_seen: FilesSeen,
    /// Never given again while the process runs: what the cache knows its rows by. Another one when nothing of what the cache has is right
    /// any more.
    serial: AtomicU64,
    /// A row that was read at an earlier snapshot is not kept under the present number.
    serial_since: AtomicU64,
    cache: Arc<RowCache>,
    /// Files that abandoned loads may have left.
    pub unused_files: Mutex<UnusedFiles>,
    /// For rows that are packed, and for the next ones if the definition says so.
    pub packing: Packing,
    /// By number, from 1.
    layouts: RwLock<Vec<Arc<RowLayout>>>,
    /// Committed rows, as far as it is known.
    pub row_count: AtomicI64,
    /// Committed changes since statistics were saved.
    pub changes: AtomicU64,
    /// Committed changes since indexes were last sampled.
    pub changes_unsampled: AtomicU64,
    /// Committed changes of what was there before, since the buffer was last sent to a file.
    pub overwrites: AtomicU64,
    /// Whether ranges have been read since then.
    pub scanned: AtomicBool,
    /// Dropped or truncated: nothing may be written any more.
    pub retired: AtomicBool,
    /// The first sequence number at which readers find all rows. The copy that replaced a table, or a truncated table, has no
    /// earlier versions. 0 if it has been complete since the start.
    complete_since: AtomicU64,
    /// The same of indexes that were built since the start, and the newest of their sequence numbers.
    built_since: RwLock<FxHashMap<IndexId, u64>>,
    newest_built: AtomicU64,
    /// Rows in segments, if there can be any.
    segment_level: OnceLock<Arc<SegmentLevel>>,
    /// A copy of columns.
    copy: RwLock<Option<Arc<SegmentLevel>>>,
    /// The last index that was a copy and is none any more; 0 if there was none.
    copy_dropped: AtomicU32,
    /// The graphs of vector indexes.
    pub vectors: VectorGraphs,
    /// Distinct prefixes by index, as last sampled.
    pub distinct: RwLock<FxHashMap<IndexId, Vec<u64>>>,
    /// Rows that change while an index is built.
    pub captured: KeyCapture,
}

impl std::fmt::Debug for TableData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableData").field("id", &self.id).field("generation", &self.generation).finish()
    }
}

fn next_serial() -> u64 {
    static NEXT_SERIAL: AtomicU64 = AtomicU64::new(1);
    NEXT_SERIAL.fetch_add(1, Ordering::Relaxed)
}

impl TableData {
    pub fn new(
        id: TableId,
        logical: Arc<LogicalTable>,
        generation: u64,
        keyspace: Keyspace,
        files_seen: FilesSeen,
        layouts: Vec<Arc<RowLayout>>,
        cache: Arc<RowCache>,
    ) -> TableData {
        TableData {
            id,
            logical,
            generation,
            files_seen,
            keyspace,
            serial: AtomicU64::new(next_serial()),
            serial_since: AtomicU64::new(0),
            cache,
            unused_files: Mutex::default(),
            packing: Packing::default(),
            layouts: RwLock::new(layouts),
            row_count: AtomicI64::new(0),
            changes: AtomicU64::new(0),
            changes_unsampled: AtomicU64::new(0),
            overwrites: AtomicU64::new(0),
            scanned: AtomicBool::new(false),
            retired: AtomicBool::new(false),
            complete_since: AtomicU64::new(0),
            built_since: RwLock::default(),
            newest_built: AtomicU64::new(0),
            segment_level: OnceLock::new(),
            copy: RwLock::default(),
            copy_dropped: AtomicU32::new(0),
            vectors: VectorGraphs::default(),
            distinct: RwLock::default(),
            captured: KeyCapture::default(),
        }
    }

    pub fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }

    /// The record of where its rows are.
    pub fn place_record(&self) -> Vec<u8> {
        TablePlace::encode(self.generation, self.keyspace.place())
    }

    /// Readers at earlier snapshots than this one are told so: they would not find what they have seen before.
    pub fn complete_from(&self, seqno: u64) {
        self.complete_since.fetch_max(seqno, Ordering::AcqRel);
    }

    /// The same of an index.
    pub fn built_from(&self, index: IndexId, seqno: u64) {
        self.built_since.write().insert(index, seqno);
        self.newest_built.fetch_max(seqno, Ordering::AcqRel);
    }

    /// 1412 for a read of a part of the table at a sequence number before that part was complete.
    fn check_seqno(&self, key: &[u8], seqno: u64) -> SqlResult<()> {
        let newest = self.complete_since.load(Ordering::Acquire);
        if seqno >= newest && seqno >= self.newest_built.load(Ordering::Acquire) {
            return Ok(());
        }
        let is_built = |index| self.built_since.read().get(&index).is_none_or(|built| seqno >= *built);
        match seqno >= newest && split_index_id(key).is_none_or(|(index, _)| is_built(index)) {
            true => Ok(()),
            false => Err(SqlError::new(ErrorCode::DoesNotSupportSchemaChange, &[])),
        }
    }

    pub fn layout(&self, number: u16) -> Option<Arc<RowLayout>> {
        self.layouts.read().get(usize::from(number).checked_sub(1)?).cloned()
    }

    pub fn layouts(&self) -> &RwLock<Vec<Arc<RowLayout>>> {
        &self.layouts
    }

    /// The level below the store's rows.
    pub fn segment_level(&self) -> Option<&Arc<SegmentLevel>> {
        self.segment_level.get()
    }

    /// The copy of columns.
    pub fn copy(&self) -> Option<Arc<SegmentLevel>> {
        self.copy.read().clone()
    }

    /// Whether a level of a part is not open yet.
    pub fn lacks_level(&self, part: TablePart) -> bool {
        match part {
            TablePart::Rows => self.segment_level.get().is_none(),
            TablePart::Copy(index) => {
                self.copy.read().as_ref().is_none_or(|copy| copy.part != part)
                    && self.copy_dropped.load(Ordering::Acquire) < index.0
            }
        }
    }

    /// Gives the table a level of a part: of its rows once, of a copy whenever there is another.
    pub fn add_level(&self, part: TablePart, source: Arc<dyn SegmentSource>) {
        let level = Arc::new(SegmentLevel::new(part, source));
        match part {
            TablePart::Rows => _ = self.segment_level.get_or_init(|| level),
            TablePart::Copy(_) => *self.copy.write() = Some(level),
        }
    }

    /// An index is no copy any more.
    pub fn drop_copy(&self, index: IndexId) {
        self.copy_dropped.fetch_max(index.0, Ordering::AcqRel);
        let dropped = self.copy.write().take_if(|copy| copy.part == TablePart::Copy(index));
        if let Some(copy) = dropped {
            copy.source().discard();
        }
    }

    /// The store's entry at a row's key at a sequence number; `keep` for the next reader of it too.
    fn entry_at(&self, key: &[u8], seqno: SeqNo, keep: bool) -> SqlResult<Option<Slice>> {
        let place = self.cache_place(key);
        if let Some(row) = self.cache.get(&place, seqno) {
            return Ok(Some(row));
        }
        let entry = self.keyspace.tree.get_internal_entry(key, seqno).map_err(|error| engine_error(error.into()))?;
        Ok(entry.map(|entry| {
            if keep {
                self.keep(&place, &entry.value, entry.key.seqno, seqno);
            }
            entry.value
        }))
    }

    /// The newest version of a row that is visible, or one that has become so meanwhile; `visible` says up to which
    /// sequence number readers see. `None` if that cannot be told from the newest version alone, which may be none.
    pub fn newest_visible_row(&self, key: &[u8], visible: impl Fn() -> SeqNo) -> SqlResult<Option<Slice>> {
        let place = self.cache_place(key);
        let seqno = visible();
        if let Some(row) = self.cache.get(&place, seqno) {
            return Ok(Some(row));
        }
        let newest =
            self.keyspace.tree.get_internal_entry(key, SeqNo::MAX).map_err(|error| engine_error(error.into()))?;
        Ok(newest.filter(|entry| entry.key.seqno < visible()).map(|entry| {
            // Being the newest of all now, it was so at the sequence number before if it was there.
            if entry.key.seqno < seqno {
                self.keep(&place, &entry.value, entry.key.seqno, seqno);
            }
            entry.value
        }))
    }

    fn keep(&self, place: &Place<'_>, row: &[u8], written: SeqNo, read: SeqNo) {
        if read >= self.serial_since.load(Ordering::Acquire) {
            self.cache.insert(place, Version { row, written, read });
        }
    }

    /// A number that no other table has had, nor this one before all of its rows changed.
    pub fn serial(&self) -> u64 {
        self.serial.load(Ordering::Acquire)
    }

    /// Where the cache has a row.
    fn cache_place<'a>(&self, key: &'a [u8]) -> Place<'a> {
        Place::new(self.serial(), key)
    }

    /// As [`TableData::row_changed`], of all rows.
    pub fn all_rows_changed(&self, seqno: SeqNo) {
        // A reader that finds the new number finds the sequence number, too.
        self.serial_since.store(seqno, Ordering::Release);
        self.serial.store(next_serial(), Ordering::Release);
    }

    /// Makes sure that readers at `seqno` and later find the change of a row that has just been applied; before there
    /// are any.
    pub fn row_changed(&self, key: &[u8], seqno: SeqNo) {
        self.cache.forget(&self.cache_place(key), seqno);
    }

    /// Counts a commit's changes for the statistics; `segment_changes` more are of segment rows.
    pub fn count_changes(&self, row_delta: i64, changes: u64, segment_changes: u64) {
        self.changes.fetch_add(segment_changes, Ordering::Relaxed);
        self.changes_unsampled.fetch_add(segment_changes, Ordering::Relaxed);
        self.row_count.fetch_add(row_delta, Ordering::Relaxed);
        self.changes.fetch_add(changes, Ordering::Relaxed);
        self.changes_unsampled.fetch_add(changes, Ordering::Relaxed);
        if row_delta <= 0 {
            self.overwrites.fetch_add(changes, Ordering::Relaxed);
        }
    }

    /// Notes that a range is read. Written once per buffer, so readers share the line without moving it about.
    pub fn note_scan(&self) {
        if !self.scanned.load(Ordering::Relaxed) {
            self.scanned.store(true, Ordering::Relaxed);
        }
    }
}

impl Drop for TableData {
    fn drop(&mut self) {
        if self.is_retired() {
            let levels = self.segment_level.get().into_iter().chain(self.copy.get_mut().as_ref());
            levels.for_each(|level| level.source().discard());
        }
    }
}

/// A table as its readers and writers hold it: a definition together with its data. Plans keep one; it is good for as
/// long as the definition's version is the catalog's.
pub struct Table {
    def: Arc<TableDef>,
    pub(crate) data: Arc<TableData>,
    current: Arc<Projection>,
    older: RwLock<FxHashMap<u16, Arc<Projection>>>,
    /// The first one is where rows lie.
    indexes: Arc<[IndexCodec]>,
    primary_id: Option<IndexId>,
    traits: EngineTraits,
    packs_rows: bool,
    /// Ordinals of the columns whose values may lie out of their rows.
    large_columns: Arc<[usize]>,
    /// Ordinal of the AUTO_INCREMENT column.
    auto_increment: Option<usize>,
    /// Of a table that has some; its own data has no rows then.
    pub(crate) partitions: Option<Box<Partitions>>,
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Table").field("name", &self.def.name).field("data", &self.data).finish()
    }
}

impl Table {
    pub(crate) fn new(
        def: Arc<TableDef>,
        data: Arc<TableData>,
        layout: Arc<RowLayout>,
        traits: EngineTraits,
    ) -> SqlResult<Table> {
        let primary = def.primary_key();
        let rows = match primary {
            Some(primary) => IndexCodec::new(&def, primary)?,
            None => IndexCodec {
                id: IndexId(0),
                name: "GEN_CLUST_INDEX".into(),
                unique: true,
                parts: Vec::new(),
                terms: None,
                is_copy: false,
                is_hashed: false,
            },
        };
        let mut indexes = vec![rows];
        for index in def.indexes.iter().filter(|index| !index.primary && !index.is_bitmap() && !index.is_vector()) {
            if index.id == IndexId(0) {
                return Err(SqlError::internal(format_args!("index {} has the primary key's number", index.name)));
            }
            indexes.push(IndexCodec::new(&def, index)?);
        }
        // Segments have a way of their own to keep values apart from those of other columns.
        let may_be_large = |ordinal: &usize| !traits.seals_rows && may_be_large(&def.columns[*ordinal].sql_type);
        Ok(Table {
            large_columns: (0..def.columns.len()).filter(may_be_large).collect(),
            primary_id: primary.map(|index| index.id),
            // Rows that go to segments do not stay.
            packs_rows: def.compression(traits.compression) == Some(TableCompression::Zstd) && !traits.seals_rows,
            traits,
            current: Arc::new(Projection::new(&def, layout)),
            older: RwLock::default(),
            auto_increment: def.auto_increment_ordinal(),
            indexes: indexes.into(),
            data,
            def,
            partitions: None,
        })
    }

    /// The same table with other partitions.
    pub(crate) fn with_partitions(&self, partitions: Option<Box<Partitions>>) -> Table {
        Table {
            def: self.def.clone(),
            data: self.data.clone(),
            current: self.current.clone(),
            older: RwLock::default(),
            indexes: self.indexes.clone(),
            primary_id: self.primary_id,
            traits: self.traits,
            packs_rows: self.packs_rows,
            large_columns: self.large_columns.clone(),
            auto_increment: self.auto_increment,
            partitions,
        }
    }

    /// The definition.
    pub fn def(&self) -> &Arc<TableDef> {
        &self.def
    }

    /// 1412 for a read of a part of the table at a sequence number before that part was complete, or before the table was what its definition says.
    pub(crate) fn check_seqno(&self, key: &[u8], seqno: u64) -> SqlResult<()> {
        match self.data.logical.is_as_read(self.def.version, seqno) {
            true => self.data.check_seqno(key, seqno),
            false => Err(SqlError::new(ErrorCode::DoesNotSupportSchemaChange, &[])),
        }
    }

    /// The table's id.
    pub fn id(&self) -> TableId {
        self.data.logical.id
    }

    /// The id that its rows are stored under: of a partition its own, else the table's.
    pub fn storage_id(&self) -> TableId {
        self.data.id
    }

    /// The traits of the table's engine.
    pub fn traits(&self) -> &EngineTraits {
        &self.traits
    }

    /// The level below the store, if the table has one.
    pub fn segment_source(&self) -> Option<&Arc<dyn SegmentSource>> {
        self.data.segment_level().map(|level| level.source())
    }

    /// The level of the table's column copy, if it has one.
    pub fn copy_source(&self) -> Option<Arc<dyn SegmentSource>> {
        self.data.copy().map(|level| level.source().clone())
    }

    /// A row as it is stored at a key, with all values in it.
    pub fn encode_row(&self, key: &[u8], values: &[squall_types::Value]) -> SqlResult<Vec<u8>> {
        encode_row(&self.current.layout, key, values, &[])
    }

    /// Whether values of rows may lie out of them.
    pub(crate) fn has_large_columns(&self) -> bool {
        !self.large_columns.is_empty()
    }

    /// The values of a row that are to lie out of it, by ordinal, in order.
    pub(crate) fn large_values<'v>(
        &self,
        limit: LargeValueLimit,
        value_at: impl Fn(usize) -> Option<ValueRef<'v>>,
    ) -> SqlResult<Vec<(usize, Reference)>> {
        let reference = |ordinal: &usize| {
            let reference = limit.reference(variable_part(value_at(*ordinal)?)?).transpose()?;
            Some(reference.map(|reference| (*ordinal, reference)))
        };
        self.large_columns.iter().filter_map(reference).collect()
    }

    /// Whether rows are packed before they are stored.
    pub(crate) fn packs_rows(&self) -> bool {
        self.packs_rows
    }

    /// The storage key of a hidden row number.
    pub fn hidden_row_key(&self, number: u64) -> Vec<u8> {
        let mut key = Vec::with_capacity(9);
        push_index_id(IndexId(0), &mut key);
        key.extend_from_slice(&number.to_be_bytes());
        key
    }

    /// The hidden row number in a storage key.
    pub fn hidden_row_number(&self, key: &[u8]) -> SqlResult<u64> {
        hidden_row_number(key)
    }

    /// The committed row at a key as it is in a snapshot; `keep` for the next reader of it too.
    pub(crate) fn row_at(&self, key: &[u8], seqno: SeqNo, keep: bool) -> SqlResult<Option<Slice>> {
        self.or_in_segment(self.data.entry_at(key, seqno, keep)?, key, seqno)
    }

    /// The row that the store's entry at a key stands for, or the one in a segment if there is no entry.
    pub(crate) fn or_in_segment(&self, entry: Option<Slice>, key: &[u8], seqno: SeqNo) -> SqlResult<Option<Slice>> {
        let Some(level) = self.data.segment_level() else { return Ok(entry) };
        match entry {
            Some(entry) => Ok((*entry != DELETED).then_some(entry)),
            None if is_row_key(key) => Ok(level.at(&self.data.keyspace, seqno)?.get(self, key)?.map(Slice::from)),
            None => Ok(None),
        }
    }

    /// The committed row at a key as it is in a snapshot, with these segment rows below it.
    pub(crate) fn row_above(
        &self,
        key: &[u8],
        seqno: SeqNo,
        segments: &dyn SegmentSnapshot,
    ) -> SqlResult<Option<Slice>> {
        match self.data.entry_at(key, seqno, false)? {
            Some(entry) => Ok((*entry != DELETED).then_some(entry)),
            None if is_row_key(key) => Ok(segments.get(self, key)?.map(Slice::from)),
            None => Ok(None),
        }
    }

    /// The newest entry at a key, visible or not, and the sequence number of its commit if the store has it.
    pub(crate) fn newest(&self, key: &[u8]) -> SqlResult<(Option<Slice>, Option<SeqNo>)> {
        if let Some(partitions) = &self.partitions {
            for storage in self.storages_for_key(partitions, key) {
                let found = storage.newest(key)?;
                if found.0.is_some() {
                    return Ok(found);
                }
            }
            return Ok((None, None));
        }
        let _still = self.data.segment_level().map(|level| level.hold_still());
        let entry = self.data.keyspace.tree.get_internal_entry(key, SeqNo::MAX);
        let entry = entry.map_err(|error| engine_error(error.into()))?;
        let written = entry.as_ref().map(|entry| entry.key.seqno);
        Ok((self.or_in_segment(entry.map(|entry| entry.value), key, SeqNo::MAX)?, written))
    }

    /// The newest row at a key, with these segment rows below it.
    pub(crate) fn newest_above(&self, key: &[u8], segments: &dyn SegmentSnapshot) -> SqlResult<Option<Slice>> {
        let entry = self.data.keyspace.tree.get_internal_entry(key, SeqNo::MAX);
        match entry.map_err(|error| engine_error(error.into()))? {
            Some(entry) => Ok((*entry.value != DELETED).then_some(entry.value)),
            None if is_row_key(key) => Ok(segments.get(self, key)?.map(Slice::from)),
            None => Ok(None),
        }
    }

    /// Whether the newest version of the table has something at a key, of a row or of an index entry.
    pub(crate) fn has_now(&self, key: &[u8]) -> SqlResult<bool> {
        match self.data.segment_level() {
            None => self.data.keyspace.contains_key(key).map_err(engine_error),
            Some(_) => self.newest(key).map(|(newest, _)| newest.is_some()),
        }
    }

    /// A number of hidden row ids; the first one of them.
    pub(crate) fn take_row_ids(&self, count: u64) -> SqlResult<u64> {
        self.find_last_row_id()?;
        Ok(self.data.logical.next_row_id.fetch_add(count, Ordering::Relaxed))
    }

    /// Lets the counter of hidden row ids begin behind the last one. A table with partitions does so before one of them takes an id.
    pub(crate) fn find_last_row_id(&self) -> SqlResult<()> {
        let next_row_id = &self.data.logical.next_row_id;
        if next_row_id.load(Ordering::Acquire) == 0 {
            let last = match &self.partitions {
                Some(partitions) => {
                    let numbers = partitions.all().iter().map(|partition| partition.last_row_number());
                    numbers.collect::<SqlResult<Vec<_>>>()?.into_iter().max().unwrap_or(0)
                }
                None => self.last_row_number()?,
            };
            let next = last.checked_add(1).ok_or_else(|| SqlError::internal("the table's row ids are used up"))?;
            // A later statement finds the counter set; no id has been taken before it is.
            let _ = next_row_id.compare_exchange(0, next, Ordering::AcqRel, Ordering::Acquire);
        }
        Ok(())
    }

    /// The greatest hidden row id that a storage has.
    fn last_row_number(&self) -> SqlResult<u64> {
        let _still = self.data.segment_level().map(|level| level.hold_still());
        let mut prefix = Vec::new();
        push_index_id(IndexId(0), &mut prefix);
        let stored = self.data.keyspace.prefix(&prefix).next_back().map(|guard| guard.key().map_err(engine_error));
        match stored.transpose()?.max(self.last_segment_key()?) {
            Some(key) => hidden_row_number(&key),
            None => Ok(0),
        }
    }

    fn last_segment_key(&self) -> SqlResult<Option<Slice>> {
        let Some(level) = self.data.segment_level() else { return Ok(None) };
        let rows = level.at(&self.data.keyspace, SeqNo::MAX)?;
        Ok(rows.last_key(self)?.map(Slice::from))
    }

    /// Whether the table has been dropped or truncated since; it can still be read at an older snapshot.
    pub fn is_retired(&self) -> bool {
        self.data.is_retired()
    }

    /// Whether there is a newer definition, with indexes or constraints that rows which are written by this one would lack.
    pub fn is_outdated(&self) -> bool {
        self.def.version < self.data.logical.defined_since.load(Ordering::Acquire)
    }

    pub(crate) fn current_projection(&self) -> &Projection {
        &self.current
    }

    /// How to read rows of a layout; `None` for the current one.
    pub(crate) fn projection(&self, layout: u16) -> SqlResult<Option<Arc<Projection>>> {
        if layout == self.current.layout.number {
            return Ok(None);
        }
        if let Some(projection) = self.older.read().get(&layout) {
            return Ok(Some(projection.clone()));
        }
        let stored = self.data.layout(layout).ok_or_else(|| corrupted(&self.def.name))?;
        let projection = Arc::new(Projection::new(&self.def, stored));
        self.older.write().insert(layout, projection.clone());
        Ok(Some(projection))
    }

    pub(crate) fn rows_codec(&self) -> &IndexCodec {
        &self.indexes[0]
    }

    pub(crate) fn secondary_codecs(&self) -> &[IndexCodec] {
        &self.indexes[1..]
    }

    pub(crate) fn index_codec(&self, id: IndexId) -> SqlResult<&IndexCodec> {
        if id == IndexId(0) || self.primary_id == Some(id) {
            return Ok(&self.indexes[0]);
        }
        self.secondary_codecs()
            .iter()
            .find(|codec| codec.id == id)
            .ok_or_else(|| SqlError::internal(format_args!("table {} has no index {}", self.def.name, id.0)))
    }

    /// Makes sure that the row's AUTO_INCREMENT value is not given again.
    pub(crate) fn observe_auto_increment(&self, values: &[squall_types::Value]) {
        if let Some(number) = self.auto_increment_of(values) {
            self.data.logical.observe_auto_increment(number);
        }
    }

    /// The row's AUTO_INCREMENT value, if it is one that counts.
    pub(crate) fn auto_increment_of(&self, values: &[squall_types::Value]) -> Option<u64> {
        match self.auto_increment.and_then(|ordinal| values.get(ordinal))? {
            squall_types::Value::Int(number) => u64::try_from(*number).ok().filter(|number| *number > 0),
            squall_types::Value::UInt(number) => Some(*number),
            _ => None,
        }
    }

    /// Whether an index besides the primary key may refuse rows.
    pub(crate) fn has_unique_entries(&self) -> bool {
        self.secondary_codecs().iter().any(|codec| codec.unique)
    }

    /// Whether records of an index are looked up by their whole keys: rows, chunks of their values, and entries that may be there once.
    pub(crate) fn is_looked_up(&self, index: IndexId) -> bool {
        index == IndexId(0) || index == LARGE_VALUES || self.index_codec(index).is_ok_and(|codec| codec.unique)
    }

    /// Whether rows of a bulk load lie in the order in which they come, and none is left out.
    pub(crate) fn is_loaded_in_order(&self) -> bool {
        self.has_hidden_row_id() && !self.has_unique_entries()
    }

    /// Whether only a level below the store's keeps rows in the order of their primary key. Then a load of rows in that order needs no
    /// sorting.
    pub(crate) fn is_ordered_by_levels(&self) -> bool {
        !self.has_hidden_row_id() && self.data.segment_level().is_some() && self.secondary_codecs().is_empty()
    }

    /// Whether the newest version of the table has no row at a key or behind it.
    pub(crate) fn ends_before(&self, key: &[u8]) -> SqlResult<bool> {
        let _still = self.data.segment_level().map(|level| level.hold_still());
        let mut prefix = Vec::new();
        push_index_id(IndexId(0), &mut prefix);
        let stored = self.data.keyspace.prefix(&prefix).next_back().map(|guard| guard.key().map_err(engine_error));
        let last = stored.transpose()?.max(self.last_segment_key()?);
        Ok(last.is_none_or(|last| last[..] < *key))
    }

    /// Whether rows have hidden numbers instead of a primary key.
    pub fn has_hidden_row_id(&self) -> bool {
        self.primary_id.is_none()
    }

    /// Where a row with these values lies, or a new place for a table without a primary key.
    pub(crate) fn place_row(&self, values: &[squall_types::Value]) -> SqlResult<Vec<u8>> {
        let mut key = self.rows_codec().primary_key(values)?;
        if self.has_hidden_row_id() {
            key.extend_from_slice(&self.take_row_ids(1)?.to_be_bytes());
        }
        Ok(key)
    }
}

/// Whether values of a type may lie out of their rows.
fn may_be_large(sql_type: &SqlType) -> bool {
    match sql_type {
        SqlType::Json => true,
        SqlType::String { kind, .. } => matches!(kind, StringKind::Text(_) | StringKind::Geometry(_)),
        _ => false,
    }
}

fn hidden_row_number(key: &[u8]) -> SqlResult<u64> {
    let number = split_index_id(key).and_then(|(_, number)| number.try_into().ok()).map(u64::from_be_bytes);
    number.ok_or_else(|| SqlError::internal("a row number of another length"))
}
