//! Takes one copy of all tables.

use super::settings::Settings;
use super::{NAME, SOURCE};
use parking_lot::Mutex;
use squall_history_store::{HistoryStore, TableContent};
use squall_logs::error_log::{Severity, error_log};
use squall_registry::{ColumnRange, VirtualScan, VirtualTable};
use squall_session::{Database, WeakDatabase};
use squall_types::clock::now_micros;
use squall_types::temporal::Interval;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Instant;

/// Copies the tables, one copy at a time.
#[derive(Debug)]
pub(crate) struct Collector {
    database: WeakDatabase,
    pub store: HistoryStore,
    /// Held by the session that collects.
    collecting: Mutex<()>,
    /// When the last copy was begun, microseconds since 1970 UTC.
    last_refresh_micros: AtomicI64,
    /// Counts since the start: copies, copies that were skipped because another was running, and failed copies.
    pub collected: AtomicU64,
    pub skipped: AtomicU64,
    pub failed: AtomicU64,
    /// How long the last copy took.
    pub last_duration_micros: AtomicU64,
}

impl Collector {
    pub fn new(database: WeakDatabase, store: HistoryStore) -> SqlResult<Collector> {
        let last = store.last_micros()?.unwrap_or_else(now_micros);
        Ok(Collector {
            database,
            store,
            collecting: Mutex::default(),
            last_refresh_micros: AtomicI64::new(last),
            collected: AtomicU64::default(),
            skipped: AtomicU64::default(),
            failed: AtomicU64::default(),
            last_duration_micros: AtomicU64::default(),
        })
    }

    /// The database.
    pub fn database(&self) -> SqlResult<Database> {
        self.database.upgrade().ok_or_else(|| SqlError::new(ErrorCode::ServerShutdown, &[]))
    }

    /// When the last copy was begun, microseconds since 1970 UTC.
    pub fn last_refresh_micros(&self) -> i64 {
        self.last_refresh_micros.load(Ordering::Acquire)
    }

    /// Copies all tables, unless a collection is running: then nothing is done, which is counted, and the answer is `false`.
    /// Then drops what is too old.
    ///
    /// # Errors
    /// When the disk does not take it.
    pub fn collect(&self) -> SqlResult<bool> {
        let Some(_collecting) = self.collecting.try_lock() else {
            self.skipped.fetch_add(1, Ordering::Relaxed);
            return Ok(false);
        };
        let started = Instant::now();
        let result = self.copy();
        match &result {
            Ok(()) => self.collected.fetch_add(1, Ordering::Relaxed),
            Err(_) => self.failed.fetch_add(1, Ordering::Relaxed),
        };
        let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.last_duration_micros.store(micros, Ordering::Relaxed);
        result.map(|()| true)
    }

    fn copy(&self) -> SqlResult<()> {
        let database = self.database()?;
        let settings = Settings::of(&database);
        let now = now_micros();
        self.last_refresh_micros.store(now, Ordering::Release);
        let context = database.server_context();
        let mut tables: Vec<&Arc<dyn VirtualTable>> =
            database.registry().virtual_tables().filter(|table| table.database() == SOURCE).collect();
        tables.sort_by(|left, right| left.name().cmp(right.name()));
        let column_names: Vec<Vec<String>> =
            tables.iter().map(|table| table.columns().iter().map(|column| column.name.to_string()).collect()).collect();
        // One at a time: tables with rows for each connection are large where there are many.
        let mut contents = tables.iter().zip(&column_names).map(|(table, columns)| {
            let used = used_only(&***table);
            let scan = VirtualScan { ranges: used.as_slice(), ..VirtualScan::all(&context) };
            let rows = table.all_rows(&scan).unwrap_or_else(|error| {
                let message = format!("{NAME}: {SOURCE}.{} is not copied: {}", table.name(), error.message);
                error_log().write(Severity::Warning, &message);
                Vec::new()
            });
            TableContent { name: table.name(), columns, rows }
        });
        self.store.append(now, settings.server_id, &mut contents)?;
        if let Some(oldest) = settings.period.and_then(|period| period.before(now)) {
            self.store.retain_from(oldest)?;
        }
        Ok(())
    }

    /// Drops every snapshot that is older than a period.
    ///
    /// # Errors
    /// When a file cannot be deleted or written.
    pub fn clean_up(&self, period: Interval) -> SqlResult<()> {
        match period.before(now_micros()) {
            Some(oldest) => Ok(self.store.discard_before(oldest)?),
            // Longer than time is.
            None => Ok(()),
        }
    }
}

/// Tables in which most rows have a count of zero: only rows with a count are copied. Table and column of the count.
const SPARSE: &[(&str, &str)] = &[("events_statements_histogram_by_digest", "COUNT_BUCKET")];

fn used_only(table: &dyn VirtualTable) -> Option<ColumnRange> {
    let (_, count) = SPARSE.iter().find(|(name, _)| *name == table.name())?;
    let column = table.columns().iter().position(|column| column.name == *count)?;
    Some(ColumnRange { column, low: Bound::Excluded(Value::UInt(0)), high: Bound::Unbounded })
}
