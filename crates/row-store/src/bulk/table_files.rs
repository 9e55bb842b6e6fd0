//! Files of a table, made beside the engine's own: on as many threads as wanted, and the table's all at once.
//!
//! The engine's ingestion has one writer, and makes a Bloom filter of everything. Here each thread makes the files of a range of keys, and
//! entries that nobody looks up by their whole key get no filter. What is done when the files become the table's is what
//! the engine's ingestion does (`lsm_tree::tree::ingest`): its buffer becomes a file before, and all of them have one new sequence number, so that
//! they are seen from one moment on.

use crate::engine::{self, AbstractTree, Engine, Slice};
use crate::index_key::split_index_id;
use crate::store::RowStore;
use crate::table::Table;
use lsm_tree::config::{BloomConstructionPolicy, FilterPolicyEntry};
use lsm_tree::file::TABLES_FOLDER;
use lsm_tree::table::Writer;
use lsm_tree::{Checksum, InternalValue, TableId, ValueType};
use squall_catalog::IndexId;
use squall_types::{SqlError, SqlResult};

/// Bytes of keys and values that a file has, about.
const FILE_BYTES: usize = 128 << 20;

/// The level whose settings files are made with, and which the engine takes them to belong to.
const LEVEL: usize = 1;
const LAST_LEVEL: u8 = 6;

/// A file that is complete and nobody's.
pub(super) struct MadeFile {
    id: TableId,
    checksum: Checksum,
    /// Its keys.
    first: Slice,
    last: Slice,
}

/// Makes files of records in the order of their keys.
pub(super) struct TableFiles<'t> {
    store: &'t RowStore,
    table: &'t Table,
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
    pub fn new(store: &'t RowStore, table: &'t Table) -> TableFiles<'t> {
        TableFiles { store, table, open: None, made: Vec::new(), last_key: Slice::empty() }
    }

    /// Adds a record.
    ///
    /// # Errors
    /// If its key is not behind all those before: nothing would be found in such a file.
    pub fn write(&mut self, key: Slice, value: Slice) -> SqlResult<()> {
        if self.last_key >= key {
            return Err(SqlError::internal("records of a load that are not in order"));
        }
        self.write_behind(key, value).map_err(|error| self.store.gate().files_failed(error))
    }

    fn write_behind(&mut self, key: Slice, value: Slice) -> engine::Result<()> {
        let index = split_index_id(&key).map_or(IndexId(0), |(index, _)| index);
        if let Some(open) = &mut self.open {
            let is_other = open.index != index && self.table.is_looked_up(index) != open.is_looked_up;
            open.index = index;
            if is_other || open.bytes > FILE_BYTES {
                self.end_file()?;
            }
        }
        let open = match &mut self.open {
            Some(open) => open,
            None => self.open.insert(OpenFile::create(self.table, index, key.clone())?),
        };
        self.last_key = key.clone();
        open.bytes += key.len() + value.len();
        // Each file gets its sequence number when it becomes the table's.
        open.writer.write(InternalValue::from_components(key, value, 0, ValueType::Value))?;
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
        self.end_file().map_err(|error| self.store.gate().files_failed(error))?;
        Ok(self.made)
    }
}

impl OpenFile {
    fn create(table: &Table, index: IndexId, first: Slice) -> engine::Result<OpenFile> {
        let tree = &table.data.keyspace.tree;
        let config = tree.tree_config();
        let is_looked_up = table.is_looked_up(index);
        let id = tree.get_next_table_id();
        let path = config.path.join(TABLES_FOLDER).join(id.to_string());
        let filter = match of_level(&config.filter_policy) {
            Some(FilterPolicyEntry::Bloom(policy)) if is_looked_up => policy,
            _ => BloomConstructionPolicy::BitsPerKey(0.0),
        };
        let mut writer = Writer::new(path, id, LAST_LEVEL)?.use_bloom_policy(filter);
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

/// Makes files the table's, all at once. Nothing may be committed meanwhile.
///
/// # Errors
/// If files are not in the order of their keys, each key in one of them: the engine would look for keys in the wrong file.
pub(super) fn add_files(store: &RowStore, table: &Table, made: Vec<MadeFile>) -> SqlResult<()> {
    if !made.windows(2).all(|pair| pair[0].last < pair[1].first) {
        return Err(SqlError::internal("files of a load whose keys are mixed"));
    }
    register(&store.0.db, table, made).map_err(|error| store.gate().files_failed(error))
}

fn register(db: &Engine, table: &Table, made: Vec<MadeFile>) -> engine::Result<()> {
    let keyspace = &table.data.keyspace;
    let tree = &keyspace.tree;
    let config = tree.tree_config();
    {
        let no_flush = tree.get_flush_lock();
        // What the buffer has is older than the files, and must not be seen above them.
        tree.rotate_memtable();
        tree.flush(&no_flush, 0)?;
        let sequence = db.seqno.next();
        let folder = config.path.join(TABLES_FOLDER);
        let recovered = made.into_iter().map(|MadeFile { id, checksum, .. }| {
            let path = folder.join(id.to_string());
            let (cache, descriptors) = (config.cache.clone(), config.descriptor_table.clone());
            let metrics = tree.metrics().clone();
            lsm_tree::Table::recover(path, checksum, sequence, tree.id(), cache, descriptors, false, false, metrics)
        });
        let files = recovered.collect::<lsm_tree::Result<Vec<_>>>()?;
        tree.register_tables(&files, None, None, &[], 0)?;
    }
    keyspace.merge_files();
    Ok(())
}
