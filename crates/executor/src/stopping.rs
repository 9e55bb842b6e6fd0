//! Ends planning on KILL and at time limits.
//!
//! DataFusion's rules know nothing of statements. So a thread that plans a statement holds its [`KillState`], and every rule checks it
//! before each node of the plan.

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::LogicalPlan;
use datafusion::optimizer::optimizer::ApplyOrder;
use datafusion::optimizer::{OptimizerConfig, OptimizerRule};
use datafusion::physical_optimizer::{PhysicalOptimizerContext, PhysicalOptimizerRule};
use datafusion::physical_plan::ExecutionPlan;
use pin_project_lite::pin_project;
use squall_functions::expr::datafusion_error;
use squall_statement_context::KillState;
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

type LogicalRule = Arc<dyn OptimizerRule + Send + Sync>;
type PhysicalRule = Arc<dyn PhysicalOptimizerRule + Send + Sync>;

thread_local! {
    static PLANNED: RefCell<Option<Arc<KillState>>> = const { RefCell::new(None) };
}

/// The error to stop with, if the statement that this thread plans has to.
pub(crate) fn check() -> Result<()> {
    PLANNED.with_borrow(|kill| kill.as_ref().map_or(Ok(()), |kill| kill.check())).map_err(datafusion_error)
}

pin_project! {
    /// Planning for a statement.
    struct Planning<F> {
        kill: Arc<KillState>,
        #[pin]
        work: F,
    }
}

impl<F: Future> Future for Planning<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        /// Puts back whom the thread planned for before, also when the work panics.
        struct Before(Option<Arc<KillState>>);
        impl Drop for Before {
            fn drop(&mut self) {
                PLANNED.set(self.0.take());
            }
        }
        let this = self.project();
        let _before = Before(PLANNED.replace(Some(this.kill.clone())));
        this.work.poll(context)
    }
}

/// Work of planning that [`check`] stops with the statement.
pub(crate) fn planning_for<F: Future>(kill: Arc<KillState>, work: F) -> impl Future<Output = F::Output> {
    Planning { kill, work }
}

/// A rule that looks whether it should go on.
#[derive(Debug)]
struct Stoppable<R: ?Sized>(Arc<R>);

/// Rules of the logical optimizer that [`check`].
pub(crate) fn stoppable(rules: Vec<LogicalRule>) -> Vec<LogicalRule> {
    rules.into_iter().map(|rule| Arc::new(Stoppable(rule)) as LogicalRule).collect()
}

/// Rules of the physical optimizer that [`check`].
pub(crate) fn stoppable_physical(rules: Vec<PhysicalRule>) -> Vec<PhysicalRule> {
    rules.into_iter().map(|rule| Arc::new(Stoppable(rule)) as PhysicalRule).collect()
}

impl OptimizerRule for Stoppable<dyn OptimizerRule + Send + Sync> {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn supports_rewrite(&self) -> bool {
        true
    }

    fn rewrite(&self, plan: LogicalPlan, config: &dyn OptimizerConfig) -> Result<Transformed<LogicalPlan>> {
        check()?;
        self.0.rewrite(plan, config)
    }
}

impl PhysicalOptimizerRule for Stoppable<dyn PhysicalOptimizerRule + Send + Sync> {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        check()?;
        self.0.optimize(plan, config)
    }

    fn optimize_with_context(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        context: &dyn PhysicalOptimizerContext,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        check()?;
        self.0.optimize_with_context(plan, context)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::executor::block_on;
    use squall_functions::expr::sql_error_from;
    use squall_types::ErrorCode;

    #[test]
    fn planning_stops_with_its_statement_and_with_no_other() {
        let (kill, other) = (Arc::new(KillState::default()), Arc::new(KillState::default()));
        other.kill_query();
        let inside = planning_for(kill.clone(), async {
            check().unwrap();
            kill.time_out();
            assert!(sql_error_from(check().unwrap_err()).is(ErrorCode::QueryTimeout));
            planning_for(other, async {
                assert!(sql_error_from(check().unwrap_err()).is(ErrorCode::QueryInterrupted))
            })
            .await;
            assert!(sql_error_from(check().unwrap_err()).is(ErrorCode::QueryTimeout));
        });
        block_on(inside);
        check().unwrap();
    }
}
