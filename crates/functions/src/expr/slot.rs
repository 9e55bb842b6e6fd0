//! Where the expressions of a plan find the statement that runs it.

use arc_swap::ArcSwap;
use squall_registry::StatementContext;
use squall_types::{SqlResult, Value};
use std::sync::Arc;

/// The statement and the parameters that a plan's expressions read when they run.
///
/// A plan keeps one slot for its life. Before each run its owner, who holds the plan alone, puts the statement in.
#[derive(Debug)]
pub struct ExecutionSlot {
    context: ArcSwap<StatementContext>,
    parameters: ArcSwap<Vec<Value>>,
    reusable: bool,
}

impl ExecutionSlot {
    /// The slot of a plan that runs once, for this statement. Calls that are constant within a statement are folded
    /// when it is planned.
    pub fn once(context: Arc<StatementContext>) -> Arc<Self> {
        Self::new(context, false)
    }

    /// The slot of a plan that is kept for other statements. `NOW()` and its like are not folded.
    pub fn reusable(context: Arc<StatementContext>) -> Arc<Self> {
        Self::new(context, true)
    }

    fn new(context: Arc<StatementContext>, reusable: bool) -> Arc<Self> {
        Arc::new(Self { context: ArcSwap::new(context), parameters: ArcSwap::new(Arc::new(Vec::new())), reusable })
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

    /// Whether other statements will run the plan.
    pub fn is_reusable(&self) -> bool {
        self.reusable
    }
}
