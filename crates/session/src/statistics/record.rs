//! Where statements are counted: at their ends.

use super::event_name;
use super::totals::Measured;
use crate::database::now_micros;
use crate::kept_plan::KeptPlan;
use crate::session::{Request, Session};
use squall_parser::Digest;
use squall_registry::StatementContext;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A statement that took less has not waited for a lock, as far as anybody would notice.
const LOCK_WAIT_FROM_MICROS: u64 = 100;

impl Session {
    /// Whether statements are counted.
    pub(crate) fn counts_statements(&self) -> bool {
        self.shared.statistics.is_on.load(Ordering::Relaxed)
    }

    /// How long the statement that has just ended waited for locks, if it took so long that it may have.
    pub(crate) fn lock_micros_of(&self, micros: u64, wanted: bool) -> u64 {
        if wanted || micros >= LOCK_WAIT_FROM_MICROS { self.take_lock_micros() } else { 0 }
    }

    /// Counts a query that was answered on this thread; the text is its own, or that of its shape.
    pub(crate) fn count_answered(&mut self, digest: &Arc<Digest>, text: &[u8]) {
        let measured = Measured {
            start_micros: self.command_micros,
            micros: u64::try_from(now_micros() - self.command_micros).unwrap_or(0),
            rows_examined: self.log.rows_examined,
            ..self.measured_work()
        };
        let (retired, schema) = (&self.shared.statistics.statements, self.database.as_ref());
        self.process.statements.add(retired, schema, digest, event_name::SELECT, &measured, text);
    }

    /// Counts a query that gives the same row each time.
    pub(crate) fn count_constant(&mut self, plan: &KeptPlan, sql: &[u8]) {
        if let KeptPlan::Constant(plan) = plan {
            let options = self.parse_options();
            let digest = plan.digest.get_or_init(|| Arc::new(squall_parser::digest(sql, &options)));
            self.count_answered(digest, sql);
        }
    }

    /// Counts a statement that has gone the general way.
    pub(crate) fn count_statement(
        &mut self,
        request: &Request<'_>,
        context: &StatementContext,
        schema: Option<&Arc<str>>,
        (start_micros, micros, lock_micros): (i64, u64, u64),
        errno: u16,
    ) {
        let measured = Measured {
            start_micros,
            micros,
            lock_micros,
            failed: errno != 0,
            errno,
            rows_examined: context.rows_examined.load(Ordering::Relaxed) + self.log.rows_examined,
            ..self.measured_work()
        };
        let computed;
        let digest = match request.prepared.or(request.shape) {
            Some(prepared) => prepared.digest(),
            None => {
                computed = Arc::new(squall_parser::digest(request.sql, &self.parse_options()));
                &computed
            }
        };
        let retired = &self.shared.statistics.statements;
        let event = event_name::of(request.statement);
        self.process.statements.add(retired, schema, digest, event, &measured, request.sql);
    }

    /// Counts a text that no grammar takes.
    pub(crate) fn count_unparsed(&self) {
        if self.counts_statements() {
            let start_micros = self.process.since_micros.load(Ordering::Relaxed);
            let micros = u64::try_from(now_micros() - start_micros).unwrap_or(0);
            let measured = Measured { start_micros, micros, failed: true, ..Measured::default() };
            self.process.statements.add_event(event_name::ERROR, &measured);
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
