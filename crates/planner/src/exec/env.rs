//! What a statement runs in: the moment it reads at and whatever else its operators need to find.

use parking_lot::Mutex;
use squall_catalog::Catalog;
use squall_registry::StatementContext;
use squall_row_store::{ReadView, RowStore, Transaction};
use squall_types::temporal::TimeZone;
use squall_types::{Date, DateTime, ErrorCode, SqlError, SqlResult};
use std::sync::Arc;

/// A transaction that operators on other threads may lock rows in.
pub type SharedTransaction = Arc<Mutex<Transaction>>;

/// The surroundings of one statement, shared by everything that runs for it, on any thread.
#[derive(Clone)]
pub struct StatementEnv {
    /// Settings, warnings, KILL.
    pub context: Arc<StatementContext>,
    /// The catalog that the statement was bound with.
    pub catalog: Arc<Catalog>,
    /// The row store.
    pub store: RowStore,
    /// What is read.
    pub view: ReadView,
    /// For locking reads.
    pub transaction: Option<SharedTransaction>,
    /// The session's time zone, which TIMESTAMP columns are shown in.
    pub time_zone: TimeZone,
    /// Today, there.
    pub current_date: Date,
}

impl std::fmt::Debug for StatementEnv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StatementEnv").field("catalog", &self.catalog.version).finish_non_exhaustive()
    }
}

impl StatementEnv {
    /// Puts the parts together; the time zone is the context's.
    pub fn new(
        context: Arc<StatementContext>,
        catalog: Arc<Catalog>,
        store: RowStore,
        view: ReadView,
    ) -> SqlResult<StatementEnv> {
        let time_zone = TimeZone::parse(&context.time_zone)
            .ok_or_else(|| SqlError::new(ErrorCode::UnknownTimeZone, &[&context.time_zone]))?;
        let current_date = time_zone.from_unix_micros(context.now_micros).map_or(Date::ZERO, DateTime::date);
        Ok(StatementEnv { current_date, context, catalog, store, view, transaction: None, time_zone })
    }
}
