//! Counts reads and writes of each table's files. The engine does them without a call of this crate.
//!
//! - *Reads of queries*: the engine counts the blocks of each table that its cache does not have.
//! - *Written files* of buffers, merges and loads: this module compares the engine's list of a table's files with the last one. A new
//!   file was written, and a missing file was read by a merge. No file is missed: only merges remove files, and each merge calls this
//!   module when it has read its files and they are still in the list (the engine tells a filter of the merge's records when they end).
//!
//! The time is unknown. Not counted are reads when a file is opened, the engine's own lists of files, and files of loads and merges
//! that fail.

use crate::engine::{AbstractTree, Keyspace, MakeFilters};
use crate::store::{RowStore, table_of_keyspace};
use lsm_tree::compaction::filter::{CompactionFilter, Context, Factory, ItemAccessor, Verdict};
use lsm_tree::{AnyTree, Metrics, Table, Tree};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use squall_accounting::file_use::{FileTotals, IoTotals};
use squall_catalog::TableId;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock, Weak};

/// Reads and writes of the files of one table, in blocks; the part behind the rows of a file counts as one block.
#[derive(Clone, Debug)]
pub struct TableFileIo {
    /// The table; `None` for the store's own records.
    pub table: Option<TableId>,
    /// Where its files are. TRUNCATE and other statements that make a table again give it another folder.
    pub folder: PathBuf,
    /// How much. Times are not known.
    pub totals: FileTotals,
}

/// Reads and writes of row tables' files.
#[derive(Clone, Debug, Default)]
pub struct FileIo {
    /// Of tables that are there, in no order.
    pub tables: Vec<TableFileIo>,
    /// Of those whose files are gone, together.
    pub gone: FileTotals,
}

impl RowStore {
    /// Reads and writes of tables' files since the store was opened, or [`RowStore::clear_file_io`].
    pub fn file_io(&self) -> FileIo {
        self.0.files.all()
    }

    /// Counts from 0 again.
    pub fn clear_file_io(&self) {
        self.0.files.clear();
    }
}

/// The files of all keyspaces.
#[derive(Default)]
pub(crate) struct FileWatch(Mutex<Watched>);

#[derive(Default)]
struct Watched {
    /// Keyspaces that the engine is just opening or making.
    expected: Vec<Weak<KeyspaceFiles>>,
    keyspaces: Vec<Arc<KeyspaceFiles>>,
    gone: FileTotals,
}

impl FileWatch {
    /// The filters that the engine asks for when it opens or makes a keyspace.
    pub fn filters(self: &Arc<Self>) -> Arc<MakeFilters> {
        let watch = self.clone();
        Arc::new(move |name| {
            let files = Arc::new(KeyspaceFiles { name: name.into(), tree: OnceLock::new(), seen: Mutex::default() });
            let mut watched = watch.0.lock();
            watched.expected.retain(|expected| expected.strong_count() > 0);
            watched.expected.push(Arc::downgrade(&files));
            Some(Arc::new(MergeFilters(AssertUnwindSafe(files))))
        })
    }

    /// Looks at the files of a keyspace from now on; no merge may have changed them yet.
    pub fn add(&self, keyspace: &Keyspace) {
        let AnyTree::Standard(tree) = &keyspace.tree else { return };
        let mut watched = self.0.lock();
        watched.forget_gone();
        let mut expected = watched.expected.iter();
        let Some(place) = expected.position(|files| files.upgrade().is_some_and(|files| files.is_of(keyspace))) else {
            return;
        };
        let Some(files) = watched.expected.swap_remove(place).upgrade() else { return };
        // The tree has this as a part of its settings.
        let tree = Arc::downgrade(&tree.0);
        let list = Box::new(move |last| {
            let version = Tree(tree.upgrade()?).current_version();
            (Some(version.id()) != last).then(|| (version.id(), version.iter_tables().cloned().collect()))
        });
        let metrics = keyspace.tree.metrics().clone();
        if files.tree.set(WatchedTree { folder: keyspace.path().to_path_buf(), metrics, list }).is_ok() {
            files.look();
            watched.keyspaces.push(files);
        }
    }

    /// Looks at a keyspace for the last time, because its files will go.
    pub fn retire(&self, keyspace: &Keyspace) {
        let files = self.0.lock().keyspaces.iter().find(|files| files.is_of(keyspace)).cloned();
        files.iter().for_each(|files| files.look());
    }

    fn all(&self) -> FileIo {
        let (keyspaces, gone) = {
            let mut watched = self.0.lock();
            watched.forget_gone();
            (watched.keyspaces.clone(), watched.gone)
        };
        let of = |files: &Arc<KeyspaceFiles>| {
            files.look();
            let folder = files.tree.get()?.folder.clone();
            Some(TableFileIo { table: table_of_keyspace(&files.name), folder, totals: files.totals() })
        };
        FileIo { tables: keyspaces.iter().filter_map(of).collect(), gone }
    }

