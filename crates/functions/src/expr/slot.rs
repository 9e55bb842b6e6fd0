//! The slot in which the expressions of a plan find the statement that runs it.

use arc_swap::ArcSwap;
use squall_statement_context::StatementContext;
use squall_types::{SqlResult, Value};
use std::sync::Arc;

/// The statement and the parameters that a plan's expressions read when they run.
///
/// A plan keeps one slot for its life. Before each run its owner, who holds the plan alone, puts the statement in.
#[derive(Debug)]
pub struct ExecutionSlot {
    context: ArcSwap<StatementContext>,
    parameters: ArcSwap<Vec<Value>>,
}

impl ExecutionSlot {
    /// A slot with the statement that a plan is made for. Calls that are constant within a statement are folded when it is planned: a plan with
    /// such calls is of no use to another.
    pub fn new(context: Arc<StatementContext>) -> Arc<Self> {
        Arc::new(Self { context: ArcSwap::new(context), parameters: ArcSwap::new(Arc::new(Vec::new())) })
    }

    /// Readies the plan for a run.
    pub fn put(&self, context: Arc<StatementContext>, parameters: Arc<Vec<Value>>) {
        self.context.store(context);
        self.parameters.store(parameters);
    }

    /// The statement that runs.
    pub fn context(&self) -> Arc<StatementContext> {
        self.context.load_full()
    }

    /// The error to stop with, if the statement has to.
    pub fn check_kill(&self) -> SqlResult<()> {
        self.context.load().kill.check()
    }

    /// Its parameters.
    pub fn parameters(&self) -> Arc<Vec<Value>> {
        self.parameters.load_full()
    }
}
