//! The storage engines of a store, and calls of a table's engine.

use super::table_engine::{LevelBytes, LevelFault, Optimized, ReplacedEngine, TableEngine, WorkFailed};
use super::{HeldTable, RowStore};
use crate::table::{EngineTraits, Table, TableFeature};
use crate::table_part::TablePart;
use squall_catalog::{EngineName, ROW_ENGINE, TableDef};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::{Arc, Weak};

/// The storage engines that a store has. The first is that of tables whose definition names none.
pub struct Engines(Vec<Arc<dyn TableEngine>>);

impl std::fmt::Debug for Engines {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.all().map(TableEngine::name)).finish()
    }
}

impl Default for Engines {
    fn default() -> Self {
        Engines(vec![Arc::new(RowEngine)])
    }
}

impl Engines {
    /// The engine of rows, and others. Where two have one name, the first is found.
    pub fn with(others: Vec<Arc<dyn TableEngine>>) -> Engines {
        let mut engines = Engines::default();
        engines.0.extend(others);
        engines
    }

    /// All of them, that of rows first.
    pub fn all(&self) -> impl Iterator<Item = &dyn TableEngine> {
        self.0.iter().map(|engine| &**engine)
    }

    /// The engine of tables whose definition names none.
    pub fn default_engine(&self) -> &dyn TableEngine {
        &*self.0[0]
    }

    /// The engine that a definition has, by its very name.
    ///
    /// # Errors
    /// 1286 if there is none: the table was made by a server with more engines.
    pub fn get(&self, name: &EngineName) -> SqlResult<&dyn TableEngine> {
        let found = self.all().find(|engine| engine.name() == name.as_str());
        found.ok_or_else(|| SqlError::new(ErrorCode::UnknownStorageEngine, &[&name.as_str()]))
    }

    /// The engine that a statement means, by one of its own names.
    pub fn named(&self, name: &str) -> Option<&dyn TableEngine> {
        self.all().find(|engine| {
            let names = std::iter::once(engine.name()).chain(engine.other_names().iter().copied());
            names.into_iter().any(|known| known.eq_ignore_ascii_case(name))
        })
    }

    /// The engine that replaces another server's engine, and the known properties of that; for a table that may be temporary.
    pub fn in_place_of(&self, name: &str, temporary: bool) -> Option<(&dyn TableEngine, ReplacedEngine)> {
        let (engine, replaced) = self.all().find_map(|engine| {
            let replaced = engine.replaces().iter().find(|replaced| replaced.name.eq_ignore_ascii_case(name))?;
            Some((engine, *replaced))
        })?;
        let takes = !temporary || !engine.traits().refuses(TableFeature::Temporary);
        Some((if takes { engine } else { self.default_engine() }, replaced))
    }

    /// The engine of copies of columns.
    fn keeper_of_copies(&self) -> Option<&dyn TableEngine> {
        self.all().find(|engine| engine.traits().keeps_copies)
    }

    /// The engine that keeps a part of a table in a level; `None` if no level has it.
    ///
    /// # Errors
    /// Those of [`Engines::get`].
    pub(crate) fn of_level(&self, def: &TableDef, part: TablePart) -> SqlResult<Option<&dyn TableEngine>> {
        Ok(match part {
            TablePart::Rows => Some(self.get(&def.engine)?).filter(|engine| engine.traits().seals_rows),
            TablePart::Copy(_) => self.keeper_of_copies(),
        })
    }
}

/// The engine of tables whose rows are the store's own.
struct RowEngine;

impl TableEngine for RowEngine {
    fn name(&self) -> &'static str {
        ROW_ENGINE
    }

    fn replaces(&self) -> &'static [ReplacedEngine] {
        const fn plain(name: &'static str) -> ReplacedEngine {
            ReplacedEngine { name, is_small: false }
        }
        const {
            &[
                plain("MYISAM"),
                plain("MEMORY"),
                plain("HEAP"),
                plain("ARIA"),
                plain("CSV"),
                plain("XTRADB"),
                ReplacedEngine { name: "ROCKSDB", is_small: true },
            ]
        }
    }

    fn comment(&self) -> &'static str {
        "Row tables: transactions, row-level locking and foreign keys"
    }

    fn traits(&self) -> EngineTraits {
        EngineTraits::ROWS
    }
}

