//! Lets joins end on KILL, and pause for other tasks.
//!
//! A join whose condition accepts few pairs may try millions of them without giving a row, so the operator itself is
//! never stopped. Its condition is evaluated once for each batch of pairs, and looks at KILL. A join without a
//! condition makes rows without ever waiting; it is made to pause.

use crate::operators::row_count::as_row_count;
use arrow::datatypes::{DataType, Schema};
use arrow::record_batch::RecordBatch;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::logical_expr::ColumnarValue;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec};
use squall_functions::expr::{ExecutionSlot, datafusion_error};
use squall_statement_context::off_pool;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A condition that fails once its statement has been killed.
#[derive(Debug)]
struct KillCheck {
    condition: Arc<dyn PhysicalExpr>,
    slot: Arc<ExecutionSlot>,
    slice: TimeSlice,
}

/// Sees to it that a task which does not pause leaves its pool thread's other tasks to another thread.
#[derive(Debug)]
struct TimeSlice {
    began: Instant,
    /// Microseconds after `began` of the last time.
    last_micros: AtomicU64,
}

impl TimeSlice {
    /// How long a task may have a thread to itself.
    const LENGTH: Duration = Duration::from_millis(20);
    /// How long another thread gets to come forward.
    const HANDOVER: Duration = Duration::from_micros(100);

    fn new() -> Self {
        Self { began: Instant::now(), last_micros: AtomicU64::new(0) }
    }

    fn check(&self) {
        let now = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX);
        if now - self.last_micros.load(Ordering::Relaxed).min(now) > Self::LENGTH.as_micros() as u64 {
            self.last_micros.store(now, Ordering::Relaxed);
            // Without another thread this one goes on.
            let _ = off_pool(|| std::thread::sleep(Self::HANDOVER));
        }
    }
}

impl fmt::Display for KillCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.condition.fmt(f)
    }
}

impl PartialEq for KillCheck {
    fn eq(&self, other: &Self) -> bool {
        *self.condition == *other.condition
    }
}

impl Eq for KillCheck {}

impl Hash for KillCheck {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.condition.hash(state);
    }
}

impl PhysicalExpr for KillCheck {
    fn data_type(&self, schema: &Schema) -> Result<DataType> {
        self.condition.data_type(schema)
    }

    fn nullable(&self, schema: &Schema) -> Result<bool> {
        self.condition.nullable(schema)
    }

    fn evaluate(&self, batch: &RecordBatch) -> Result<ColumnarValue> {
        self.slot.check_kill().map_err(datafusion_error)?;
        self.slice.check();
        self.condition.evaluate(batch)
    }

    fn children(&self) -> Vec<&Arc<dyn PhysicalExpr>> {
        vec![&self.condition]
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn PhysicalExpr>>) -> Result<Arc<dyn PhysicalExpr>> {
        let condition = children.into_iter().next().unwrap_or_else(|| self.condition.clone());
        Ok(Arc::new(KillCheck { condition, slot: self.slot.clone(), slice: TimeSlice::new() }))
    }

    fn fmt_sql(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.condition.fmt_sql(f)
    }
}

/// Puts the check into the condition of every join of a plan, for the statement in `slot`, and numbers in the place of rows without columns that a join keeps.
pub fn check_kill_in_joins(plan: Arc<dyn ExecutionPlan>, slot: &Arc<ExecutionSlot>) -> Result<Arc<dyn ExecutionPlan>> {
    let checked = |filter: &JoinFilter| {
        let condition =
            Arc::new(KillCheck { condition: filter.expression().clone(), slot: slot.clone(), slice: TimeSlice::new() });
        JoinFilter::new(condition, filter.column_indices().to_vec(), filter.schema().clone())
    };
    plan.transform_up(|plan| {
        if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>()
            && let Some(filter) = join.filter()
        {
            let join = NestedLoopJoinExec::try_new(
                as_row_count(join.left()),
                join.right().clone(),
                Some(checked(filter)),
                join.join_type(),
                join.projection().as_ref().map(|projection| projection.to_vec()),
            )?;
            return Ok(Transformed::yes(pausing(Arc::new(join))));
        }
        if let Some(join) = plan.downcast_ref::<HashJoinExec>()
            && let Some(filter) = join.filter()
        {
            return Ok(Transformed::yes(join.builder().with_filter(Some(checked(filter))).build_exec()?));
        }
        if let Some(join) = plan.downcast_ref::<CrossJoinExec>() {
            let join = CrossJoinExec::new(as_row_count(join.left()), join.right().clone());
            return Ok(Transformed::yes(pausing(Arc::new(join))));
        }
        if plan.is::<NestedLoopJoinExec>() {
            return Ok(Transformed::yes(pausing(plan)));
        }
        Ok(Transformed::no(plan))
    })
    .data()
}

/// The join, pausing after some batches of its own making.
fn pausing(join: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    Arc::new(CooperativeExec::new(join))
}
