//! The key-value engine: one log-structured merge tree of `lsm_tree` for each keyspace.
//!
//! A keyspace is a tree in its own folder, a name, and its number in the redo log. The engine keeps no list of keyspaces. Records of
//! the store tell which folder belongs to which table, and become durable with the definition that makes or drops it. A folder that no
//! record names is removed. So the cost of a definition does not depend on the number of keyspaces, and a dropped keyspace leaves
//! nothing behind (`docs/decisions/0039-dropped-keyspaces.md`).
//!
//! One counter numbers all changes of all keyspaces. A snapshot is a sequence number of that counter. [Worker threads](workers) write
//! buffers to files and merge files.

mod earlier;
mod error;
mod file_list;
mod folders;
mod keyspace;
mod snapshots;
mod workers;

pub(crate) use error::{Error, Result};
pub(crate) use file_list::FileList;
pub(crate) use keyspace::{Iter, Keyspace, Kind, Place};
pub(crate) use lsm_tree::{AbstractTree, SeqNo, Slice};
pub(crate) use snapshots::Snapshot;

use folders::Folders;
use keyspace::KeyspaceInner;
use lsm_tree::compaction::Factory;
use lsm_tree::{Cache, Config, DescriptorTable, SequenceNumberCounter};
use parking_lot::{Mutex, RwLock, RwLockReadGuard};
use rustc_hash::{FxHashMap, FxHashSet};
use snapshots::Snapshots;
use squall_types::durable_files::{Readers, replace_file, sync_folder};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use workers::Queue;

/// Files that are kept open.
const OPEN_FILES_MAX: usize = 900;

/// The folder and the number of the store's own records.
const RECORDS: Place = Place { folder: 1, number: 1 };

/// Tells which files are in this form. Engines of another form must not find their files.
const MARK_FILE: &str = "version";
const MARK: &[u8] = b"squall keyspaces 1\n";

/// Filters of a keyspace's merges, by its name.
pub(crate) type MakeFilters = dyn Fn(&str) -> Option<Arc<dyn Factory>> + Send + Sync;

/// Names of keyspaces, and their folders.
pub(crate) type EarlierList = FxHashMap<String, u64>;

/// How an engine is opened.
pub(crate) struct EngineOptions {
    /// Decoded blocks kept in memory.
    pub cache_bytes: u64,
    /// At least 1.
    pub threads: usize,
    /// Asked when a keyspace is made or opened.
    pub filters: Arc<MakeFilters>,
}

/// Keyspaces in one folder. Cheap to clone; the last clone stops the threads.
#[derive(Clone)]
pub(crate) struct Engine(Arc<EngineInner>);

pub(crate) struct EngineInner {
    shared: Arc<Shared>,
    /// By name.
    keyspaces: RwLock<FxHashMap<Box<str>, Keyspace>>,
    next_number: AtomicU64,
    filters: Arc<MakeFilters>,
    threads: Vec<JoinHandle<()>>,
}

/// The part of the engine that keyspaces and threads share.
pub(crate) struct Shared {
    pub seqno: SequenceNumberCounter,
    pub snapshots: Arc<Snapshots>,
    cache: Arc<Cache>,
    descriptors: Arc<DescriptorTable>,
    folders: Folders,
    queue: Queue,
    /// Merges are asked for this many times, to be done at the same time.
    merge_threads: usize,
    /// Merges that are under way.
    merges: AtomicUsize,
    /// A file could not be written or read in the background.
    has_failed: AtomicBool,
    /// Keyspaces whose trees keep lists of files that were replaced, and with them the files.
    with_old_lists: Mutex<Vec<Weak<KeyspaceInner>>>,
}

impl std::ops::Deref for Engine {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0.shared
    }
}

impl Engine {
    /// Makes an engine in a folder that is not there yet, with the keyspace of the store's own records, of which one is written.
    pub fn create(path: &Path, options: EngineOptions, key: &[u8], value: &[u8]) -> Result<()> {
        std::fs::create_dir_all(path)?;
        replace_file(&path.join(MARK_FILE), MARK, Readers::Default)?;
        let engine = Engine::start(path, options)?;
        let records = engine.open_keyspace(RECORDS, "meta", Kind::Records, true)?;
        // Into a file of its own, since there is no log yet.
        let mut file = records.tree.ingestion()?;
        file.write(key, value)?;
        file.finish()?;
        engine.folders.sync()?;
        sync_folder(path)?;
        Ok(())
    }

    /// Opens an engine and the keyspace of the store's own records. A folder of an earlier form gives the list of its keyspaces, too:
    /// the caller makes records of them and [says so](Engine::leave_earlier_form).
    pub fn open(path: &Path, options: EngineOptions) -> Result<(Engine, Keyspace, Option<EarlierList>)> {
        let earlier = match std::fs::read(path.join(MARK_FILE))? {
            mark if mark == MARK => None,
            mark => Some(earlier::read_manifest(path, &mark)?),
        };
        let engine = Engine::start(path, options)?;
        let records = engine.open_keyspace(RECORDS, "meta", Kind::Records, false)?;
        Ok((engine, records, earlier))
    }

