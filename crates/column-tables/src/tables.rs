//! The engine of column tables: the rules for their definitions, and the places of their folders.

use crate::background::BackgroundSealer;
use crate::due_tables::{DueTables, SEAL_FROM};
use crate::entry::{entry_number, is_complete_name};
use crate::level::{COMPRESSION, ColumnTable};
use parking_lot::Mutex;
use squall_catalog::{IndexId, IndexType, TableDef, TableId};
use squall_column_store::ColumnCache;
use squall_column_store::segment::remove_unlisted_segments;
use squall_row_store::{
    EngineTraits, HeldTable, LevelBytes, LevelFault, LevelPlace, LevelStore, ManifestEntry, Optimized, ReplacedEngine,
    SegmentSource, Table, TableEngine, TableFeature, TablePart, WorkFailed,
};
use squall_types::{SqlError, SqlResult};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

/// The name of the engine of column tables.
pub const COLUMN_ENGINE: &str = "COLUMN";

/// The engine of column tables. Each generation of a table, or of a partition, has a folder, `<id>.<generation>`, and each
/// copy of columns, `<id>.<generation>.<index id>`.
pub struct ColumnTables {
    folder: PathBuf,
    cache: Arc<ColumnCache>,
    due: Arc<DueTables>,
    sealer: Mutex<Option<BackgroundSealer>>,
}

impl ColumnTables {
    /// Tables whose folders lie in a folder, which is made when there is one, and that are read through a cache.
    pub fn new(folder: PathBuf, cache: Arc<ColumnCache>) -> ColumnTables {
        ColumnTables { folder, cache, due: Arc::default(), sealer: Mutex::default() }
    }
}

