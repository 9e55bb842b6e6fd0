//! The environment of a statement: its sequence number for reads, and the other inputs of its operators.

mod shared_transaction;

pub use shared_transaction::{LentTransaction, SharedTransaction, WeakTransaction};

use datafusion::common::internal_datafusion_err;
use datafusion::execution::config::SessionConfig;
use squall_catalog::Catalog;
use squall_functions::expr::ExecutionSlot;
use squall_row_store::{ReadView, TableStore};
use squall_statement_context::StatementContext;
use squall_types::{Date, DateTime, SqlError, SqlResult};
use std::sync::Arc;

/// The environment of one statement, shared by all its operators on any thread.
#[derive(Clone)]
pub struct StatementEnv {
    /// Settings, warnings, KILL.
    pub context: Arc<StatementContext>,
    /// The catalog that the statement was bound with.
    pub catalog: Arc<Catalog>,
    /// The tables, with their statistics.
    pub store: Arc<dyn TableStore>,
    /// The view to read from; a change by key needs none.
    pub view: Option<ReadView>,
    /// For locking reads.
    pub transaction: Option<SharedTransaction>,
    /// Today, in the session's time zone.
    pub current_date: Date,
    /// Where the expressions of its plan find it, if they have a slot in common.
    pub slot: Option<Arc<ExecutionSlot>>,
}

impl std::fmt::Debug for StatementEnv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatementEnv").field("catalog", &self.catalog.version).finish_non_exhaustive()
    }
}

impl StatementEnv {
    /// Puts the parts together.
    pub fn new(
        context: Arc<StatementContext>,
        catalog: Arc<Catalog>,
        store: Arc<dyn TableStore>,
        view: Option<ReadView>,
    ) -> StatementEnv {
        let current_date =
            context.settings.time_zone.from_unix_micros(context.now_micros).map_or(Date::ZERO, DateTime::date);
        StatementEnv { current_date, context, catalog, store, view, transaction: None, slot: None }
    }

    /// The environment without the parts that end with the statement.
    pub fn without_statement(&self) -> StatementEnv {
        let context = Arc::new(StatementContext::default());
        StatementEnv::new(context, self.catalog.clone(), self.store.clone(), None)
    }

    /// With the slot of the plan that is made in it.
    pub fn with_slot(mut self, slot: Arc<ExecutionSlot>) -> StatementEnv {
        self.slot = Some(slot);
        self
    }

    /// Where expressions that are added to its plan find the statement.
    pub fn execution_slot(&self) -> Arc<ExecutionSlot> {
        self.slot.clone().unwrap_or_else(|| ExecutionSlot::new(self.context.clone()))
    }

    /// The environment of the statement whose plan is made or run with a configuration.
    ///
    /// # Errors
    /// If there is none: that is a defect.
    pub fn of(config: &SessionConfig) -> datafusion::common::Result<Arc<StatementEnv>> {
        config.get_extension().ok_or_else(|| internal_datafusion_err!("an operator outside of a statement"))
    }

    /// The view to read from.
    pub fn view(&self) -> SqlResult<&ReadView> {
        self.view.as_ref().ok_or_else(|| SqlError::internal("a statement without anything to read from"))
    }
}
