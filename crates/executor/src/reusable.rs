//! Physical plans that several executions of one query run, one after another.
//!
//! A plan may be kept if nothing in it belongs to one execution. Its functions depend only on their arguments. Its operators find the
//! statement, its snapshot and its memory when they run, and expressions find the statement and its parameters in the plan's
//! [`ExecutionSlot`]. Before each run the operators are copied without the state of former runs (`ExecutionPlan::reset_state`), and
//! paths to rows that depend on parameters are chosen again.
//!
//! Operators are listed one by one: a plan with an operator that is not in the list is not kept.

use crate::access::RowTable;
use crate::access::filter::{converts_parameter, has_value_silently};
use crate::access::scan::RowScanExec;
use crate::env::StatementEnv;
use crate::operator::Operator;
use crate::operators::apply::Apply;
use crate::operators::apply_exec::ApplyExec;
use crate::operators::lookup_join::IndexLookupJoinExec;
use crate::operators::pass_through::PassThroughExec;
use crate::operators::{as_hash_join, as_sort};
use crate::table_operator::TableOperator;
use datafusion::catalog::default_table_source::source_as_provider;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan, Volatility, WindowFunctionDefinition};
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::coop::CooperativeExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{CrossJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, displayable};
use squall_functions::aggregate::KernelUdaf;
use squall_functions::expr::{CallUdf, ExecutionSlot, ParameterUdf, datafusion_error, sql_error_from};
use squall_registry::KernelMemory;
use squall_row_store::Table;
use squall_statement_context::StatementContext;
use squall_types::{Date, SqlResult, Value};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A plan was chosen by estimates, which change with the rows.
const AGE_MAX: Duration = Duration::from_secs(60);
/// A table may have this many times more or fewer rows than when the plan was made …
const ROWS_FACTOR: u64 = 2;
/// … or this many more or fewer.
const ROWS_SLACK: u64 = 100;
/// Bytes of an operator with its expressions, schema and equivalences, by measurement of plans of many kinds.
const OPERATOR_BYTES: u64 = 12 << 10;
/// Columns that are counted in them.
const OPERATOR_COLUMNS: u64 = 8;
/// Bytes of each column more, by measurement of plans over tables of 300 columns.
const COLUMN_BYTES: u64 = 1536;

/// A plan with what tells whether it may run again.
pub struct ReusablePlan {
    plan: Arc<dyn ExecutionPlan>,
    slot: Arc<ExecutionSlot>,
    /// The tables that it reads, with their rows when it was made.
    tables: Vec<(Arc<Table>, u64)>,
    /// Dates of times are those of the day.
    made_on: Date,
    made_at: Instant,
    operators: u64,
    /// Columns of operators beyond those that each may have.
    columns: u64,
    /// Parameters as they are converted for what they are compared with.
    conversions: Vec<Expr>,
}

impl fmt::Debug for ReusablePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ReusablePlan({})", displayable(self.plan.as_ref()).one_line())
    }
}

impl ReusablePlan {
    /// The plan, if other executions may run it. `logical` is what it was made of, with `slot` in its expressions.
    pub fn new(
        logical: &LogicalPlan,
        plan: &Arc<dyn ExecutionPlan>,
        slot: &Arc<ExecutionSlot>,
        env: &StatementEnv,
    ) -> Option<Self> {
        if !calls_only_functions_of_arguments(logical).unwrap_or(false) {
            return None;
        }
        let mut found = Found::default();
        if !found.add(plan) {
            return None;
        }
        Some(ReusablePlan {
            plan: plan.clone(),
            slot: slot.clone(),
            tables: found.tables.into_iter().map(|table| (table.clone(), rows_of(&table, env))).collect(),
            made_on: env.current_date,
            made_at: Instant::now(),
            operators: found.operators,
            columns: found.columns,
            conversions: conversions(logical).ok()?,
        })
    }

