//! The counters and meters of a session.

use crate::database::Shared;
use crate::plans::prepared::PreparedStatement;
use squall_accounting::work_meter::{self, Meter};
use squall_instrumentation::prepared::PreparedUse;
use squall_instrumentation::process::Process;
use squall_instrumentation::transactions::TransactionOutcome;
use squall_row_store::Transaction;
use squall_server_state::now_micros;
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A statement that took less has not waited for a lock, as far as a user notices.
const LOCK_WAIT_FROM_MICROS: u64 = 100;

/// The instruments of a session: its row of the process list, which has its counters, and the server's statistics. Borrowed of the
/// session, whose other state nothing here needs.
#[derive(Clone, Copy)]
pub(crate) struct Instruments<'s> {
    pub shared: &'s Arc<Shared>,
    pub process: &'s Arc<Process>,
}

impl Instruments<'_> {
    /// Whether statements are counted: of all sessions, and of this one.
    pub fn counts_statements(self) -> bool {
        self.shared.statistics.is_on.load(Ordering::Relaxed) && self.process.is_instrumented.load(Ordering::Relaxed)
    }

    /// The meter that adds up a command's use of files, and its processor time if that is measured. `None` if statements are
    /// not counted, or if this thread already works for another command.
    pub fn work_meter(self) -> Option<Arc<Meter>> {
        let is_wanted = self.counts_statements() && work_meter::current().is_none();
        is_wanted.then(|| Arc::new(Meter::new(self.process.files.clone(), self.measures_processor_time())))
    }

    fn measures_processor_time(self) -> bool {
        self.shared.statistics.measures_processor_time.load(Ordering::Relaxed) && self.counts_statements()
    }

    /// What the meter says when a statement begins; `None` if there is none.
    pub fn begin_processor_time(self) -> Option<u64> {
        self.measures_processor_time().then(work_meter::current_nanos).flatten()
    }

    /// As [`Instruments::begin_processor_time`] for what this thread does by itself.
    pub fn begin_thread_time(self) -> Option<u64> {
        self.measures_processor_time().then(work_meter::of_this_thread)
    }

    /// How long the statement that has just ended waited for locks, if it took so long that it may have.
    pub fn lock_micros_of(self, micros: u64, wanted: bool) -> u64 {
        if wanted || micros >= LOCK_WAIT_FROM_MICROS { self.take_lock_micros() } else { 0 }
    }

    /// How long the session has waited for row and table locks since it was asked for the last time; what it waited for is
    /// counted.
    pub fn take_lock_micros(self) -> u64 {
        let waited = self.shared.store.take_lock_wait(self.process.id);
        if waited.rows.count + waited.tables.count == 0 {
            return 0;
        }
        if self.counts_statements() {
            let statement = (self.statement_number(), self.process.since_micros.load(Ordering::Relaxed));
            self.process.waits.add_locks(&waited, statement, now_micros(), &self.shared.statistics.wait_consumers);
        }
        u64::try_from((waited.rows.sum + waited.tables.sum).as_micros()).unwrap_or(u64::MAX)
    }

    /// The number of the statement that runs, among the session's.
    pub fn statement_number(self) -> u64 {
        self.process.statements.event_count() + 1
    }

    /// A statement begins that may take a while.
    pub fn begin_stages(self, now_micros: i64) {
        if self.counts_statements() {
            self.process.stages.begin_statement(self.statement_number(), now_micros);
            self.process.memory.begin_statement();
        }
    }

    /// It goes on to another stage.
    pub fn stage(self, name: &'static str) {
        if self.counts_statements() {
            self.process.stages.go_on(name, now_micros());
        }
    }

    /// A transaction begins.
    pub fn count_begin(self, transaction: &Transaction) {
        if self.counts_statements() {
            let statement = self.statement_number();
            self.process.transactions.begin(transaction.id(), transaction.options(), statement, now_micros());
        }
    }

    /// The transaction that was open is rolled back.
    pub fn count_rollback(self) {
        self.process.transactions.end(TransactionOutcome::RolledBack, self.statement_number(), now_micros());
    }

    /// A client has prepared a statement, which took from a moment till now; `text` is as it may be shown.
    pub fn count_prepared(
        self,
        (id, name): (u32, Option<&str>),
        prepared: &PreparedStatement,
        text: Cow<'_, [u8]>,
        start_micros: i64,
    ) {
        let micros = u64::try_from(now_micros() - start_micros).unwrap_or(0);
        // PREPARE is a statement, the protocol's command is none.
        let owner = if name.is_some() { self.statement_number() } else { 0 };
        let text = match text {
            Cow::Borrowed(shown) => prepared.sql.slice_ref(shown),
            Cow::Owned(masked) => masked.into(),
        };
        let counted = Arc::new(PreparedUse::new(u64::from(id), name, &text, owner, micros));
        self.process.prepared.add(prepared.counted.get_or_init(|| counted));
    }
}
