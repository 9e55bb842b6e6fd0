//! Opens a store: its files, the changes that only the log has, and the remains of unfinished work.

use crate::batch::Batch;
use crate::commit::Committer;
use crate::engine::{AbstractTree, EarlierList, Engine, EngineOptions, Keyspace, Kind, Place, SeqNo};
use crate::error::{engine_error, io_error};
use crate::gate::WriteGate;
use crate::meta::{self, TablePlace};
use crate::options::StoreOptions;
use crate::pending_files::{self, FileRecord};
use crate::redo::{self, LogContents, LogError, Logged, LoggedChange, RedoLog};
use crate::store::ddl::{convert_references, load_catalog};
use crate::store::file_io::FileWatch;
use crate::store::{Engines, TEMPORARY_FOLDER, keyspace_name, keyspaces, kind_of, malformed, wait_for_files};
use crate::table_part::TablePart;
use rustc_hash::FxHashMap;
use squall_catalog::{Catalog, TableDef, TableEntry, TableId};
use squall_types::durable_files::{create_folder, sync_folder};
use squall_types::invariant;
use squall_types::{SqlError, SqlResult};
use std::path::Path;
use std::sync::Arc;

/// Version of everything the store writes while all values are in their rows.
const STORE_FORMAT: u8 = 4;
/// That of a store in which values may lie out of their rows. It differs in nothing else.
const FORMAT_OF_LARGE_VALUES: u8 = 5;
/// The one before both: the engine had a list of keyspaces.
const EARLIER_FORMAT: u8 = 3;

/// More sequence numbers than lists of files can take between two writes.
const SEQNO_GAP: u64 = 1 << 24;

/// Where the engine keeps its files.
const ENGINE_FOLDER: &str = "rows";

/// Where the log is.
pub(crate) const LOG_FOLDER: &str = "redo";

/// Where they are until they are complete.
const UNFINISHED_FOLDER: &str = "rows.unfinished";

/// The state that a store begins with.
pub(crate) struct Recovered {
    pub committer: Arc<Committer>,
    pub catalog: Catalog,
    /// Values may lie out of their rows.
    pub has_large_values: bool,
}

/// Opens or makes the files in a directory, restores all commits, and removes uncommitted changes.
pub(crate) fn recover(
    directory: &Path,
    options: &StoreOptions,
    files: &Arc<FileWatch>,
    engines: &Engines,
) -> SqlResult<Recovered> {
    let folder = directory.join(ENGINE_FOLDER);
    if !folder.try_exists().map_err(|error| io_error(&error))? {
        create(directory, &folder, options)?;
    }
    let (db, meta, earlier) = Engine::open(&folder, engine_options(options, files)).map_err(engine_error)?;
    files.add(&meta);
    check_format(&meta, earlier.is_some())?;
    let redo = replay(&db, &meta, earlier.as_ref(), &directory.join(LOG_FOLDER), files, engines)?;
    let gate = Arc::new(WriteGate::new(directory));
    let committer = Arc::new(Committer::new(db.clone(), meta.clone(), redo, gate, options.table_buffer_bytes_max));
    begin_epoch(&committer)?;
    check_sequence_numbers(&db);
    if earlier.is_some() {
        leave_earlier_form(&committer)?;
    }
    let mut has_large_values = has_format(&meta, FORMAT_OF_LARGE_VALUES)?;
    if !has_large_values && options.inline_value_bytes_max < usize::MAX {
        allow_large_values(&committer)?;
        has_large_values = true;
    }
    remove_folder(&directory.join(TEMPORARY_FOLDER))?;
    let mut catalog = load_catalog(&meta)?;
    convert_references(&mut catalog, &committer, &meta)?;
    remove_orphans(&db, &catalog, engines)?;
    Ok(Recovered { committer, catalog, has_large_values })
}

/// New changes are newer than all that recovery found: a smaller number would put them behind old versions of their rows.
fn check_sequence_numbers(db: &Engine) {
    let next = db.seqno.get();
    for keyspace in keyspaces(db) {
        let newest = keyspace.tree.get_highest_seqno();
        invariant!(newest.is_none_or(|newest| newest < next), "the next batch is {next}, and {newest:?} is there");
    }
}

/// Puts a wide gap between the engine's sequence numbers of the last run and those of this one.
///
/// The engine recovers its counter from the tables' contents and forgets numbers that it gave to lists of files. The record
/// written here makes sure that the next run begins above this one.
fn begin_epoch(committer: &Committer) -> SqlResult<()> {
    let seqno = &committer.db.seqno;
    seqno.fetch_max(seqno.get() + SEQNO_GAP);
    let mut batch = Batch::default();
    batch.insert(&committer.meta, [meta::EPOCH], seqno.get().to_le_bytes());
    committer.write(batch, true)
}