    /// Whether the plan still is what would be made now, as far as rows and dates decide that.
    pub fn holds(&self, env: &StatementEnv) -> bool {
        self.made_at.elapsed() < AGE_MAX
            && self.made_on == env.current_date
            && self.tables.iter().all(|(table, rows)| {
                let now = rows_of(table, env);
                let (fewer, more) = (now.min(*rows), now.max(*rows));
                !table.is_retired() && more <= (fewer * ROWS_FACTOR).max(fewer + ROWS_SLACK)
            })
    }

    /// The plan for the next execution, with these parameters; `None` if they want another plan. No other execution may run meanwhile.
    ///
    /// # Errors
    /// When a table cannot be read, or an operator cannot be copied: a defect.
    pub fn next_execution(
        &self,
        env: &StatementEnv,
        parameters: Arc<Vec<Value>>,
    ) -> SqlResult<Option<Arc<dyn ExecutionPlan>>> {
        self.slot.plan(env.context.clone(), parameters);
        if !self.conversions.iter().all(|conversion| has_value_silently(conversion, &env.context)) {
            return Ok(None);
        }
        let mut suits = true;
        let plan = self.plan.clone().transform_up(|node| {
            match TableOperator::of(node.as_ref()) {
                _ if !suits => return Ok(Transformed::no(node)),
                Some(TableOperator::Rows(scan)) => {
                    if let Some(scan) = scan.for_values(env).map_err(datafusion_error)? {
                        return Ok(Transformed::yes(Arc::new(scan)));
                    }
                    suits = false;
                }
                Some(TableOperator::Lookup(join)) => {
                    suits = join.inner().scan.for_values(env).map_err(datafusion_error)?.is_some();
                }
                _ => {}
            }
            node.reset_state().map(Transformed::yes)
        });
        let plan = plan.map_err(sql_error_from)?.data;
        self.slot.start();
        Ok(suits.then_some(plan))
    }

    /// Drops the statement that has run last.
    pub fn end_execution(&self) {
        self.slot.put(Arc::new(StatementContext::default()), Arc::default());
    }

    /// Bytes, by estimate.
    pub fn size_bytes(&self) -> u64 {
        self.operators * OPERATOR_BYTES + self.columns * COLUMN_BYTES
    }
}

/// Whether a query may have a plan that holds for other values of its parameters, as far as can be seen before it is planned.
pub fn may_take_other_values(logical: &LogicalPlan) -> bool {
    calls_only_functions_of_arguments(logical).unwrap_or(false) && reads_tables(logical).unwrap_or(false)
}

/// Whether the parameters of a query, which are in its slot, can be converted without an error or a warning. Those are told as of
/// literals, by a plan for these values.
pub fn converts_silently(logical: &LogicalPlan, context: &StatementContext) -> bool {
    let conversions = conversions(logical).unwrap_or_default();
    conversions.iter().all(|conversion| has_value_silently(conversion, context))
}

/// The conversions of parameters in a plan.
fn conversions(plan: &LogicalPlan) -> Result<Vec<Expr>> {
    let mut found = Vec::new();
    plan.apply_with_subqueries(|node| {
        if let Some(apply) = Apply::of(node) {
            found.extend(conversions(&apply.subquery)?);
        }
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                if converts_parameter(expr) {
                    found.push(expr.clone());
                }
                Ok(TreeNodeRecursion::Continue)
            })
        })
    })?;
    Ok(found)
}

fn rows_of(table: &Table, env: &StatementEnv) -> u64 {
    env.store.table_stats(table).row_count
}

/// The tables of a plan, and its number of operators.
#[derive(Default)]
struct Found {
    tables: Vec<Arc<Table>>,
    operators: u64,
    columns: u64,
}

impl Found {
    /// Adds a plan; `false` if an operator may not run again.
    fn add(&mut self, plan: &Arc<dyn ExecutionPlan>) -> bool {
        self.operators += 1;
        self.columns += (plan.schema().fields().len() as u64).saturating_sub(OPERATOR_COLUMNS);
        let reads = match TableOperator::of(plan.as_ref()) {
            Some(TableOperator::Rows(scan)) if !scan.takes_other_values() => return false,
            Some(TableOperator::Rows(RowScanExec { source, .. })) => Some(source),
            Some(TableOperator::Lookup(join)) => Some(&IndexLookupJoinExec::inner(join).scan.source),
            Some(_) => return false,
            None => None,
        };
        match reads {
            Some(source) if !has_rows_alone(source) => return false,
            Some(source) => self.tables.push(source.table.clone()),
            None if !runs_again(plan) => return false,
            None => {}
        }
        plan.children().into_iter().all(|child| self.add(child))
    }
}

