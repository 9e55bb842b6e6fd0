//! An image of the store: all its files as of one commit.
//!
//! Files of tables and of levels never change, and small files that say which of them there are are read at once. The redo log has what
//! is in no file yet. So the image is what a crash at that moment would leave, and recovery makes the same tables of a copy of it. Nothing
//! is flushed. Commits wait for as long as it takes to look whether lists of files are as they were a moment ago, and definitions until
//! segments are open.

use super::{RowStore, StoreInner, keyspace_name, keyspaces};
use crate::commit::Committer;
use crate::engine::{FileList, Keyspace, Snapshot};
use crate::error::{engine_error, io_error};
use crate::meta::{self, TablePlace};
use crate::redo::LogExtent;
use crate::store::recovery::split_place;
use crate::table::segment_level::read_manifest;
use crate::table::{LevelFile, TableData};
use crate::table_part::TablePart;
use rustc_hash::FxHashMap;
use squall_catalog::{Catalog, TableDef, TableEntry, TableId};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::path::PathBuf;
use std::sync::Arc;

/// The files of a store as of one commit. They can be read as long as it is there.
pub struct StoreImage {
    /// Changes with smaller sequence numbers are in it.
    pub seqno: u64,
    /// The files, with their paths as they are now.
    pub files: Vec<ImageFile>,
    _lists: Vec<FileList>,
    log: Option<LogHold>,
}

/// A file of an image.
pub struct ImageFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it has.
    pub content: ImageContent,
}

/// The content of a file of an image.
pub enum ImageContent {
    /// These bytes. The file itself may have others by now.
    Bytes(Vec<u8>),
    /// So many bytes from the beginning on. What is behind them changes.
    Beginning(u64),
    /// All of the file, which never changes.
    Table {
        /// Its length.
        bytes: u64,
        /// XXH3-128 of its content.
        checksum: u128,
    },
    /// All of a file that never changes, and that has no name any more if its level does not need it.
    Level(LevelFile),
}

impl ImageContent {
    /// Its length.
    pub fn bytes(&self) -> u64 {
        match self {
            ImageContent::Bytes(bytes) => bytes.len() as u64,
            ImageContent::Beginning(bytes) | ImageContent::Table { bytes, .. } => *bytes,
            ImageContent::Level(file) => file.bytes,
        }
    }
}

impl StoreImage {
    /// The log has been copied, and its segments may go.
    pub fn release_log(&mut self) {
        self.log = None;
    }
}

/// Keeps the segments of the log until it is dropped.
struct LogHold(Arc<Committer>);

impl LogHold {
    fn of(committer: &Arc<Committer>) -> LogHold {
        committer.redo.hold();
        LogHold(committer.clone())
    }
}

impl Drop for LogHold {
    fn drop(&mut self) {
        self.0.redo.release();
    }
}

/// The lists of keyspaces, by their names.
type Lists = FxHashMap<Box<str>, (Keyspace, FileList)>;

/// What is as of one commit.
struct Moment {
    catalog: Catalog,
    snapshot: Snapshot,
    log: LogExtent,
    lists: Lists,
    /// Storages that have been opened, each by its keyspace's name.
    tables: FxHashMap<String, Arc<TableData>>,
}

impl RowStore {
    /// Takes an image of the store as it is now, with all commits that are acknowledged.
    ///
    /// # Errors
    /// The system's, of small files and of the log, and 1034 of a level's file that is not as it was written.
    pub fn image(&self) -> SqlResult<StoreImage> {
        let inner = &self.0;
        self.open_levels()?;
        let hold = LogHold::of(&inner.committer);
        // Most of the work, while commits go on.
        let known = inner.file_lists()?;
        inner.committer.sync()?;
        // From here on no definition is committed: what it drops would go with its files.
        let catalog = inner.catalog.lock();
        let moment = inner.moment(catalog.clone(), known)?;
        let levels = inner.level_files(&moment)?;
        drop(catalog);
        let mut files = vec![inner.mark_file()?, of_bytes(moment.log.checkpoint)];
        let segment = |(path, bytes)| ImageFile { path, content: ImageContent::Beginning(bytes) };
        files.extend(moment.log.segments.into_iter().map(segment));
        files.extend(
            levels.into_iter().map(|file| ImageFile { path: file.path.clone(), content: ImageContent::Level(file) }),
        );
        let seqno = moment.snapshot.seqno();
        let mut lists = inner.listed(moment.lists, &moment.snapshot)?;
        for list in &mut lists {
            files.extend(std::mem::take(&mut list.lists).map(of_bytes));
            for (path, checksum) in list.tables.drain(..) {
                let bytes = std::fs::metadata(&path).map_err(|error| io_error(&error))?.len();
                files.push(ImageFile { path, content: ImageContent::Table { bytes, checksum } });
            }
        }
        Ok(StoreImage { seqno, files, _lists: lists, log: Some(hold) })
    }

