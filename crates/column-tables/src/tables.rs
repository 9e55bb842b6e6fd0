//! All column tables of a server: where their folders are.

use crate::due_tables::{DueTables, SEAL_FROM};
use crate::entry::{entry_number, is_complete_name};
use crate::level::ColumnTable;
use squall_catalog::{IndexId, TableDef, TableId};
use squall_column_store::ColumnCache;
use squall_column_store::segment::remove_unlisted_segments;
use squall_row_store::{DiskRoom, ManifestEntry, SealedSource, SealedTables};
use squall_types::{SqlError, SqlResult};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opens column tables. Each generation of a table has a folder, `<table id>.<generation>`, and each
/// copy of columns, `<table id>.<generation>.<index id>`.
pub struct ColumnTables {
    folder: PathBuf,
    cache: Arc<ColumnCache>,
    due: Arc<DueTables>,
}

impl ColumnTables {
    /// Tables whose folders lie in a folder, which is made when there is one, and that are read through a cache.
    pub fn new(folder: PathBuf, cache: Arc<ColumnCache>) -> ColumnTables {
        ColumnTables { folder, cache, due: Arc::default() }
    }

    /// What segments are read through.
    pub fn cache(&self) -> &Arc<ColumnCache> {
        &self.cache
    }

    /// The tables that have enough delta rows.
    pub(crate) fn due(&self) -> &Arc<DueTables> {
        &self.due
    }
}

impl SealedTables for ColumnTables {
    fn open(
        &self,
        def: &TableDef,
        generation: u64,
        copy: Option<IndexId>,
        manifest: Vec<ManifestEntry>,
        is_new: bool,
        room: DiskRoom,
    ) -> SqlResult<Arc<dyn SealedSource>> {
        let folder = self.folder.join(folder_name(def.id, generation, copy));
        let number = |entry: &ManifestEntry| entry_number(&entry.name);
        let last = manifest.iter().filter_map(number).max().unwrap_or(0);
        let table = ColumnTable::new(def, copy, folder.clone(), last, self.cache.clone(), self.due.clone(), room)?;
        let listed: HashSet<OsString> =
            manifest.iter().filter_map(number).map(|number| format!("{number}.parquet").into()).collect();
        let listed: HashSet<&OsStr> = listed.iter().map(OsString::as_os_str).collect();
        remove_unlisted_segments(&folder, &listed).map_err(|error| crate::sql_error(&def.name, error))?;
        let is_copied = manifest.iter().any(|entry| is_complete_name(&entry.name));
        if !is_new || copy.is_some() && !is_copied {
            // However many delta rows there are of before the start, or all are to be copied.
            table.note_changes(SEAL_FROM);
        }
        Ok(Arc::new(table))
    }

    fn retain(&self, known: &dyn Fn(TableId, u64, Option<IndexId>) -> bool) -> SqlResult<()> {
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
            if parsed.is_some_and(|(table, generation, copy)| !known(table, generation, copy)) {
                std::fs::remove_dir_all(&path).map_err(|error| failed(&path, error))?;
            }
        }
        Ok(())
    }
}

fn folder_name(table: TableId, generation: u64, copy: Option<IndexId>) -> String {
    match copy {
        None => format!("{}.{generation}", table.0),
        Some(index) => format!("{}.{generation}.{}", table.0, index.0),
    }
}

/// The table of a segment's file; `None` if the file does not lie in a table's folder.
pub fn table_of_segment(path: &Path) -> Option<TableId> {
    parse_folder_name(path.parent()?.file_name()?.to_str()?).map(|(table, ..)| table)
}

fn parse_folder_name(name: &str) -> Option<(TableId, u64, Option<IndexId>)> {
    let mut parts = name.split('.');
    let (table, generation) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let copy = parts.next().map(|index| index.parse().map(IndexId)).transpose().ok()?;
    parts.next().is_none().then_some((TableId(table), generation, copy))
}