/// Whether a table is read by rows, unlocked. A reference to one with columns keeps the snapshot of columns that was seen last, and with it files.
fn has_rows_alone(source: &RowTable) -> bool {
    source.lock.is_none() && !source.table.traits().reads_by_column && source.copy_def().is_none()
}

/// Whether an operator that reads no table may run again. Operators that run their inputs as separate tasks are not among them:
/// such a task may still run for a moment after the last row, and would find the next statement in the slot.
fn runs_again(plan: &Arc<dyn ExecutionPlan>) -> bool {
    let ours = PassThroughExec::of(plan.as_ref()).map(PassThroughExec::runs_again);
    let ours = ours.or_else(|| ApplyExec::of(plan.as_ref()).map(ApplyExec::runs_again));
    ours.unwrap_or(false)
        || as_hash_join(plan).is_some()
        || as_sort(plan).is_some()
        || plan.is::<FilterExec>()
        || plan.is::<ProjectionExec>()
        || plan.is::<AggregateExec>()
        || plan.is::<GlobalLimitExec>()
        || plan.is::<LocalLimitExec>()
        || plan.is::<UnionExec>()
        || plan.is::<CrossJoinExec>()
        || plan.is::<NestedLoopJoinExec>()
        || plan.is::<SortMergeJoinExec>()
        || plan.is::<CooperativeExec>()
        || plan.is::<WindowAggExec>()
        || plan.is::<BoundedWindowAggExec>()
        || plan.is::<EmptyExec>()
        || plan.is::<PlaceholderRowExec>()
}

/// Whether equal arguments give all functions of a plan equal results, in any statement. Subqueries that are planned for each row may
/// read rows of tables alone.
fn calls_only_functions_of_arguments(plan: &LogicalPlan) -> Result<bool> {
    let mut only = true;
    plan.apply_with_subqueries(|node| {
        if let Some(apply) = Apply::of(node) {
            only &= reads_tables(&apply.subquery)? && calls_only_functions_of_arguments(&apply.subquery)?;
        }
        node.apply_expressions(|expr| {
            expr.apply(|expr| {
                only &= is_function_of_arguments(expr);
                Ok(if only { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
            })
        })
    })?;
    Ok(only)
}

/// Whether a plan reads nothing but rows of stored tables, and locks none of them.
fn reads_tables(plan: &LogicalPlan) -> Result<bool> {
    let mut only = true;
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            let provider = source_as_provider(&scan.source)?;
            only &= RowTable::of(provider.as_ref()).is_some_and(has_rows_alone);
        }
        Ok(if only { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    Ok(only)
}

fn is_function_of_arguments(expr: &Expr) -> bool {
    let volatility = match expr {
        Expr::ScalarFunction(call) if ParameterUdf::of(&call.func).is_some() => return true,
        Expr::ScalarFunction(call) => {
            let keeps = CallUdf::of(&call.func).map(|udf| udf.call().kernel.memory());
            if keeps == Some(KernelMemory::OfStatement) {
                return false;
            }
            call.func.signature().volatility
        }
        Expr::AggregateFunction(call) => {
            if KernelUdaf::of(&call.func).is_some_and(KernelUdaf::is_of_statement) {
                return false;
            }
            call.func.signature().volatility
        }
        Expr::WindowFunction(call) => match &call.fun {
            WindowFunctionDefinition::AggregateUDF(function) => function.signature().volatility,
            WindowFunctionDefinition::WindowUDF(function) => function.signature().volatility,
        },
        Expr::Placeholder(_) => return false,
        _ => return true,
    };
    volatility == Volatility::Immutable
}
