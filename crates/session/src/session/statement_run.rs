//! The state of one statement, from its beginning to its end.

use super::{Request, Session};
use squall_accounting::work_meter;
use squall_logs::Active;
use squall_parser::ast::Statement;
use squall_server_state::now_micros;
use squall_statement_context::StatementContext;
use std::ops::Deref;
use std::sync::Arc;

/// A request with the context that it is bound in.
#[derive(Clone, Debug)]
pub(crate) struct Bindable<'a> {
    /// The request.
    pub request: Request<'a>,
    /// The statement's copy of its session's settings, made at its start.
    pub context: Arc<StatementContext>,
}

/// The beginning of a statement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    /// When that was, microseconds since 1970 UTC.
    pub start_micros: i64,
    /// The logs that were on then: they are told of its end too.
    pub logs: Active,
    /// The processor time then, if it is measured.
    processor: Option<ProcessorTime>,
}

/// A clock of processor time with its value, nanoseconds.
#[derive(Clone, Copy, Debug)]
enum ProcessorTime {
    /// The meter of the command, which may run on several threads.
    OfCommand(u64),
    /// This thread's.
    OfThread(u64),
}

/// A statement that runs.
#[derive(Clone, Debug)]
pub(crate) struct StatementRun<'a> {
    bindable: Bindable<'a>,
    /// Its beginning.
    pub begun: Begun,
    /// The default database then.
    pub database: Option<Arc<str>>,
}

impl<'a> Deref for StatementRun<'a> {
    type Target = Bindable<'a>;

    fn deref(&self) -> &Bindable<'a> {
        &self.bindable
    }
}

impl<'a> StatementRun<'a> {
    /// A statement begins.
    pub fn begin(session: &mut Session, request: Request<'a>) -> StatementRun<'a> {
        let processor = session.instruments().begin_processor_time().map(ProcessorTime::OfCommand);
        StatementRun {
            begun: Begun { start_micros: now_micros(), logs: session.shared.logs.active(), processor },
            database: session.default_database().cloned(),
            bindable: session.bindable(request),
        }
    }

    /// The run of a statement that stands for this one, or inside of it: in the same context, and counted as this one.
    pub fn with_request<'b>(&self, request: Request<'b>) -> StatementRun<'b> {
        let bindable = Bindable { request, context: self.context.clone() };
        StatementRun { bindable, begun: self.begun, database: self.database.clone() }
    }

    /// The same statement in another context.
    pub fn with_context(&self, context: Arc<StatementContext>) -> StatementRun<'a> {
        let bindable = Bindable { request: self.request, context };
        StatementRun { bindable, begun: self.begun, database: self.database.clone() }
    }

    /// [`StatementRun::with_request`] of another statement with the same text and parameters.
    pub fn with_statement<'b>(&self, statement: &'b Statement) -> StatementRun<'b>
    where
        'a: 'b,
    {
        self.with_request(Request { statement, ..self.request })
    }
}

impl Begun {
    /// A statement begins that may be answered on this thread.
    pub fn at_once(session: &Session) -> Begun {
        let processor = session.instruments().begin_thread_time().map(ProcessorTime::OfThread);
        Begun { start_micros: now_micros(), logs: session.shared.logs.active(), processor }
    }

    /// Processor time since then, nanoseconds; 0 if it is not measured.
    pub fn processor_nanos(&self) -> u64 {
        match self.processor {
            Some(ProcessorTime::OfCommand(start)) => {
                work_meter::current_nanos().map_or(0, |now| now.saturating_sub(start))
            }
            Some(ProcessorTime::OfThread(start)) => work_meter::of_this_thread().saturating_sub(start),
            None => 0,
        }
    }
}

impl Session {
    /// A statement that is to be bound, whether it runs or not.
    pub(crate) fn bindable<'a>(&mut self, request: Request<'a>) -> Bindable<'a> {
        Bindable { context: Arc::new(self.statement_context(request.statement)), request }
    }
}