    /// Opens all tables with levels. One that is dropped before the image is taken has no files in it.
    fn open_levels(&self) -> SqlResult<()> {
        let catalog = self.load_catalog();
        for def in tables_of(&catalog) {
            match self.has_level(def).and_then(|has_level| has_level.then(|| self.table(def)).transpose()) {
                Err(error) if !error.is(ErrorCode::DoesNotSupportSchemaChange) => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    fn has_level(&self, def: &TableDef) -> SqlResult<bool> {
        for part in TablePart::all(def) {
            if self.0.engines.of_level(def, part)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl StoreInner {
    fn file_lists(&self) -> SqlResult<Lists> {
        let list = |keyspace: Keyspace| Ok((keyspace.name().into(), (keyspace.clone(), keyspace.file_list()?)));
        keyspaces(&self.db).into_iter().map(list).collect::<crate::engine::Result<_>>().map_err(engine_error)
    }

    /// Everything as of the newest commit. Lists that are known and still the newest are not read again.
    fn moment(&self, catalog: Catalog, mut known: Lists) -> SqlResult<Moment> {
        let _log = self.committer.log.lock();
        self.committer.sync()?;
        let lists = keyspaces(&self.db).into_iter().map(|keyspace| {
            let list = match known.remove(keyspace.name()) {
                Some((same, list)) if same == keyspace && list.is_newest(&keyspace) => list,
                _ => keyspace.file_list().map_err(engine_error)?,
            };
            Ok((keyspace.name().into(), (keyspace, list)))
        });
        let lists = lists.collect::<SqlResult<_>>()?;
        let data = self.data.read();
        let tables = data.values().map(|data| (data.keyspace.name().to_owned(), data.clone())).collect();
        Ok(Moment { catalog, snapshot: self.db.snapshot(), log: self.committer.redo.extent(), lists, tables })
    }

    fn mark_file(&self) -> SqlResult<ImageFile> {
        let path = self.db.mark_file();
        let content = std::fs::read(&path).map_err(|error| io_error(&error))?;
        Ok(of_bytes((path, content)))
    }

    /// The lists of the keyspaces that the store's records name in a snapshot, and of the records' own.
    fn listed(&self, mut lists: Lists, snapshot: &Snapshot) -> SqlResult<Vec<FileList>> {
        let missing = |name: &str| SqlError::internal(format_args!("the files of keyspace {name} are missing"));
        let mut take = |name: &str| lists.remove(name).map(|(_, list)| list).ok_or_else(|| missing(name));
        let mut listed = vec![take(self.meta.name())?];
        for guard in snapshot.prefix(&self.meta, [meta::GENERATION]) {
            let (key, record) = guard.into_inner().map_err(engine_error)?;
            let (id, TablePlace { generation, .. }) = split_place(&key, &record)?;
            listed.push(take(&keyspace_name(id, generation))?);
        }
        Ok(listed)
    }

    /// The files of all levels.
    fn level_files(&self, moment: &Moment) -> SqlResult<Vec<LevelFile>> {
        let mut files = Vec::new();
        for def in tables_of(&moment.catalog) {
            for part in TablePart::all(def) {
                if self.engines.of_level(def, part)?.is_none() {
                    continue;
                }
                for storage in def.storages() {
                    files.extend(self.files_of_part(moment, storage, part)?);
                }
            }
        }
        Ok(files)
    }

    fn files_of_part(&self, moment: &Moment, storage: TableId, part: TablePart) -> SqlResult<Vec<LevelFile>> {
        let record =
            moment.snapshot.get(&self.meta, meta::table_key(meta::GENERATION, storage)).map_err(engine_error)?;
        // A partitioned table has no rows of its own.
        let Some(place) = record.as_deref().and_then(TablePlace::decode) else { return Ok(Vec::new()) };
        let name = keyspace_name(storage, place.generation);
        let missing = || SqlError::internal(format_args!("the files of keyspace {name} are missing"));
        let (keyspace, _) = moment.lists.get(name.as_str()).ok_or_else(missing)?;
        let manifest = read_manifest(part, keyspace, moment.snapshot.seqno())?;
        if manifest.is_empty() {
            return Ok(Vec::new());
        }
        let data = moment.tables.get(&name).ok_or_else(missing)?;
        let level = match part {
            TablePart::Rows => data.segment_level().cloned(),
            TablePart::Copy(_) => data.copy(),
        };
        // Segments that were replaced since are open for the snapshot.
        Ok(level.ok_or_else(missing)?.source().open(manifest)?.files())
    }
}

fn tables_of(catalog: &Catalog) -> impl Iterator<Item = &Arc<TableDef>> {
    let entries = catalog.databases().values().flat_map(|database| database.tables.values());
    entries.filter_map(|entry| match entry {
        TableEntry::Table(def) => Some(def),
        TableEntry::View(_) => None,
    })
}

fn of_bytes((path, bytes): (PathBuf, Vec<u8>)) -> ImageFile {
    ImageFile { path, content: ImageContent::Bytes(bytes) }
}
