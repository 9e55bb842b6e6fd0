//! The state of one statement, from its beginning to its answer.

use super::{Request, Session};
use squall_accounting::work_meter;
use squall_logs::Active;
use squall_parser::ast::Statement;
use squall_server_state::now_micros;
use squall_statement_context::StatementContext;
use std::sync::Arc;

/// A statement that runs.
#[derive(Clone, Debug)]
pub(crate) struct StatementRun<'a> {
    /// The request.
    pub request: Request<'a>,
    /// The statement's copy of its session's settings, made at its start.
    pub context: Arc<StatementContext>,
    /// When it began, microseconds since 1970 UTC.
    pub start_micros: i64,
    /// The default database then.
    pub database: Option<Arc<str>>,
    /// The logs that were on then: they are told of its end too.
    pub logs: Active,
    /// The meter of processor time at that time, if there is one.
    start_processor_nanos: Option<u64>,
}

impl<'a> StatementRun<'a> {
    /// The run of a statement that stands for this one, or inside of it: in the same context, and counted as this one.
    pub fn with_request<'b>(&self, request: Request<'b>) -> StatementRun<'b> {
        StatementRun {
            request,
            context: self.context.clone(),
            start_micros: self.start_micros,
            database: self.database.clone(),
            logs: self.logs,
            start_processor_nanos: self.start_processor_nanos,
        }
    }

    /// The same statement in another context.
    pub fn with_context(&self, context: Arc<StatementContext>) -> StatementRun<'a> {
        StatementRun { context, ..self.clone() }
    }

    /// [`StatementRun::with_request`] of another statement with the same text and parameters.
    pub fn with_statement<'b>(&self, statement: &'b Statement) -> StatementRun<'b>
    where
        'a: 'b,
    {
        self.with_request(Request { statement, ..self.request })
    }

    /// Processor time since it began, nanoseconds; 0 if it is not measured.
    pub fn processor_nanos(&self) -> u64 {
        let passed = |start| Some(work_meter::current_nanos()?.saturating_sub(start));
        self.start_processor_nanos.and_then(passed).unwrap_or(0)
    }
}

impl Session {
    /// A statement begins.
    pub(crate) fn statement_run<'a>(&mut self, request: Request<'a>) -> StatementRun<'a> {
        StatementRun {
            start_processor_nanos: self.instruments().begin_processor_time(),
            start_micros: now_micros(),
            database: self.default_database().cloned(),
            logs: self.shared.logs.active(),
            context: Arc::new(self.statement_context(request.statement)),
            request,
        }
    }
}