/// The work of a store's engines in the background. Dropping it ends it.
pub struct EngineWork(Arc<RowStore>);

impl std::fmt::Debug for EngineWork {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("EngineWork").field(self.0.engines()).finish()
    }
}

impl EngineWork {
    /// Ends the work; what is under way ends first.
    pub fn stop(&self) {
        self.0.engines().all().for_each(TableEngine::stop);
    }
}

impl Drop for EngineWork {
    fn drop(&mut self) {
        self.stop();
    }
}

impl RowStore {
    /// Begins the engines' work in the background, with up to `threads` threads at a time each. `failed` is told of what goes wrong.
    ///
    /// # Errors
    /// Those of [`TableEngine::start`].
    pub fn start_engines(self: &Arc<Self>, threads: usize, failed: &WorkFailed) -> SqlResult<EngineWork> {
        let work = EngineWork(self.clone());
        for engine in self.engines().all() {
            let store: Weak<RowStore> = Arc::downgrade(self);
            engine.start(store, threads, failed.clone())?;
        }
        Ok(work)
    }

    /// The storage engines.
    pub fn engines(&self) -> &Arc<Engines> {
        &self.0.engines
    }

    /// The bytes of a table in levels, beside those of [`RowStore::table_stats`].
    ///
    /// # Errors
    /// When a level cannot be read.
    pub fn level_bytes(&self, table: &Arc<Table>) -> SqlResult<LevelBytes> {
        let mut bytes = LevelBytes::default();
        for part in TablePart::all(table.def()) {
            let Some(engine) = self.0.engines.of_level(table.def(), part)? else { continue };
            for storage in table.storages() {
                let LevelBytes { data, index } = engine.level_bytes(self, &storage, part)?;
                match part {
                    TablePart::Rows => bytes = LevelBytes { data: bytes.data + data, index: bytes.index + index },
                    TablePart::Copy(_) => bytes.index += data + index,
                }
            }
        }
        Ok(bytes)
    }

    /// The defects of a part of a table in its level, by [`TableEngine::check`]; none without a level.
    ///
    /// # Errors
    /// Those of [`TableEngine::check`].
    pub fn check_level(
        &self,
        table: &HeldTable,
        part: TablePart,
        interrupt: &dyn Fn() -> SqlResult<()>,
    ) -> SqlResult<Vec<LevelFault>> {
        let Some(engine) = self.0.engines.of_level(table.def(), part)? else { return Ok(Vec::new()) };
        let mut faults = Vec::new();
        for storage in table.storages() {
            faults.extend(engine.check(self, &storage, part, interrupt)?);
        }
        Ok(faults)
    }

    /// Brings a table into the form that is read best, and its copy of columns, on up to `threads` threads; tells what became of the table.
    ///
    /// # Errors
    /// Those of [`TableEngine::optimize`].
    pub fn optimize(
        &self,
        table: &HeldTable,
        threads: usize,
        interrupt: &dyn Fn() -> SqlResult<()>,
    ) -> SqlResult<Optimized> {
        let mut of_rows = Optimized::Unsupported;
        for part in TablePart::all(table.def()) {
            let Some(engine) = self.0.engines.of_level(table.def(), part)? else { continue };
            for storage in table.storages() {
                let done = engine.optimize(self, &storage, part, threads, interrupt)?;
                if part == TablePart::Rows && of_rows != Optimized::Busy {
                    of_rows = done;
                }
            }
        }
        Ok(of_rows)
    }

    /// Makes a new copy of a table's columns, if the table has one, while others read and write the table.
    ///
    /// # Errors
    /// Those of [`TableEngine::make_copy`].
    pub fn make_copy(&self, table: &HeldTable, interrupt: &dyn Fn() -> SqlResult<()>) -> SqlResult<()> {
        match self.0.engines.keeper_of_copies().filter(|_| table.def().column_copy().is_some()) {
            Some(engine) => engine.make_copy(self, table, interrupt),
            None => Ok(()),
        }
    }
}
