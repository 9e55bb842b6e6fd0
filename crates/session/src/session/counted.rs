//! Counts statements at their ends, and waits, transactions and prepared statements when they happen.

use crate::plans::{Answered, Route};
use crate::session::{Session, StatementRun};
use squall_accounting::work_meter;
use squall_instrumentation::prepared::PreparedUse;
use squall_instrumentation::recent::Shown;
use squall_instrumentation::stages;
use squall_instrumentation::totals::Measured;
use squall_instrumentation::transactions::TransactionOutcome;
use squall_parser::Digest;
use squall_parser::ast::{PREPARE_EVENT, Statement, StatementKind};
use squall_row_store::Transaction;
use squall_server_state::now_micros;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

const NANOS_PER_MICRO: u64 = 1000;

impl Session {
    /// Counts a query that was answered on this thread; the text is its own, or the normalized one.
    pub(crate) fn count_answered(
        &mut self,
        digest: &Arc<Digest>,
        route: &Route,
        answered: Answered,
        text: &[u8],
        prepared: Option<&Arc<PreparedUse>>,
    ) {
        let error = self.diagnostics.last_error();
        let measured = Measured {
            start_micros: self.command.start_micros,
            micros: u64::try_from(now_micros() - self.command.start_micros).unwrap_or(0),
            processor_nanos: self.command.start_thread_nanos.map_or(0, |start| work_meter::of_this_thread() - start),
            errno: error.map_or(0, |error| error.code),
            rows_examined: self.log.rows_examined,
            plan: answered.counts,
            ..self.measured_work()
        };
        let statistics = &self.shared.statistics;
        let (retired, schema) = (&statistics.statements, self.default_database());
        self.process.statements.add(
            retired,
            schema,
            digest,
            StatementKind::Select.event_name(),
            &measured,
            Shown { text: &self.shown(text), error },
        );
        let nanos = measured.micros.saturating_mul(NANOS_PER_MICRO);
        match route {
            Route::PointLookup(select) => {
                let key = (select.point.table().def().id, select.point.index());
                self.process.tables.looked_up(&statistics.tables, key, measured.rows_examined, nanos);
            }
            Route::RowByRow(_) => self.process.tables.add(&statistics.tables, &answered.uses, nanos),
            _ => {}
        }
        if let Some(prepared) = prepared {
            prepared.add(&measured);
        }
    }

    /// Counts a query that gives the same row each time.
    pub(crate) fn count_constant(&mut self, route: &Route, sql: &[u8]) {
        if let Route::Constant(constant) = route {
            let options = self.parse_options();
            let digest = constant.digest.get_or_init(|| Arc::new(squall_parser::digest(sql, &options)));
            self.count_answered(digest, route, Answered::default(), sql, None);
        }
    }

    /// Counts a statement that [`Session::run`] has run.
    pub(crate) fn count_statement(&mut self, run: &StatementRun<'_>, (micros, lock_micros): (u64, u64), errno: u16) {
        let measured = Measured {
            start_micros: run.start_micros,
            micros,
            lock_micros,
            processor_nanos: run.processor_nanos(),
            failed: errno != 0,
            errno,
            rows_examined: run.context.rows_examined.load(Ordering::Relaxed) + self.log.rows_examined,
            memory_bytes: self.process.memory.statement_high() as u64,
            plan: *run.context.plan_counts.lock(),
            ..self.measured_work()
        };
        let computed;
        let digest = match (run.request.long_statement(), run.request.prepared.or(run.request.normalized)) {
            (Some(long), _) => long.digest(),
            (None, Some(prepared)) => prepared.digest(),
            (None, None) => {
                computed = Arc::new(squall_parser::digest(run.request.text(), &self.parse_options()));
                &computed
            }
        };
        let statistics = &self.shared.statistics;
        let event = run.request.statement.traits().kind.event_name();
        let error = self.diagnostics.last_error().filter(|error| error.code == errno);
        let (retired, schema) = (&statistics.statements, run.database.as_ref());
        let text = self.shown(run.request.text());
        let error = error.map(|error| shown_error(error, run.request.text()));
        let shown = Shown { text: &text, error: error.as_deref() };
        self.process.statements.add(retired, schema, digest, event, &measured, shown);
        let uses = run.context.table_uses.take();
        if !uses.is_empty() {
            self.process.tables.add(&statistics.tables, &uses, micros.saturating_mul(NANOS_PER_MICRO));
        }
        let named = match run.request.statement {
            Statement::Execute(execute) => self.prepared.named(&execute.name),
            _ => None,
        };
        let executed = run.request.prepared.or(named.as_deref()).and_then(|prepared| prepared.counted.get());
        if let Some(executed) = executed {
            executed.add(&measured);
        }
    }

