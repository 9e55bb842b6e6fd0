//! Queries of the full planner with their plans.

use squall_executor::reusable::ReusablePlan;
use squall_planner::BoundQuery;
use std::sync::Arc;

/// A query of the full planner with its plan. One execution at a time has it.
#[derive(Debug)]
pub(crate) struct CachedQuery {
    /// Without its logical plan.
    pub query: Arc<BoundQuery>,
    pub plan: ReusablePlan,
}

impl CachedQuery {
    /// A query that has been planned.
    pub fn new(query: BoundQuery, plan: ReusablePlan) -> CachedQuery {
        CachedQuery { query: Arc::new(query.without_plan()), plan }
    }
}