/// Restores the commits that are not yet in the tables' files, and begins a new log.
///
/// It writes them to files at once, for two reasons: this run may use the log's numbers of keyspaces again, and after a failed sync
/// the page cache may have bytes that the disk lacks.
///
/// The store's own records come first, because they name the keyspaces.
fn replay(
    db: &Engine,
    meta: &Keyspace,
    earlier: Option<&EarlierList>,
    folder: &Path,
    files: &FileWatch,
    engines: &Engines,
) -> SqlResult<RedoLog> {
    create_folder(folder).map_err(|error| io_error(&error))?;
    let (mut newest, contents) = replay_into(db, folder, std::slice::from_ref(meta))?;
    // A file must not have a part of a batch whose other part a power cut takes away.
    redo::make_durable(&contents).map_err(|error| io_error(&error))?;
    open_tables(db, meta, earlier, files, engines)?;
    let keyspaces = keyspaces(db);
    let tables: Vec<Keyspace> = keyspaces.iter().filter(|keyspace| *keyspace != meta).cloned().collect();
    pending_files::skip_numbers(db, &tables).map_err(|error| io_error(&error))?;
    newest = newest.max(replay_into(db, folder, &tables)?.0);
    if let Some(newest) = newest {
        db.seqno.fetch_max(newest + 1);
        db.snapshots.publish(newest);
        keyspaces.iter().for_each(Keyspace::rotate_memtable);
        wait_for_files(db, &keyspaces, None)?;
    }
    let log = RedoLog::begin(folder).map_err(|error| io_error(&error))?;
    pending_files::clear(db).map_err(|error| io_error(&error))?;
    Ok(log)
}

/// Puts the log's changes of some keyspaces into their buffers, unless a file has them, and registers the files that the log names.
/// Gives the number of the log's newest batch, and the part that was read.
fn replay_into(db: &Engine, folder: &Path, keyspaces: &[Keyspace]) -> SqlResult<(Option<SeqNo>, LogContents)> {
    let known: FxHashMap<u64, (&Keyspace, Option<SeqNo>)> = keyspaces
        .iter()
        .map(|keyspace| (keyspace.id(), (keyspace, keyspace.tree.get_highest_persisted_seqno())))
        .collect();
    let mut newest = None;
    let mut failed = Ok(());
    let mut apply = |sequence, changes: Vec<LoggedChange>| {
        newest = Some(sequence);
        let mut files: Vec<(&Keyspace, Vec<FileRecord>)> = Vec::new();
        for LoggedChange { keyspace, change } in changes {
            // That of a table which was dropped since is not there any more.
            let Some((keyspace, persisted)) = known.get(&keyspace) else { continue };
            if persisted.is_some_and(|persisted| sequence <= persisted) {
                continue;
            }
            match change {
                Logged::Key((key, Some(value))) => {
                    keyspace.tree.insert(key, value, sequence);
                }
                Logged::Key((key, None)) => {
                    keyspace.tree.remove(key, sequence);
                }
                Logged::File(file) => match files.last_mut().filter(|(last, _)| last == keyspace) {
                    Some((_, files)) => files.push(file),
                    None => files.push((keyspace, vec![file])),
                },
            }
        }
        for (keyspace, files) in files {
            if failed.is_ok() {
                db.seqno.fetch_max(sequence + 1);
                failed = pending_files::adopt(db, keyspace, &files, sequence);
            }
        }
    };
    let contents = redo::replay(folder, &mut apply).map_err(log_error)?;
    failed.map_err(engine_error)?;
    Ok((newest, contents))
}

/// Why a log was not replayed, with the way out.
fn log_error(error: LogError) -> SqlError {
    match error {
        LogError::Io(error) => io_error(&error),
        LogError::Damage(damage) => SqlError::internal(format_args!(
            "the redo log is damaged: {damage}. `squall check` tells what is there, `squall check --recover-to {}` gives up what was \
             committed from there on",
            damage.fragment
        )),
    }
}

/// Opens the keyspaces of all tables of the catalog.
fn open_tables(
    db: &Engine,
    meta: &Keyspace,
    earlier: Option<&EarlierList>,
    files: &FileWatch,
    engines: &Engines,
) -> SqlResult<()> {
    let catalog = load_catalog(meta)?;
    let tables = catalog.databases().values().flat_map(|database| database.tables.values());
    let kinds: FxHashMap<TableId, Kind> = tables
        .filter_map(|entry| match entry {
            TableEntry::Table(def) => Some(def.storages().map(|storage| (storage, kind_of(def, engines)))),
            TableEntry::View(_) => None,
        })
        .flatten()
        .collect();
    for guard in meta.prefix([meta::GENERATION]) {
        let (key, record) = guard.into_inner().map_err(engine_error)?;
        let (id, TablePlace { generation, place }) = split_place(&key, &record)?;
        let name = keyspace_name(id, generation);
        let in_list =
            || earlier.and_then(|list| list.get(&name)).map(|folder| Place { folder: *folder, number: *folder });
        let missing = || SqlError::internal(format_args!("the files of table {} are missing", id.0));
        let place = place.or_else(in_list).ok_or_else(missing)?;
        let kind = kinds.get(&id).copied().unwrap_or(Kind::Compressed);
        let keyspace = db.open_keyspace(place, &name, kind, false).map_err(engine_error)?;
        files.add(&keyspace);
    }
    Ok(())
}

