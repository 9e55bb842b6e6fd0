//! [`TableEngine`]: the interface that a storage engine implements.

use super::{HeldTable, LevelStore};
use crate::gate::DiskRoom;
use crate::table::segment_level::{ManifestEntry, SegmentSource};
use crate::table::{EngineTraits, Table};
use crate::table_part::TablePart;
use squall_catalog::{TableDef, TableId};
use squall_types::{SqlError, SqlResult};
use std::sync::{Arc, Weak};

/// Told of a table by its name, and of what went wrong with it in the background.
pub type WorkFailed = Arc<dyn Fn(&str, &SqlError) + Send + Sync>;

/// A storage engine: how the rows of its tables are kept.
///
/// All tables are tables of the [`RowStore`](crate::RowStore): it has their definitions, locks, transactions, versions, redo log and the keys that are trees,
/// and each change is made in it first. An engine says what its tables are like, and may keep rows that do not change in a form of its own,
/// a *level* below the store ([`SegmentSource`]).
///
/// | What | Who does it |
/// |---|---|
/// | CREATE, ALTER, SHOW ENGINES | ask [`name`](TableEngine::name) and [`traits`](TableEngine::traits) |
/// | open, drop, truncate | [`open`](TableEngine::open) gives a table's level; [`SegmentSource::discard`] ends it; [`retain`](TableEngine::retain) is for what a crash has left |
/// | read by key and range | the store, its own rows merged with those of [`SegmentSnapshot`](crate::SegmentSnapshot) |
/// | read by column | `executor`, from segments of column tables, if the traits say so |
/// | change | the store; the level is told by [`SegmentSource::note_changes`] and takes rows over by [`LevelStore::begin_sealing`] |
/// | load | [`SegmentSource::writer`] and [`SegmentSource::block`] |
/// | statistics | the store, which counts and samples; [`level_bytes`](TableEngine::level_bytes) |
/// | check, optimize | the store for indexes; [`check`](TableEngine::check) and [`optimize`](TableEngine::optimize) for the level |
/// | work in the background | [`start`](TableEngine::start) and [`stop`](TableEngine::stop) |
///
/// An engine without a level has a name, a comment and traits, and nothing else to do. Tables whose rows are made when they are read
/// have no definition, no locks and no transactions; they are no tables of an engine but `registry::VirtualTable`s.
pub trait TableEngine: Send + Sync {
    /// Its name, as statements, tables and the stored catalog have it. Never changed: tables are found by it.
    fn name(&self) -> &'static str;

