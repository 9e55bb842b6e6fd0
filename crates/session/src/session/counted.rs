//! Counts waits, transactions, and statements that are not run.

use crate::session::Session;
use squall_instrumentation::recent::Shown;
use squall_instrumentation::stages;
use squall_instrumentation::totals::Measured;
use squall_instrumentation::transactions::TransactionOutcome;
use squall_parser::ast::{PREPARE_EVENT, StatementKind};
use squall_row_store::Transaction;
use squall_server_state::now_micros;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

impl Session {
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
        let to_commit = match &self.command.target {
            // Whatever else a statement does cannot be taken back with its transaction.
            Some(target) if transaction.has_writes() && !self.command.leaves_state => target.leave(transaction),
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
}

/// The error of a statement as others may see it: a message quotes no secrets of the text.
pub(crate) fn shown_error<'e>(error: &'e SqlError, sql: &[u8]) -> Cow<'e, SqlError> {
    match squall_parser::message_without_secrets(&error.message, sql) {
        Cow::Borrowed(_) => Cow::Borrowed(error),
        Cow::Owned(message) => Cow::Owned(SqlError { message, ..error.clone() }),
    }
}
