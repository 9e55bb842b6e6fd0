//! Options of a store and of a transaction.

use crate::partition_function::PartitionBinder;
use std::time::Duration;

/// MySQL's `lock_wait_timeout`: a year.
const TABLE_LOCK_WAIT: Duration = Duration::from_secs(31_536_000);

/// When a commit counts as done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Durability {
    /// On disk: survives a power cut. Commits that wait together share one sync.
    #[default]
    Full,
    /// With the operating system: survives the death of the process.
    Os,
    /// In memory: written and synced about once a second.
    Lazy,
}

/// How a store is opened.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Decoded blocks kept in memory.
    pub cache_bytes: u64,
    /// Rows read by key kept in memory, as the store opens; see [`RowStore::resize_row_cache`](crate::RowStore::resize_row_cache).
    pub row_cache_bytes: u64,
    /// Memory for the graphs of vector indexes, as the store opens; see
    /// [`RowStore::resize_vector_memory`](crate::RowStore::resize_vector_memory).
    pub vector_memory_bytes: usize,
    /// Committed changes kept in memory, over all tables, before they are written to files. It bounds what a restart
    /// after a crash has to read again.
    pub write_buffer_bytes_max: u64,
    /// Changes of one table kept in memory before they are written to a file.
    pub table_buffer_bytes_max: u64,
    /// Memory that the changes of one transaction may take before they go to temporary files, as the store opens; see
    /// [`RowStore::set_transaction_buffer`](crate::RowStore::set_transaction_buffer).
    pub transaction_buffer_bytes: usize,
    /// Bytes of the longest value that stays in its row, as the store opens; all stay with `usize::MAX`. See
    /// [`RowStore::set_inline_values`](crate::RowStore::set_inline_values).
    pub inline_value_bytes_max: usize,
    /// Memory for sorting index entries during a bulk load or an index build; more goes to temporary files.
    pub sort_buffer_bytes: usize,
    /// Threads that make files of buffers and merge files in the background. The first only makes files of buffers, if there
    /// are others.
    pub background_threads: usize,
    /// When commits count as done, unless the transaction says otherwise.
    pub durability: Durability,
    /// Called with `true` when bulk work begins, so that the allocator keeps freed memory, and with `false` when no bulk work is
    /// left.
    pub keep_freed_memory: Option<fn(bool)>,
    /// Makes the function that places rows of a partitioned table; without one such tables cannot be opened.
    pub bind_partitions: Option<PartitionBinder>,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            cache_bytes: 128 << 20,
            row_cache_bytes: 192 << 20,
            vector_memory_bytes: 1 << 30,
            write_buffer_bytes_max: 24 << 20,
            table_buffer_bytes_max: 32 << 20,
            transaction_buffer_bytes: 64 << 20,
            inline_value_bytes_max: usize::MAX,
            sort_buffer_bytes: 64 << 20,
            background_threads: 3,
            durability: Durability::Full,
            keep_freed_memory: None,
            bind_partitions: None,
        }
    }
}

/// Isolation levels by their SQL names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum IsolationLevel {
    /// Served as READ COMMITTED.
    ReadUncommitted,
    /// A new snapshot for each statement.
    ReadCommitted,
    /// One snapshot for the transaction.
    #[default]
    RepeatableRead,
    /// One snapshot, and whatever was read is checked again at commit.
    Serializable,
}

/// How a transaction begins.
#[derive(Clone, Debug)]
pub struct TransactionOptions {
    /// Its isolation level.
    pub isolation: IsolationLevel,
    /// READ ONLY: writes fail with 1792.
    pub read_only: bool,
    /// One statement that is a transaction of its own: it works on the newest rows and never fails with 1020.
    pub autocommit: bool,
    /// `innodb_snapshot_isolation`: whether a write to a row that changed after the snapshot fails with 1020.
    pub snapshot_isolation: bool,
    /// When its commit counts as done.
    pub durability: Durability,
    /// No client waits for it at once: its commit may wait a little for those of others, so that one sync serves all.
    pub allows_commit_delay: bool,
    /// How long it waits for a global read lock: `lock_wait_timeout`.
    pub table_lock_wait: Duration,
}

impl TransactionOptions {
    /// A transaction of several statements at a level.
    pub fn new(isolation: IsolationLevel) -> Self {
        Self {
            isolation,
            read_only: false,
            autocommit: false,
            snapshot_isolation: true,
            durability: Durability::Full,
            allows_commit_delay: false,
            table_lock_wait: TABLE_LOCK_WAIT,
        }
    }

    /// A single statement.
    pub fn autocommit() -> Self {
        Self { autocommit: true, ..Self::new(IsolationLevel::RepeatableRead) }
    }
}

/// How to act on a lock that another transaction holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWait {
    /// Wait in line; 1205 after this long.
    Timeout(Duration),
    /// Fail with 3572.
    Nowait,
    /// Leave the row out.
    SkipLocked,
    /// Return [`StoreError::WouldBlock`](crate::StoreError::WouldBlock) so that the statement can move to a thread
    /// that may block.
    WouldBlock,
}

impl Default for LockWait {
    /// MySQL's `innodb_lock_wait_timeout`.
    fn default() -> Self {
        LockWait::Timeout(Duration::from_secs(50))
    }
}

/// How a row is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockMode {
    /// FOR SHARE.
    Shared,
    /// FOR UPDATE, and every write.
    Exclusive,
}

/// A lock and what to do when it is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LockRequest {
    /// Shared or exclusive.
    pub mode: LockMode,
    /// How to act when another transaction holds it.
    pub wait: LockWait,
}

/// How a table is locked. Every statement that may conflict with DDL holds one of these until its transaction ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableLock {
    /// Rows are read: keeps DDL away.
    Read,
    /// Rows are written: keeps DDL and LOCK TABLES away. Taken by every write by itself.
    Write,
    /// LOCK TABLES … READ: no session writes.
    ReadOnly,
    /// A definition is prepared: keeps other definitions away, while rows are read and written. The session takes the exclusive lock on
    /// top of it.
    Definition,
    /// LOCK TABLES … WRITE, bulk loads, DDL: no other session.
    Exclusive,
}
