//! Makes files of a table on several threads, and adds them to the table at once.
//!
//! The engine's ingestion has one writer, and makes a Bloom filter of all entries. Here each thread makes the files of a range of keys,
//! and entries that are not looked up by their whole key get no filter. The files are added as in the engine's ingestion
//! (`lsm_tree::tree::ingest`): the table's buffer becomes a file first, and all files get one new sequence number, at which they become
//! visible.

use crate::engine::{self, AbstractTree, Engine, Keyspace, SeqNo, Slice};
use crate::gate::WriteGate;
use crate::index_key::split_index_id;
use lsm_tree::config::{BloomConstructionPolicy, FilterPolicyEntry};
use lsm_tree::file::TABLES_FOLDER;
use lsm_tree::table::Writer;
use lsm_tree::{Checksum, InternalValue, TableId, ValueType};
use squall_accounting::work_meter::carried;
use squall_catalog::IndexId;
use squall_types::{SqlError, SqlResult};
use std::path::PathBuf;

/// Bytes of keys and values that a file has, about.
const FILE_BYTES: usize = 128 << 20;

/// The level whose settings files are made with, and which the engine takes them to belong to.
const LEVEL: usize = 1;
const LAST_LEVEL: u8 = 6;

/// A file that is complete and belongs to no table yet.
pub(crate) struct MadeFile {
    pub id: TableId,
    pub checksum: Checksum,
    /// Its keys.
    pub first: Slice,
    pub last: Slice,
}

/// The source of files, and their folder.
pub(crate) struct FilePlan<'t> {
    pub keyspace: &'t Keyspace,
    pub gate: &'t WriteGate,
    /// Whether entries of an index are looked up by their whole keys.
    pub is_looked_up: &'t (dyn Fn(IndexId) -> bool + Sync),
    /// The path of a file by its number.
    pub path: &'t (dyn Fn(TableId) -> PathBuf + Sync),
}

/// Where a keyspace has a file.
pub(crate) fn path_in(keyspace: &Keyspace, id: TableId) -> PathBuf {
    keyspace.path().join(TABLES_FOLDER).join(id.to_string())
}

/// Makes files of records in the order of their keys.
pub(crate) struct TableFiles<'t> {
    plan: &'t FilePlan<'t>,
    open: Option<OpenFile>,
    made: Vec<MadeFile>,
    last_key: Slice,
}

struct OpenFile {
    writer: Writer,
    first: Slice,
    bytes: usize,
    /// The index of the last record, and whether its records are looked up by their keys.
    index: IndexId,
    is_looked_up: bool,
}

impl<'t> TableFiles<'t> {
    pub fn new(plan: &'t FilePlan<'t>) -> TableFiles<'t> {
        TableFiles { plan, open: None, made: Vec::new(), last_key: Slice::empty() }
    }

    /// Adds a record: a key and its value, `None` if it goes.
    ///
    /// # Errors
    /// If its key is not behind all those before: nothing would be found in such a file.
    pub fn write(&mut self, key: Slice, value: Option<Slice>) -> SqlResult<()> {
        if self.last_key >= key {
            return Err(SqlError::internal("records of files that are not in order"));
        }
        self.write_behind(key, value).map_err(|error| self.plan.gate.files_failed(error))
    }

    fn write_behind(&mut self, key: Slice, value: Option<Slice>) -> engine::Result<()> {
        let index = split_index_id(&key).map_or(IndexId(0), |(index, _)| index);
        if let Some(open) = &mut self.open {
            let is_other = open.index != index && (self.plan.is_looked_up)(index) != open.is_looked_up;
            open.index = index;
            if is_other || open.bytes > FILE_BYTES {
                self.end_file()?;
            }
        }
        let open = match &mut self.open {
            Some(open) => open,
            None => self.open.insert(OpenFile::create(self.plan, index, key.clone())?),
        };
        self.last_key = key.clone();
        open.bytes += key.len() + value.as_ref().map_or(0, |value| value.len());
        let (value, kind) = value.map_or((Slice::empty(), ValueType::Tombstone), |value| (value, ValueType::Value));
        // Each file gets its sequence number when it becomes the table's.
        open.writer.write(InternalValue::from_components(key, value, 0, kind))?;
        Ok(())
    }

    fn end_file(&mut self) -> engine::Result<()> {
        if let Some(open) = self.open.take()
            && let Some((id, checksum)) = open.writer.finish()?
        {
            self.made.push(MadeFile { id, checksum, first: open.first, last: self.last_key.clone() });
        }
        Ok(())
    }

    /// The files, complete and synced.
    pub fn finish(mut self) -> SqlResult<Vec<MadeFile>> {
        self.end_file().map_err(|error| self.plan.gate.files_failed(error))?;
        Ok(self.made)
    }
}

