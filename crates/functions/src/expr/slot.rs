//! The slot in which the expressions of a plan find the statement that runs it.

use arc_swap::ArcSwap;
use squall_statement_context::StatementContext;
use squall_types::{SqlResult, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The statement and the parameters that a plan's expressions read when they run.
///
/// A plan keeps one slot for its life. Before each run its owner, who holds the plan alone, puts the statement in.
#[derive(Debug)]
pub struct ExecutionSlot {
    context: ArcSwap<StatementContext>,
    parameters: ArcSwap<Vec<Value>>,
    /// Whether a plan is being made, or readied: its expressions cannot read parameters then.
    is_planning: AtomicBool,
}

impl ExecutionSlot {
    /// A slot with the statement that a plan is made for. Calls that are constant within a statement are folded when it is planned: a plan with
    /// such calls is of no use to another.
    pub fn new(context: Arc<StatementContext>) -> Arc<Self> {
        Arc::new(Self {
            context: ArcSwap::new(context),
            parameters: ArcSwap::new(Arc::new(Vec::new())),
            is_planning: AtomicBool::new(false),
        })
    }

    /// Puts a statement in whose plan is made, or readied for a run. Until [`ExecutionSlot::start`] only the choice of paths to rows sees the
    /// parameters: what evaluates an expression while it plans, and keeps the result, finds no value that it could keep.
    pub fn plan(&self, context: Arc<StatementContext>, parameters: Arc<Vec<Value>>) {
        self.is_planning.store(true, Ordering::Release);
        self.context.store(context);
        self.parameters.store(parameters);
    }

    /// The plan runs from now on.
    pub fn start(&self) {
        self.is_planning.store(false, Ordering::Release);
    }

    /// Whether a plan is being made.
    pub fn is_planning(&self) -> bool {
        self.is_planning.load(Ordering::Acquire)
    }

    /// Readies the plan for a run.
    pub fn put(&self, context: Arc<StatementContext>, parameters: Arc<Vec<Value>>) {
        self.plan(context, parameters);
        self.start();
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