/// The table and the place of a record of where its rows are.
pub(crate) fn split_place(key: &[u8], record: &[u8]) -> SqlResult<(TableId, TablePlace)> {
    let id = key.get(1..).and_then(|id| id.try_into().ok()).map(u32::from_be_bytes);
    id.map(TableId).zip(TablePlace::decode(record)).ok_or_else(|| malformed("generation"))
}

/// Lets the store's own records name the keyspaces that an earlier engine had a list of.
fn leave_earlier_form(committer: &Committer) -> SqlResult<()> {
    let Committer { db, meta, .. } = committer;
    let mut batch = Batch::default();
    for guard in meta.prefix([meta::GENERATION]) {
        let (key, record) = guard.into_inner().map_err(engine_error)?;
        let (id, TablePlace { generation, .. }) = split_place(&key, &record)?;
        let keyspace = db.keyspace(&keyspace_name(id, generation)).ok_or_else(|| malformed("generation"))?;
        batch.insert(meta, key, TablePlace::encode(generation, keyspace.place()));
    }
    batch.insert(meta, [meta::FORMAT], [STORE_FORMAT]);
    write_format(committer, batch)?;
    db.leave_earlier_form().map_err(engine_error)
}

/// Makes the store one in which values may lie out of their rows. Servers that cannot read such rows refuse it from now on, also if it
/// is not closed before they open it.
pub(crate) fn allow_large_values(committer: &Committer) -> SqlResult<()> {
    let mut batch = Batch::default();
    batch.insert(&committer.meta, [meta::FORMAT], [FORMAT_OF_LARGE_VALUES]);
    write_format(committer, batch)
}

/// Writes a batch that has the store's format. It is looked at before the log is read.
fn write_format(committer: &Committer, batch: Batch) -> SqlResult<()> {
    committer.write(batch, true)?;
    committer.send_to_file(&committer.meta)?;
    wait_for_files(&committer.db, std::slice::from_ref(&committer.meta), None).map(drop)
}

fn has_format(meta: &Keyspace, format: u8) -> SqlResult<bool> {
    Ok(meta.get([meta::FORMAT]).map_err(engine_error)?.is_some_and(|stored| stored[..] == [format]))
}

fn remove_folder(folder: &Path) -> SqlResult<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io_error(&error)),
        _ => Ok(()),
    }
}

/// Makes the engine's files aside and moves them into place when they are complete: the engine cannot open what a crash
/// leaves of making them.
fn create(directory: &Path, folder: &Path, options: &StoreOptions) -> SqlResult<()> {
    let unfinished = directory.join(UNFINISHED_FOLDER);
    remove_folder(&unfinished)?;
    let options = engine_options(options, &Arc::default());
    Engine::create(&unfinished, options, &[meta::FORMAT], &[STORE_FORMAT]).map_err(engine_error)?;
    std::fs::rename(&unfinished, folder).and_then(|()| sync_folder(directory)).map_err(|error| io_error(&error))
}

fn engine_options(options: &StoreOptions, files: &Arc<FileWatch>) -> EngineOptions {
    EngineOptions { cache_bytes: options.cache_bytes, threads: options.background_threads, filters: files.filters() }
}

fn check_format(meta: &Keyspace, is_earlier: bool) -> SqlResult<()> {
    match meta.get([meta::FORMAT]).map_err(engine_error)? {
        Some(format) if [STORE_FORMAT, FORMAT_OF_LARGE_VALUES].iter().any(|known| format[..] == [*known]) => Ok(()),
        Some(format) if format[..] == [EARLIER_FORMAT] && is_earlier => Ok(()),
        format => Err(SqlError::internal(format_args!(
            "the data directory has format {:?}; this server reads formats {STORE_FORMAT} and {FORMAT_OF_LARGE_VALUES}",
            format.as_deref().unwrap_or_default()
        ))),
    }
}

/// Removes folders that no catalog names: those of tables whose creation was not finished, whose drop was, and of temporary ones.
fn remove_orphans(db: &Engine, catalog: &Catalog, engines: &Engines) -> SqlResult<()> {
    db.reclaim_folders().map_err(engine_error)?;
    for engine in engines.all() {
        let has = |def: &TableDef, part| match part {
            TablePart::Rows => def.engine.as_str() == engine.name(),
            TablePart::Copy(index) => def.column_copy().is_some_and(|copy| copy.id == index),
        };
        engine.retain(&|table, generation, part| {
            catalog.table_of_storage(table).is_some_and(|def| has(def, part))
                && db.keyspaces().contains_key(keyspace_name(table, generation).as_str())
        })?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "recovery_tests.rs"]
mod tests;