impl OpenFile {
    fn create(plan: &FilePlan<'_>, index: IndexId, first: Slice) -> engine::Result<OpenFile> {
        let config = plan.keyspace.tree.tree_config();
        let is_looked_up = (plan.is_looked_up)(index);
        let id = plan.keyspace.tree.get_next_table_id();
        let filter = match of_level(&config.filter_policy) {
            Some(FilterPolicyEntry::Bloom(policy)) if is_looked_up => policy,
            _ => BloomConstructionPolicy::BitsPerKey(0.0),
        };
        let mut writer = Writer::new((plan.path)(id), id, LAST_LEVEL)?.use_bloom_policy(filter);
        if let Some(compression) = of_level(&config.data_block_compression_policy) {
            writer = writer.use_data_block_compression(compression);
        }
        if let Some(compression) = of_level(&config.index_block_compression_policy) {
            writer = writer.use_index_block_compression(compression);
        }
        if let Some(bytes) = of_level(&config.data_block_size_policy) {
            writer = writer.use_data_block_size(bytes);
        }
        if let Some(interval) = of_level(&config.data_block_restart_interval_policy) {
            writer = writer.use_data_block_restart_interval(interval);
        }
        if let Some(interval) = of_level(&config.index_block_restart_interval_policy) {
            writer = writer.use_index_block_restart_interval(interval);
        }
        if let Some(ratio) = of_level(&config.data_block_hash_ratio_policy) {
            writer = writer.use_data_block_hash_ratio(ratio);
        }
        if of_level(&config.index_block_partitioning_policy) == Some(true) {
            writer = writer.use_partitioned_index();
        }
        if of_level(&config.filter_block_partitioning_policy) == Some(true) {
            writer = writer.use_partitioned_filter();
        }
        Ok(OpenFile { writer, first, bytes: 0, index, is_looked_up })
    }
}

/// A policy's setting for the level of these files; levels that it does not name have the last one's.
fn of_level<T: Copy>(policy: &[T]) -> Option<T> {
    policy.get(LEVEL).or(policy.last()).copied()
}

/// Threads that make files of one table, at most.
const THREADS_MAX: usize = 16;

/// How many ranges of keys are worth a thread each.
pub(crate) fn parts_max() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX)
}

/// Does something with each of the ranges of keys that lie between keys, on a thread each; the results in their order.
pub(crate) fn for_ranges<T: Send>(
    cuts: &[impl AsRef<[u8]> + Sync],
    make: impl Fn(Option<&[u8]>, Option<&[u8]>) -> SqlResult<T> + Sync,
) -> SqlResult<Vec<T>> {
    let ends = cuts.iter().map(|cut| Some(cut.as_ref()));
    let ranges = std::iter::once(None).chain(ends.clone()).zip(ends.chain([None]));
    let make = &make;
    std::thread::scope(|scope| {
        let threads: Vec<_> = ranges.map(|(from, to)| scope.spawn(carried(move || make(from, to)))).collect();
        let panicked = || SqlError::internal("a thread that makes files of a table has panicked");
        threads.into_iter().map(|thread| thread.join().map_err(|_| panicked()).flatten()).collect()
    })
}

/// # Errors
/// If files are not in the order of their keys, each key in one of them: the engine would look for keys in the wrong file.
pub(crate) fn check_order(made: &[MadeFile]) -> SqlResult<()> {
    if made.windows(2).all(|pair| pair[0].last < pair[1].first) {
        return Ok(());
    }
    Err(SqlError::internal("files of a table whose keys are mixed"))
}

/// Makes files the keyspace's, all at once, with a sequence number or the next one. They lie [where the keyspace has them](path_in), or are
/// `put` there: meanwhile no other task looks there for files to remove. Nothing may be committed meanwhile, and all
/// that was is in the log, durably.
pub(crate) fn add_files(
    db: &Engine,
    keyspace: &Keyspace,
    files: impl IntoIterator<Item = (TableId, Checksum)>,
    sequence: Option<SeqNo>,
    put: impl FnOnce() -> engine::Result<()>,
) -> engine::Result<()> {
    let tree = &keyspace.tree;
    let config = tree.tree_config();
    {
        let no_flush = tree.get_flush_lock();
        // What the buffer has is older than the files, and must not be seen above them.
        tree.rotate_memtable();
        tree.flush(&no_flush, 0)?;
        put()?;
        let sequence = sequence.unwrap_or_else(|| db.seqno.next());
        let opened = files.into_iter().map(|(id, checksum)| {
            let (cache, descriptors) = (config.cache.clone(), config.descriptor_table.clone());
            let (path, metrics) = (path_in(keyspace, id), tree.metrics().clone());
            lsm_tree::Table::recover(path, checksum, sequence, tree.id(), cache, descriptors, false, false, metrics)
        });
        let opened = opened.collect::<lsm_tree::Result<Vec<_>>>()?;
        tree.register_tables(&opened, None, None, &[], 0)?;
    }
    keyspace.merge_files();
    Ok(())
}