    fn start(path: &Path, options: EngineOptions) -> Result<Engine> {
        let seqno = SequenceNumberCounter::default();
        let threads = options.threads.max(1);
        let shared = Arc::new(Shared {
            seqno,
            snapshots: Arc::new(Snapshots::new(SequenceNumberCounter::default())),
            cache: Arc::new(Cache::with_capacity_bytes(options.cache_bytes)),
            descriptors: Arc::new(DescriptorTable::new(OPEN_FILES_MAX)),
            folders: Folders::open(path)?,
            queue: Queue::default(),
            merge_threads: threads.saturating_sub(1).max(1),
            merges: AtomicUsize::new(0),
            has_failed: AtomicBool::new(false),
            with_old_lists: Mutex::default(),
        });
        let mut inner = EngineInner {
            threads: Vec::with_capacity(threads),
            shared,
            keyspaces: RwLock::default(),
            next_number: AtomicU64::new(RECORDS.number + 1),
            filters: options.filters,
        };
        for number in 0..threads {
            let shared = inner.shared.clone();
            // One makes files of buffers only, so that these do not wait for merges.
            let is_for_flushes = number == 0 && threads > 1;
            let thread = std::thread::Builder::new().name("squall-files".into());
            inner.threads.push(thread.spawn(move || workers::run(&shared, is_for_flushes))?);
        }
        Ok(Engine(Arc::new(inner)))
    }

    /// Makes a keyspace, which a record of the caller's is to name before anything of it is durable. One that has the name already
    /// is dropped.
    pub fn create_keyspace(&self, name: &str, kind: Kind) -> Result<Keyspace> {
        let before = self.0.keyspaces.read().get(name).cloned();
        if let Some(before) = before {
            self.drop_keyspace(&before);
        }
        let folder = self.folders.take()?;
        let number = self.0.next_number.fetch_add(1, Ordering::Relaxed);
        self.open_keyspace(Place { folder, number }, name, kind, true)
    }

    /// Opens a keyspace that is there, or makes it.
    ///
    /// # Errors
    /// [`Error::Missing`] if it is not there, and is not to be made.
    pub fn open_keyspace(&self, place: Place, name: &str, kind: Kind, make: bool) -> Result<Keyspace> {
        let path = self.folders.path_of(place.folder);
        if !make && !folders::is_tree(&path)? {
            return Err(Error::Missing(name.into()));
        }
        let config = Config::new(path, self.seqno.clone(), self.snapshots.counter())
            .use_cache(self.cache.clone())
            .use_descriptor_table(Some(self.descriptors.clone()));
        let tree = keyspace::with_settings(config, kind, (self.0.filters)(name)).open()?;
        if let Some(newest) = tree.get_highest_persisted_seqno() {
            self.seqno.fetch_max(newest + 1);
            self.snapshots.publish(newest);
        }
        self.0.next_number.fetch_max(place.number + 1, Ordering::Relaxed);
        let keyspace = Keyspace::new(place, name, tree, self.0.shared.clone());
        self.0.keyspaces.write().insert(name.into(), keyspace.clone());
        Ok(keyspace)
    }

    /// Forgets a keyspace, which no record names any more. Its folder goes, or is used again, once no reader has it.
    pub fn drop_keyspace(&self, keyspace: &Keyspace) {
        keyspace.set_dropped();
        let mut keyspaces = self.0.keyspaces.write();
        if keyspaces.get(keyspace.name()).is_some_and(|same| same == keyspace) {
            keyspaces.remove(keyspace.name());
        }
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        self.folders.engine_path()
    }

    /// The file that tells the form of the folder.
    pub fn mark_file(&self) -> PathBuf {
        self.path().join(MARK_FILE)
    }

    /// All keyspaces, by name.
    pub fn keyspaces(&self) -> RwLockReadGuard<'_, FxHashMap<Box<str>, Keyspace>> {
        self.0.keyspaces.read()
    }

    /// A keyspace.
    pub fn keyspace(&self, name: &str) -> Option<Keyspace> {
        self.0.keyspaces.read().get(name).cloned()
    }

    /// Looks for folders that are no keyspace's and were there before the engine was opened. Empty ones are used again, others go.
    pub fn reclaim_folders(&self) -> Result<()> {
        let used: FxHashSet<u64> = self.0.keyspaces.read().values().map(|keyspace| keyspace.place().folder).collect();
        for folder in self.folders.reclaim(&used)? {
            self.queue.remove(folder);
        }
        Ok(())
    }

    /// The folder is in the present form: records name all keyspaces of the earlier list, durably.
    pub fn leave_earlier_form(&self) -> Result<()> {
        let path = self.folders.engine_path();
        earlier::remove_own_files(path)?;
        replace_file(&path.join(MARK_FILE), MARK, Readers::Default)?;
        Ok(())
    }

    /// A snapshot of the present.
    pub fn snapshot(&self) -> Snapshot {
        self.snapshots.open()
    }

    /// Memory that blocks of files take, bytes.
    pub fn cache_size(&self) -> u64 {
        self.cache.size()
    }

    /// Whether files are being merged.
    pub fn is_merging(&self) -> bool {
        self.merges.load(Ordering::Acquire) > 0
    }

    /// Drops files that merges have replaced, as far as no snapshot needs them any more.
    pub fn drop_old_lists(&self) {
        let waiting = std::mem::take(&mut *self.with_old_lists.lock());
        waiting.iter().filter_map(Weak::upgrade).for_each(|keyspace| Keyspace(keyspace).drop_old_lists());
    }

    /// # Errors
    /// [`Error::Stopped`] if a file could not be written or read in the background: nothing will be written any more.
    pub fn check(&self) -> Result<()> {
        if self.has_failed.load(Ordering::Acquire) { Err(Error::Stopped) } else { Ok(()) }
    }
}

impl Drop for EngineInner {
    fn drop(&mut self) {
        self.shared.queue.close();
        for thread in self.threads.drain(..) {
            // A panic of a worker is ignored here, because the log has its unwritten changes.
            let _ = thread.join();
        }
        // Keyspaces have the shared part, which has them in its queue.
        self.shared.queue.clear();
        self.keyspaces.get_mut().clear();
    }
}