    fn clear(&self) {
        let keyspaces = {
            let mut watched = self.0.lock();
            watched.gone = FileTotals::default();
            watched.keyspaces.clone()
        };
        for files in keyspaces {
            files.look();
            let now = files.since_start();
            files.seen.lock().cleared = now;
        }
    }
}

impl Watched {
    /// Adds the counts of dropped keyspaces to the sums, when their settings and filters no longer exist.
    fn forget_gone(&mut self) {
        let gone = &mut self.gone;
        self.keyspaces.retain(|files| {
            let is_there = Arc::strong_count(files) > 1;
            if !is_there {
                gone.merge(&files.totals());
            }
            is_there
        });
    }
}

/// The counts of one keyspace's files.
struct KeyspaceFiles {
    name: String,
    tree: OnceLock<WatchedTree>,
    seen: Mutex<Seen>,
}

/// The version of the list of files, and those in it; `None` if it is still the last one, or the tree is gone.
type ListFiles = dyn Fn(Option<u64>) -> Option<(u64, Vec<Table>)> + Send + Sync;

struct WatchedTree {
    folder: PathBuf,
    metrics: Arc<Metrics>,
    list: Box<ListFiles>,
}

/// The list of files at the last look.
#[derive(Default)]
struct Seen {
    /// The list's version; `None` before the first look.
    version: Option<u64>,
    /// The blocks that a merge reads of its files.
    files: FxHashMap<u64, IoTotals>,
    /// The blocks that merges have read.
    read: IoTotals,
    written: IoTotals,
    /// The counts when the counters were cleared.
    cleared: FileTotals,
}

impl KeyspaceFiles {
    fn is_of(&self, keyspace: &Keyspace) -> bool {
        *self.name == *keyspace.name()
    }

    /// Finds out which files have come and gone. The engine's locks may not be held.
    fn look(&self) {
        let Some(tree) = self.tree.get() else { return };
        let mut seen = self.seen.lock();
        // Within the lock, so that no reader sees an older list after a newer one.
        if let Some((version, files)) = (tree.list)(seen.version) {
            seen.look(version, &files);
        }
    }

    fn since_start(&self) -> FileTotals {
        let seen = self.seen.lock();
        let mut read = self
            .tree
            .get()
            .map_or(IoTotals::default(), |tree| io(tree.metrics.block_load_io_count() as u64, tree.metrics.block_io()));
        read.merge(&seen.read);
        FileTotals { read, written: seen.written, ..FileTotals::default() }
    }

    fn totals(&self) -> FileTotals {
        let now = self.since_start();
        let before = self.seen.lock().cleared;
        let since = |now: &IoTotals, before: &IoTotals| {
            io(now.count.saturating_sub(before.count), now.bytes.saturating_sub(before.bytes))
        };
        FileTotals {
            read: since(&now.read, &before.read),
            written: since(&now.written, &before.written),
            ..FileTotals::default()
        }
    }
}

fn io(count: u64, bytes: u64) -> IoTotals {
    IoTotals { count, bytes, ..IoTotals::default() }
}

impl Seen {
    fn look(&mut self, version: u64, files: &[Table]) {
        let is_first = self.version.replace(version).is_none();
        let mut before = std::mem::take(&mut self.files);
        for file in files {
            let merged = before.remove(&file.id()).unwrap_or_else(|| {
                let rows = io(file.metadata.data_block_count, file.metadata.file_size);
                if !is_first {
                    // The engine's size is that of the rows alone.
                    let bytes = std::fs::metadata(&*file.path).map_or(rows.bytes, |file| file.len());
                    self.written.merge(&io(rows.count + 1, bytes));
                }
                rows
            });
            self.files.insert(file.id(), merged);
        }
        before.values().for_each(|read| self.read.merge(read));
    }
}

/// Makes a filter for each merge of a keyspace. The engine's locks are held meanwhile.
struct MergeFilters(AssertUnwindSafe<Arc<KeyspaceFiles>>);

impl Factory for MergeFilters {
    fn name(&self) -> &str {
        "files"
    }

    fn make_filter(&self, _: &Context) -> Box<dyn CompactionFilter> {
        Box::new(MergeFilter(self.0.clone()))
    }
}

/// Lets everything through, and looks when a merge has read all.
struct MergeFilter(Arc<KeyspaceFiles>);

impl CompactionFilter for MergeFilter {
    fn filter_item(&mut self, _: ItemAccessor<'_>, _: &Context) -> lsm_tree::Result<Verdict> {
        Ok(Verdict::Keep)
    }

    fn finish(self: Box<Self>) {
        self.0.look();
    }
}