    /// Further names that statements may use for it.
    fn other_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// Engines of other servers in whose place it stands, with a warning.
    fn replaces(&self) -> &'static [ReplacedEngine] {
        &[]
    }

    /// Its comment in SHOW ENGINES, up to 80 characters.
    fn comment(&self) -> &'static str;

    /// The traits of its tables. They never change.
    fn traits(&self) -> EngineTraits;

    /// The level of one generation of a table, which is truncated by beginning another, or of its copy of columns. Called once for each
    /// while the store is open, for tables of engines that [seal rows](EngineTraits::seals_rows) and for copies by the engine that [keeps
    /// them](EngineTraits::keeps_copies).
    ///
    /// # Errors
    /// When the level's files cannot be opened or made.
    fn open(&self, def: &TableDef, _place: LevelPlace) -> SqlResult<Arc<dyn SegmentSource>> {
        Err(SqlError::internal(format_args!("engine {} has no level for table {}", self.name(), def.name)))
    }

    /// Removes the files of tables, generations and copies that are not known. Called once, before anything is opened.
    ///
    /// # Errors
    /// When they cannot be removed.
    fn retain(&self, _known: &dyn Fn(TableId, u64, TablePart) -> bool) -> SqlResult<()> {
        Ok(())
    }

    /// The bytes of a part of a table in the level, beside those in the store.
    ///
    /// # Errors
    /// When the level cannot be read.
    fn level_bytes(&self, _store: &dyn LevelStore, _table: &Arc<Table>, _part: TablePart) -> SqlResult<LevelBytes> {
        Ok(LevelBytes::default())
    }

    /// The defects of a part of a table in the level, for CHECK TABLE. `interrupt` is called every few thousand rows, and its error ends
    /// the work.
    ///
    /// # Errors
    /// Those of `interrupt`, and when the level cannot even be opened.
    fn check(
        &self,
        _store: &dyn LevelStore,
        _table: &HeldTable,
        _part: TablePart,
        _interrupt: &dyn Fn() -> SqlResult<()>,
    ) -> SqlResult<Vec<LevelFault>> {
        Ok(Vec::new())
    }

    /// Brings a part of a table into the form that is read best, as OPTIMIZE TABLE asks, on up to `threads` threads. `interrupt` is
    /// called between steps; its error ends the work, and finished steps stay.
    ///
    /// # Errors
    /// Those of `interrupt`, of reading the table and of writing.
    fn optimize(
        &self,
        _store: &dyn LevelStore,
        _table: &HeldTable,
        _part: TablePart,
        _threads: usize,
        _interrupt: &dyn Fn() -> SqlResult<()>,
    ) -> SqlResult<Optimized> {
        Ok(Optimized::Unsupported)
    }

    /// Begins the engine's work in the background on a store that has just been opened, with up to `threads` threads at a time. It ends
    /// when the store is gone, or is [told to](TableEngine::stop). `failed` is called for what goes wrong with a table.
    ///
    /// # Errors
    /// When no thread can be started.
    fn start(&self, _store: Weak<dyn LevelStore>, _threads: usize, _failed: WorkFailed) -> SqlResult<()> {
        Ok(())
    }

    /// Ends that work after the current step.
    fn stop(&self) {}

    /// Makes a new copy of a table's columns, while others read and write the table. Asked of the engine that [keeps
    /// copies](EngineTraits::keeps_copies); without this call they are made in the background. `interrupt` as in
    /// [`TableEngine::check`].
    ///
    /// # Errors
    /// Those of `interrupt`, of reading the table and of writing.
    fn make_copy(
        &self,
        _store: &dyn LevelStore,
        table: &HeldTable,
        _interrupt: &dyn Fn() -> SqlResult<()>,
    ) -> SqlResult<()> {
        Err(SqlError::internal(format_args!("engine {} keeps no copy of table {}", self.name(), table.def().name)))
    }
}

/// An engine of another server, whose tables become those of an engine here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplacedEngine {
    /// Its name there, found in any letter case.
    pub name: &'static str,
    /// Its tables should be small: the tables that replace them are compressed by Zstandard.
    pub is_small: bool,
}

/// Where a level is opened.
pub struct LevelPlace {
    /// What is stored there: the table, or one of its partitions.
    pub storage: TableId,
    /// The storage's generation.
    pub generation: u64,
    /// The content of the level.
    pub part: TablePart,
    /// The level's manifest as it is: what else there is of it is left of work that was not committed, and may be removed.
    pub manifest: Vec<ManifestEntry>,
    /// The table has no rows, in the store neither.
    pub is_new: bool,
    /// The account that its files take their disk space from.
    pub room: DiskRoom,
}

/// The bytes of a table in a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelBytes {
    /// Rows.
    pub data: u64,
    /// Indexes, and copies of columns.
    pub index: u64,
}

/// A defect of a table's part in a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LevelFault {
    /// Something is not as it was written; what, and how that shows.
    Damaged(String),
    /// A copy shows more or fewer rows than there are.
    RowCount {
        /// Rows of the copy.
        copied: u64,
        /// Rows of the table.
        rows: u64,
    },
}

/// The result of OPTIMIZE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Optimized {
    /// All that it can.
    Done,
    /// Not all: another thread does it, or has the table locked.
    Busy,
    /// The engine's tables are always as they should be.
    Unsupported,
}