impl TableEngine for ColumnTables {
    fn name(&self) -> &'static str {
        COLUMN_ENGINE
    }

    fn other_names(&self) -> &'static [&'static str] {
        &["FASTBIT", "COLUMNSTORE"]
    }

    fn replaces(&self) -> &'static [ReplacedEngine] {
        // Of what the engines' own comparison loads, column tables take the least.
        const { &[ReplacedEngine { name: "ARCHIVE", is_small: true }, ReplacedEngine { name: "TOKUDB", is_small: true }] }
    }

    fn comment(&self) -> &'static str {
        "Column tables: compressed segments with bitmap indexes; transactions and row-level locking"
    }

    fn traits(&self) -> EngineTraits {
        EngineTraits {
            reads_by_column: true,
            changes_at_once: true,
            // A key is searched in the segments, and a row put together of their columns.
            lookup_cost: 100.0,
            seals_rows: true,
            keeps_copies: true,
            compression: COMPRESSION,
            plain_keys: IndexType::Bitmap,
            refuses: &[
                TableFeature::Temporary,
                TableFeature::ForeignKeys,
                TableFeature::FulltextKeys,
                TableFeature::ColumnarKeys,
            ],
        }
    }

    fn open(&self, def: &TableDef, place: LevelPlace) -> SqlResult<Arc<dyn SegmentSource>> {
        let folder = self.folder.join(folder_name(place.storage, place.generation, place.part));
        let number = |entry: &ManifestEntry| entry_number(&entry.name);
        let last = place.manifest.iter().filter_map(number).max().unwrap_or(0);
        let (cache, due) = (self.cache.clone(), self.due.clone());
        let table = ColumnTable::new(def, (place.storage, place.part), folder.clone(), last, cache, due, place.room)?;
        let listed: HashSet<OsString> =
            place.manifest.iter().filter_map(number).map(|number| format!("{number}.parquet").into()).collect();
        let listed: HashSet<&OsStr> = listed.iter().map(OsString::as_os_str).collect();
        remove_unlisted_segments(&folder, &listed).map_err(|error| crate::sql_error(&def.name, error))?;
        let is_copied = place.manifest.iter().any(|entry| is_complete_name(&entry.name));
        if !place.is_new || place.part != TablePart::Rows && !is_copied {
            // However many delta rows there are of before the start, or all are to be copied.
            table.note_changes(SEAL_FROM);
        }
        Ok(Arc::new(table))
    }

    fn retain(&self, known: &dyn Fn(TableId, u64, TablePart) -> bool) -> SqlResult<()> {
        let failed = |path: &Path, error| SqlError::internal(format_args!("{}: {error}", path.display()));
        let entries = match std::fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(failed(&self.folder, error)),
        };
        for entry in entries {
            let path = entry.map_err(|error| failed(&self.folder, error))?.path();
            // What has another kind of name is not ours.
            let parsed = path.file_name().and_then(OsStr::to_str).and_then(parse_folder_name);
            if parsed.is_some_and(|(table, generation, part)| !known(table, generation, part)) {
                std::fs::remove_dir_all(&path).map_err(|error| failed(&path, error))?;
            }
        }
        Ok(())
    }

    fn level_bytes(&self, store: &dyn LevelStore, table: &Arc<Table>, part: TablePart) -> SqlResult<LevelBytes> {
        let manifest = ColumnTable::manifest_of_part(&store.read_view(), table, part)?;
        let (data, index) = manifest.map_or((0, 0), |manifest| manifest.bytes());
        Ok(LevelBytes { data, index })
    }

    fn check(
        &self,
        store: &dyn LevelStore,
        table: &HeldTable,
        part: TablePart,
        interrupt: &dyn Fn() -> SqlResult<()>,
    ) -> SqlResult<Vec<LevelFault>> {
        let view = store.read_view();
        let Some(manifest) = ColumnTable::manifest_of_part(&view, table, part)? else { return Ok(Vec::new()) };
        let errors = manifest.segments().iter().filter_map(|segment| segment.segment().check().err());
        let mut faults: Vec<_> = errors.map(|error| LevelFault::Damaged(error.to_string())).collect();
        if faults.is_empty()
            && part != TablePart::Rows
            && let Some((copied, rows)) = ColumnTable::count_copy(&view, table, interrupt)?
            && copied != rows
        {
            faults.push(LevelFault::RowCount { copied, rows });
        }
        Ok(faults)
    }

    fn optimize(
        &self,
        store: &dyn LevelStore,
        table: &HeldTable,
        part: TablePart,
        threads: usize,
        interrupt: &dyn Fn() -> SqlResult<()>,
    ) -> SqlResult<Optimized> {
        let Some(part) = ColumnTable::of_part(table, part) else { return Ok(Optimized::Unsupported) };
        let work = part.optimize(store, table, threads, interrupt)?;
        Ok(if work.complete { Optimized::Done } else { Optimized::Busy })
    }

    fn start(&self, store: Weak<dyn LevelStore>, threads: usize, failed: WorkFailed) -> SqlResult<()> {
        let sealer = BackgroundSealer::start(self.due.clone(), store, threads, failed)?;
        *self.sealer.lock() = Some(sealer);
        Ok(())
    }

    fn stop(&self) {
        *self.sealer.lock() = None;
    }

    fn make_copy(
        &self,
        store: &dyn LevelStore,
        table: &HeldTable,
        interrupt: &dyn Fn() -> SqlResult<()>,
    ) -> SqlResult<()> {
        match ColumnTable::of_copy(table) {
            Some(copy) => copy.make_copy(store, table, interrupt),
            None => Ok(()),
        }
    }
}

fn folder_name(table: TableId, generation: u64, part: TablePart) -> String {
    match part {
        TablePart::Rows => format!("{}.{generation}", table.0),
        TablePart::Copy(index) => format!("{}.{generation}.{}", table.0, index.0),
    }
}

/// The table or partition of a segment's file; `None` if the file does not lie in a table's folder.
pub fn table_of_segment(path: &Path) -> Option<TableId> {
    parse_folder_name(path.parent()?.file_name()?.to_str()?).map(|(table, ..)| table)
}

fn parse_folder_name(name: &str) -> Option<(TableId, u64, TablePart)> {
    let mut parts = name.split('.');
    let (table, generation) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let copy = parts.next().map(|index| index.parse().map(IndexId)).transpose().ok()?;
    let part = copy.map_or(TablePart::Rows, TablePart::Copy);
    parts.next().is_none().then_some((TableId(table), generation, part))
}