    /// Counts a command to prepare a statement that cannot be: it is a statement that failed, like any other.
    pub(crate) fn count_not_prepared(&self, sql: &[u8]) {
        if !self.instruments().counts_statements() {
            return;
        }
        let start_micros = self.command.start_micros;
        let micros = u64::try_from(now_micros() - start_micros).unwrap_or(0);
        let error = self.diagnostics.last_error();
        let errno = error.map_or(0, |error| error.code);
        let measured = Measured { start_micros, micros, failed: true, errno, ..Measured::default() };
        let error = error.map(|error| shown_error(error, sql));
        let error = error.as_deref();
        if errno == ErrorCode::Parse.number() {
            return self.process.statements.add_event(PREPARE_EVENT, &measured, error);
        }
        let digest = Arc::new(squall_parser::digest(sql, &self.parse_options()));
        let (retired, schema) = (&self.shared.statistics.statements, self.default_database());
        let text = self.shown(sql);
        let shown = Shown { text: &text, error };
        self.process.statements.add(retired, schema, &digest, PREPARE_EVENT, &measured, shown);
    }

    /// Counts a text that no grammar takes.
    pub(crate) fn count_unparsed(&self, sql: &[u8]) {
        if self.instruments().counts_statements() {
            let start_micros = self.process.since_micros.load(Ordering::Relaxed);
            let micros = u64::try_from(now_micros() - start_micros).unwrap_or(0);
            let error = self.diagnostics.last_error();
            let errno = error.map_or(0, |error| error.code);
            let measured = Measured { start_micros, micros, failed: true, errno, ..Measured::default() };
            let error = error.map(|error| shown_error(error, sql));
            self.process.statements.add_event(StatementKind::Error.event_name(), &measured, error.as_deref());
        }
    }

    /// How much memory the open transaction takes after a statement.
    pub(crate) fn note_written_bytes(&self) {
        let bytes = self.transaction.written_bytes() as u64;
        self.process.written_bytes.store(bytes, Ordering::Relaxed);
        self.process.written_bytes_high.fetch_max(bytes, Ordering::Relaxed);
    }

    /// Commits a transaction, and counts it and how long that took.
    pub(crate) async fn commit_counted(&self, transaction: Transaction) -> SqlResult<()> {
        if !self.instruments().counts_statements() {
            return self.commit_or_defer(transaction).await;
        }
        let started = transaction.has_writes().then(Instant::now);
        if started.is_some() {
            self.instruments().stage(stages::COMMITTING);
            self.process.waits.begin_commit(self.instruments().statement_number(), now_micros());
        }
        let result = self.commit_or_defer(transaction).await;
        if let Some(started) = started {
            let nanos = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.process.waits.end_commit(nanos, &self.shared.statistics.wait_consumers);
        }
        let outcome = if result.is_ok() { TransactionOutcome::Committed } else { TransactionOutcome::RolledBack };
        self.process.transactions.end(outcome, self.instruments().statement_number(), now_micros());
        result
    }

    async fn commit_or_defer(&self, transaction: Transaction) -> SqlResult<()> {
        let to_commit = match &self.deferred {
            Some(deferred) if transaction.has_writes() => deferred.lock().replace(transaction),
            _ => Some(transaction),
        };
        match to_commit {
            Some(transaction) if transaction.meets_read_lock() => {
                // Boxed: it is rare.
                Box::pin(self.pass_read_lock(transaction)).await?.commit_async().await
            }
            Some(transaction) => transaction.commit_async().await,
            None => Ok(()),
        }
    }

    fn measured_work(&self) -> Measured {
        let work = self.work();
        Measured {
            warnings: work.warnings,
            rows_affected: work.rows_affected,
            rows_sent: work.rows_sent,
            failed: self.diagnostics.errors() > 0,
            ..Measured::default()
        }
    }
}

/// The error of a statement as others may see it: a message quotes no secrets of the text.
pub(crate) fn shown_error<'e>(error: &'e SqlError, sql: &[u8]) -> Cow<'e, SqlError> {
    match squall_parser::message_without_secrets(&error.message, sql) {
        Cow::Borrowed(_) => Cow::Borrowed(error),
        Cow::Owned(message) => Cow::Owned(SqlError { message, ..error.clone() }),
    }
}
