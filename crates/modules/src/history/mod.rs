//! The module `history`, with the databases `ps_history` and `sys_history`: copies of all tables of performance_schema, taken at
//! intervals and kept for some days.
//!
//! `docs/decisions/0023-history.md` describes their storage. The registry gives the tables and columns, so each table of
//! performance_schema has a history.
//!
//! Reading order: [`collector`] (one copy of all tables), [`ticker`] (the times of copies), [`table`] (reading), [`settings`],
//! [`procedures`]; [`view_table`] is `sys_history`, the views of [`crate::views`] over the snapshots.

mod collector;
mod procedures;
mod settings;
mod table;
mod ticker;
mod view_table;

use collector::Collector;
use settings::{PERIOD, VARIABLES};
use squall_history_store::HistoryStore;
use squall_registry::{Registry, VirtualTable};
use squall_session::{Database, Module, Procedure};
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// The name of the module, of its database and of its kind of jobs.
pub(crate) const NAME: &str = "ps_history";
/// What is copied.
pub(crate) const SOURCE: &str = "performance_schema";
/// Where it is kept, within the data directory.
const FOLDER: &str = "history";

/// The module.
#[derive(Debug, Default)]
pub struct HistoryModule {
    history: Arc<History>,
}

/// What the module's parts share. It is empty until the module is started.
#[derive(Debug, Default)]
pub(crate) struct History {
    collector: OnceLock<Arc<Collector>>,
    ticker: OnceLock<ticker::Ticker>,
}

impl History {
    /// What collects.
    pub fn collector(&self) -> SqlResult<&Arc<Collector>> {
        self.collector.get().ok_or_else(|| SqlError::new(ErrorCode::ServerShutdown, &[]))
    }

    /// Where it is kept.
    pub fn store(&self) -> SqlResult<&HistoryStore> {
        Ok(&self.collector()?.store)
    }
}

impl Module for HistoryModule {
    fn name(&self) -> &str {
        NAME
    }

    fn description(&self) -> &str {
        "Copies of performance_schema's tables over time."
    }

    fn databases(&self) -> &[&str] {
        &[NAME, view_table::NAME]
    }

    fn declare(&self, registry: &mut Registry) {
        for definition in VARIABLES {
            registry.variables.declare(*definition);
        }
        settings::tables(&self.history).into_iter().for_each(|table| registry.register_virtual_table(table));
        view_table::ViewTable::all(&self.history).into_iter().for_each(|table| registry.register_virtual_table(table));
    }

    fn declare_derived(&self, registry: &mut Registry) {
        let is_source = |table: &&Arc<dyn VirtualTable>| table.database() == SOURCE;
        let tables: Vec<_> = registry.virtual_tables().filter(is_source).cloned().collect();
        for source in tables {
            let table = table::HistoryTable::new(&self.history, source.name(), source.columns());
            registry.register_virtual_table(Arc::new(table));
        }
    }

    fn procedures(&self) -> Vec<Arc<dyn Procedure>> {
        procedures::all(&self.history)
    }

    fn start(&self, database: &Database) -> SqlResult<()> {
        let directory: PathBuf = database.directory().join(FOLDER);
        let store = HistoryStore::open(&directory)?;
        let collector = Arc::new(Collector::new(database.downgrade(), store)?);
        let ticker = ticker::Ticker::start(database, &collector)?;
        // No other task starts it.
        let _first = (self.history.collector.set(collector), self.history.ticker.set(ticker));
        Ok(())
    }

    fn variables_changed(&self) -> SqlResult<()> {
        if let Some(ticker) = self.history.ticker.get() {
            ticker.settings_changed();
        }
        Ok(())
    }

    fn stop(&self) {
        if let Some(ticker) = self.history.ticker.get() {
            ticker.stop();
        }
    }
}

/// The error for a period that is none.
pub(crate) fn bad_period() -> SqlError {
    let message = "Invalid retention period.  Should be 1 DAY, 1 WEEK, 7200 SECOND, etc";
    SqlError::signal(*b"99999", message)
}

/// Sets how long snapshots are kept, for good.
pub(crate) fn set_period(database: &Database, period: Option<&str>, user: &str) -> SqlResult<()> {
    let period = period.filter(|period| squall_types::temporal::Interval::parse_period(period).is_some());
    let period = period.ok_or_else(bad_period)?;
    database.persist_global(PERIOD, squall_types::Value::from(period.trim()), user)
}
