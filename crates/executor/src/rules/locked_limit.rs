//! Locking reads with a LIMIT lock each row when they return it, not before: many clients read a queue like that at the
//! same time.

use crate::access::scan::RowScanExec;
use crate::operator::Operator;
use crate::operators::lookup_join::IndexLookupJoinExec;
use crate::rewrite::with_inputs;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use squall_parser::ast::with_stack;
use std::sync::Arc;

/// The rule. It comes when limits have been pushed down.
#[derive(Debug)]
pub struct LockedLimitRule;

impl PhysicalOptimizerRule for LockedLimitRule {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        below(plan, false)
    }

    fn name(&self) -> &str {
        "locked_limit"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The plan, in which scans know whether the operators above may stop before their end.
fn below(plan: Arc<dyn ExecutionPlan>, is_limited: bool) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(scan) = RowScanExec::of(plan.as_ref()) {
        let is_locked = is_limited && scan.source.lock.is_some();
        return Ok(if is_locked { Arc::new(scan.ending_early()) } else { plan });
    }
    let is_limit = plan.is::<GlobalLimitExec>() || plan.is::<LocalLimitExec>();
    // These ask for rows one batch after the other, and for none when they have enough.
    let passes_on = plan.is::<FilterExec>()
        || plan.is::<ProjectionExec>()
        || plan.is::<IndexLookupJoinExec>()
        || plan.is::<CooperativeExec>();
    let is_limited = is_limit || passes_on && (is_limited || plan.fetch().is_some());
    let mut is_changed = false;
    let mut children = Vec::new();
    for child in plan.children() {
        // Plans are as deep as queries are nested.
        let new = with_stack(|| below(child.clone(), is_limited))?;
        is_changed |= !Arc::ptr_eq(&new, child);
        children.push(new);
    }
    if !is_changed {
        return Ok(plan);
    }
    with_inputs(&plan, children)
}
