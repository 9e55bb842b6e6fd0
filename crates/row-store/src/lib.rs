//! Row tables: transactions, locks, the row codec, indexes and recovery.
//!
//! [`RowStore`] is a directory with the catalog and all row tables in it. [`Table`] is a definition together with its data;
//! [`Transaction`] reads and writes; scans on other threads read with [`ReadView`] and [`Cursor`]. [`TableEngine`] is the interface of
//! storage engines. Who needs only a part of a store gets it by one of three traits: [`TableStore`] for plans and changes,
//! [`LevelStore`] for storage engines, [`SystemRecords`] for records of the server's own.
//!
//! Knows: the catalog's types, SQL values, the key-value engine below. Must not know: SQL text, plans, Arrow record
//! batches, sessions, sockets.
//!
//! # Life of a commit
//!
//! 1. `Transaction::insert`, `update`, `delete` lock rows (`locks`) and put encoded rows and index entries into the transaction's
//!    `WriteSet`; no other session sees them. A write set that is too large for memory goes to temporary files (`write_set`), and at
//!    the commit to files of the tables (`changes`, `pending_files`).
//! 2. `Transaction::commit_async` hands write set and locks to `Committer::commit` as a `CommitRequest` and returns a [`CommitTicket`].
//! 3. Under one lock, SERIALIZABLE reads are checked against recent commits (`CommitLog::is_valid`), the changes, with the
//!    AUTO_INCREMENT counters that moved, are appended to the log (`redo`) and applied to the engine's memory tables
//!    (`Committer::apply`). Readers do not see them: they read at an earlier snapshot (`VisibleSnapshot`).
//! 4. The commit thread (`Committer::run`) takes all waiting commits and syncs the log: one write, one sync.
//! 5. Then readers see the changes, and the locks are released.
//! 6. The tickets are completed, which wakes their connections.
//! 7. After each 24 MB of changes the background thread (`maintenance`) lets the memory tables be written to files.
//!
//! From the bottom up: `engine` (the key-value engine), `index_key`, `locks`, `table` (its rows, keys and the level below the store's),
//! `write_set`, `redo`, `commit`, `store` (with recovery, definitions, storage engines and the background thread), `read_view`, `transaction`,
//! `prepared` (branches of global transactions), `bulk`.

mod batch;
mod bulk;
mod bytes;
mod catalog_codec;
mod changes;
mod check;
mod commit;
mod conflicts;
mod directory_lock;
mod engine;
mod error;
mod follower;
mod forward_scan;
mod gate;
mod index_key;
mod kept_samples;
mod layout;
mod locks;
mod log_check;
mod memory_reuse;
mod meta;
mod nearest;
mod options;
mod partition_codec;
mod partition_function;
mod pending_files;
mod physical;
mod prepared;
mod read_view;
mod redo;
mod routine_codec;
mod row_cache;
mod row_capture;
mod row_key;
mod sample;
mod sealing;
mod sorter;
mod statistics;
mod store;
mod table;
mod table_files;
mod table_part;
mod table_store;
mod ticket;
mod transaction;
mod trigger_codec;
mod unused_files;
mod validation;
mod value_codec;
mod value_text;
mod vector_graphs;
mod visible;
mod write_set;
mod written;

pub use bulk::{
    BulkEncoder, BulkLoad, BulkOutcome, BulkWriter, CheckBuild, EncodedRows, OnDuplicate, OnlineIndexBuild, RowIds,
};
pub use bytes::{Malformed, Reader, Writer};
pub use catalog_codec::{read_type, write_type};
pub use check::IndexFault;
pub use directory_lock::DirectoryLock;
pub use error::{DuplicateKey, StoreError, StoreResult};
pub use follower::Follower;
pub use gate::DiskRoom;
pub use index_key::{Direction, KeyRange, RowKeyBuf, ValueRange, key_between};
pub use kept_samples::KeptSample;
pub use locks::{BACKGROUND_FAMILY, LockInfo, LockStrength, LockWaitEvent, LockWaits, RowLock, WaitTimes};
pub use nearest::Nearest;
pub use options::{
    Durability, IsolationLevel, LockMode, LockRequest, LockWait, StoreOptions, TableLock, TransactionOptions,
};
pub use partition_function::{PartitionBinder, PartitionFunction};
pub use physical::Physical;
pub use prepared::{Branches, RunningBranch, Xid};
pub use read_view::{Cursor, DeltaRows, IndexEntry, ReadView};
pub use redo::{LogContents, LogDamage, LogPlace};
pub use row_cache::RowCacheStatus;
pub use row_capture::{ChangedPiece, ChangedRows, RowCapture};
pub use row_key::RowKey;
pub use sample::SampledRows;
pub use sealing::Sealing;
pub use statistics::TableStatistics;
pub use store::{
    BACKUP_LOCK, COMMIT_LOCK, DdlChanges, EngineWork, Engines, FileIo, GLOBAL_LOCK, GlobalReadLock, HeldTable,
    ImageContent, ImageFile, LevelBytes, LevelFault, LevelPlace, LevelStore, Optimized, ReplacedEngine, RowStore,
    SessionLocks, StoreImage, SystemChange, SystemRecords, TableEngine, TableFileIo, WorkFailed,
};
pub use table::{
    BlockKeys, DeltaRow, EngineTraits, FixedColumn, LevelFile, ManifestEntry, OnChanges, PlaceLost, ReadAt, Row,
    RowChange, RowChangeKind, RowView, SegmentBlock, SegmentRowWriter, SegmentScan, SegmentSnapshot, SegmentSource,
    StoredValue, Table, TableFeature, UncommittedRows, ValueRef,
};
pub use table_part::TablePart;
pub use table_store::TableStore;
pub use ticket::CommitTicket;
pub use transaction::{LockedRow, LockingScan, PiecewiseSearch, Savepoint, Transaction};
pub use value_codec::{read_value, write_value};
pub use write_set::ManifestChange;
