//! The module `async`: queries in the background, from any client.
//!
//! `CALL async.queue('…')` stores a text and the state of its session (`captured`) as a durable job. A worker opens a session with that
//! state (`kept_sessions`), runs the text and stores its answer (`recording`) as the job's output. `CALL async.wait(n)` gives this
//! answer, as often as it is called (`replay`). The CALL runs short texts itself if that is faster than a worker (`worker`).
//!
//! `async.q` and `async.settings` are the job system's rows and the variable `async_thread_count` under their old names.

mod kept_sessions;
mod procedures;
mod queue_table;
mod recording;
mod replay;
mod settings_table;
mod worker;

use kept_sessions::KeptSessions;
use squall_jobs::{Kind, KindSpec, OnRestart};
use squall_registry::Registry;
use squall_session::{Database, Module, Procedure, WeakDatabase};
use squall_statement_context::StatementContext;
use squall_system_variables::definition::{Unit, unsigned};
use squall_system_variables::{Scope, ValueTable, VariableDef};
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The name of the module, of its database and of its kind of jobs.
pub(crate) const NAME: &str = "async";
/// Most workers.
const THREADS_MAX: u64 = 1024;
const THREAD_COUNT: &str = "async_thread_count";
const RETENTION: &str = "async_result_retention";
const RESULT_BYTES_MAX: &str = "async_result_bytes_max";
const TOTAL_BYTES_MAX: &str = "async_result_total_bytes_max";

const VARIABLES: &[VariableDef] = &[
    unsigned(THREAD_COUNT, Scope::Global, 8, 1, THREADS_MAX, "Most queries of async.queue() that run at once."),
    unsigned(
        RETENTION,
        Scope::Global,
        7 * 24 * 3600,
        0,
        100 * 365 * 24 * 3600,
        "Seconds that queries of async.queue() are kept with their results after they have ended.",
    ).unit(Unit::Seconds),
    unsigned(
        RESULT_BYTES_MAX,
        Scope::Global,
        1 << 30,
        1 << 10,
        u64::MAX,
        "Bytes of the results of one query of async.queue(); one that gives more fails.",
    ).unit(Unit::Bytes),
    unsigned(
        TOTAL_BYTES_MAX,
        Scope::Global,
        4 << 30,
        1 << 10,
        u64::MAX,
        "Bytes of all queries of async.queue() that have ended, with their results; when there are more, the oldest go.",
    ).unit(Unit::Bytes),
];

/// The module.
#[derive(Debug, Default)]
pub struct AsyncQueries {
    shared: Arc<Shared>,
}

/// What the module's parts share. It is empty until the module is started.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    started: OnceLock<(WeakDatabase, Kind)>,
    sessions: Arc<KeptSessions>,
}

impl Shared {
    /// The jobs.
    pub fn kind(&self) -> SqlResult<&Kind> {
        self.started.get().map(|(_, kind)| kind).ok_or_else(|| SqlError::new(ErrorCode::ServerShutdown, &[]))
    }

    /// The database.
    pub fn database(&self) -> SqlResult<Database> {
        let database = self.started.get().and_then(|(database, _)| database.upgrade());
        database.ok_or_else(|| SqlError::new(ErrorCode::ServerShutdown, &[]))
    }

    /// A variable of the module.
    pub fn number(&self, database: &Database, name: &str) -> u64 {
        number(database.registry(), &database.globals(), name)
    }
}

fn number(registry: &Registry, values: &ValueTable, name: &str) -> u64 {
    match registry.variables.find(name).map(|id| values.get(id)) {
        Some(Value::UInt(number)) => *number,
        _ => 0,
    }
}

impl Module for AsyncQueries {
    fn name(&self) -> &str {
        NAME
    }

    fn description(&self) -> &str {
        "Queues of queries that run later, and procedures for them."
    }

    fn databases(&self) -> &[&str] {
        &[NAME]
    }

    fn declare(&self, registry: &mut Registry) {
        for definition in VARIABLES {
            registry.variables.declare(*definition);
        }
        registry.register_virtual_table(Arc::new(queue_table::QueueTable::new(self.shared.clone())));
        registry.register_virtual_table(Arc::new(settings_table::SettingsTable::new(self.shared.clone())));
    }

    fn procedures(&self) -> Vec<Arc<dyn Procedure>> {
        procedures::all(&self.shared)
    }

    fn start(&self, database: &Database) -> SqlResult<()> {
        let handler = Arc::new(worker::QueryHandler::new(Arc::downgrade(&self.shared)));
        let kind = database.jobs().register(KindSpec {
            // None, until what they need is there.
            workers: 0,
            durable: true,
            on_restart: OnRestart::Fail,
            announces: true,
            retention: Duration::from_secs(self.shared.number(database, RETENTION)),
            kept_bytes_max: self.shared.number(database, TOTAL_BYTES_MAX),
            ..KindSpec::new(NAME, handler)
        })?;
        // No other task starts it.
        let _first = self.shared.started.set((database.downgrade(), kind));
        self.variables_changed()
    }

    fn stop(&self) {
        self.shared.sessions.close();
    }

    fn status(&self) -> Vec<(&'static str, u64)> {
        let Ok(kind) = self.shared.kind() else { return Vec::new() };
        vec![
            ("Async_queries_done_at_once", kind.done_at_once()),
            ("Async_queries_waiting", kind.waiting() as u64),
            ("Async_removed_for_room", kind.removed_for_room()),
            ("Async_result_total_bytes", kind.kept_bytes()),
        ]
    }

    fn variables_changed(&self) -> SqlResult<()> {
        if let (Ok(kind), Ok(database)) = (self.shared.kind(), self.shared.database()) {
            let workers = self.shared.number(&database, THREAD_COUNT) as usize;
            if kind.worker_limit() != workers {
                kind.set_workers(workers);
            }
            let retention = Duration::from_secs(self.shared.number(&database, RETENTION));
            if kind.retention() != retention {
                kind.set_retention(retention);
            }
            let total = self.shared.number(&database, TOTAL_BYTES_MAX);
            if kind.kept_bytes_max() != total {
                kind.set_kept_bytes_max(total);
            }
        }
        Ok(())
    }
}

/// Sets how many queries run at once, for good (1644 as the original says it). A number beyond the variable's range becomes the greatest that
/// there is, with the warning that SET has.
pub(crate) fn set_thread_count(shared: &Shared, count: Option<i64>, context: &StatementContext) -> SqlResult<()> {
    let Some(count) = count.and_then(|count| u64::try_from(count).ok()).filter(|count| *count >= 1) else {
        return Err(SqlError::signal(*b"99999", "Thread count must be greater than or equal to 1"));
    };
    if count > THREADS_MAX {
        context.diagnostics.warn(SqlError::new(ErrorCode::TruncatedWrongValue, &[&THREAD_COUNT, &count]));
    }
    shared.database()?.persist_global(THREAD_COUNT, Value::UInt(count.min(THREADS_MAX)), &context.user)
}
