//! The end of a statement, of whatever route: it is counted, logged, and told to listeners.

use super::{Begun, Session, StatementRun};
use crate::plans::Answered;
use crate::plans::prepared::PreparedStatement;
use crate::session::counted::shown_error;
use crate::state::log::Logged;
use squall_instrumentation::prepared::PreparedUse;
use squall_instrumentation::recent::Shown;
use squall_instrumentation::totals::Measured;
use squall_parser::Digest;
use squall_parser::ast::Statement;
use squall_parser::ast::StatementKind;
use squall_server_state::now_micros;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

const NANOS_PER_MICRO: u64 = 1000;

/// A statement that has ended.
pub(crate) struct Ended<'e> {
    pub begun: Begun,
    /// Its text, with its values if it was executed.
    pub logged: Logged<'e>,
    pub kind: StatementKind,
    /// Its tree, unless it was answered without.
    pub statement: Option<&'e Statement>,
    /// The default database at its beginning, if that may be another one now.
    pub database: Option<&'e Option<Arc<str>>>,
    pub digest: DigestOf<'e>,
    /// Where its executions are counted, if it was prepared.
    pub executed: Option<&'e Arc<PreparedUse>>,
    /// The number of its error, or 0.
    pub error: u16,
    pub answered: &'e Answered,
    /// The most memory that was reserved for it, bytes.
    pub memory_bytes: u64,
}

/// Where the digest of a statement is, or is kept.
pub(crate) enum DigestOf<'e> {
    /// It was made.
    Known(&'e Arc<Digest>),
    /// It is made once for a prepared or a normalized statement.
    Prepared(&'e PreparedStatement),
    /// It is made once for a constant.
    Kept(&'e OnceLock<Arc<Digest>>),
    /// It is made of the text.
    Text,
}

impl Session {
    /// Counts a statement that has ended now (microseconds since 1970 UTC), logs it, and tells listeners.
    pub(crate) fn record(&mut self, ended: &Ended<'_>, now: i64) {
        let micros = u64::try_from(now - ended.begun.start_micros).unwrap_or(0);
        let lock_micros = self.instruments().lock_micros_of(micros, ended.begun.logs.any());
        self.process.status.add_plan(&ended.answered.counts);
        if self.instruments().counts_statements() {
            self.count(ended, micros, lock_micros);
        }
        self.log_end(ended, now, lock_micros);
        self.tell_of_statement(ended.logged.sql, micros, (ended.error != 0).then_some(ended.error));
    }

    fn count(&self, ended: &Ended<'_>, micros: u64, lock_micros: u64) {
        let (work, text) = (self.work(), ended.logged.sql);
        let measured = Measured {
            start_micros: ended.begun.start_micros,
            micros,
            lock_micros,
            processor_nanos: ended.begun.processor_nanos(),
            failed: ended.error != 0,
            errno: ended.error,
            warnings: work.warnings,
            rows_affected: work.rows_affected,
            rows_sent: work.rows_sent,
            rows_examined: ended.answered.rows_examined,
            plan: ended.answered.counts,
            memory_bytes: ended.memory_bytes,
        };
        let computed;
        let of_text = || Arc::new(squall_parser::digest(text, &self.parse_options()));
        let digest = match &ended.digest {
            DigestOf::Known(digest) => digest,
            DigestOf::Prepared(prepared) => prepared.digest(),
            DigestOf::Kept(place) => place.get_or_init(of_text),
            DigestOf::Text => {
                computed = of_text();
                &computed
            }
        };
        let statistics = &self.shared.statistics;
        let error = match ended.error {
            0 => None,
            number => self.diagnostics.last_error().filter(|error| error.code == number),
        };
        let error = error.map(|error| shown_error(error, text));
        let shown_text = match &ended.digest {
            DigestOf::Prepared(prepared) if std::ptr::eq(text, &*prepared.sql) => self.shown_prepared(prepared),
            _ => self.shown(text),
        };
        let shown = Shown { text: &shown_text, error: error.as_deref() };
        let schema = ended.database.map_or(self.default_database(), Option::as_ref);
        self.process.statements.add(&statistics.statements, schema, digest, ended.kind.event_name(), &measured, shown);
        let nanos = micros.saturating_mul(NANOS_PER_MICRO);
        if let Some(key) = ended.answered.looked_up {
            self.process.tables.looked_up(&statistics.tables, key, measured.rows_examined, nanos);
        }
        if !ended.answered.uses.is_empty() {
            self.process.tables.add(&statistics.tables, &ended.answered.uses, nanos);
        }
        if let Some(executed) = ended.executed {
            executed.add(&measured);
        }
    }

    /// [`Session::record`] of a statement that had a run.
    pub(crate) fn record_run(&mut self, run: &StatementRun<'_>, error: u16) {
        let now = now_micros();
        self.process.stages.end(now);
        let is_counted = self.instruments().counts_statements();
        if is_counted {
            self.note_written_bytes();
        }
        let request = &run.request;
        let answered = Answered {
            uses: if is_counted { run.context.table_uses.take() } else { Vec::new() },
            looked_up: None,
            counts: *run.context.plan_counts.lock(),
            rows_examined: run.context.rows_examined.load(Ordering::Relaxed),
        };
        let named = match request.statement {
            Statement::Execute(execute) => self.prepared.named(&execute.name),
            _ => None,
        };
        let executed = request.prepared.or(named.as_deref()).and_then(|prepared| prepared.counted.get());
        let ended = Ended {
            begun: run.begun,
            logged: request.logged(),
            kind: request.statement.traits().kind,
            statement: Some(request.statement),
            database: Some(&run.database),
            digest: match (request.long_statement(), request.prepared.or(request.normalized)) {
                (Some(long), _) => DigestOf::Known(long.digest()),
                (None, Some(prepared)) => DigestOf::Prepared(prepared),
                (None, None) => DigestOf::Text,
            },
            executed,
            error,
            answered: &answered,
            memory_bytes: self.process.memory.statement_high() as u64,
        };
        self.record(&ended, now);
    }
}
