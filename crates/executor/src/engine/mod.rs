//! DataFusion set up for MySQL's rules: which of its optimizer rules run, and how plans become physical.
//!
//! The binder has found every type, so nothing here may change one: DataFusion's analyzer with its coercion is off,
//! and so are the rules that fold or rewrite expressions by DataFusion's own idea of their meaning.

mod planner;

use crate::document_values;
use crate::engine::planner::SquallQueryPlanner;
use crate::env::StatementEnv;
use crate::operators::in_order::in_order;
use crate::operators::one_row::{is_assignment, one_row_at_a_time};
use crate::rules::build_order::HideBuildOrder;
use crate::rules::join_order::JoinOrderRule;
use crate::rules::list_order::ListOrderRule;
use crate::rules::null_safe_keys::{extract_keys, join_by_keys};
use crate::rules::null_supply::HideConstants;
use crate::rules::optimize_subqueries::OptimizeSubqueries;
use crate::rules::push_filters::PushFiltersDown;
use crate::rules::scan_filters::ScanFiltersRule;
use crate::star;
use crate::stopping::stoppable;
use datafusion::catalog::default_table_source::source_as_provider;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::execution::context::SessionState;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::execution::{SessionStateBuilder, TaskContext};
use datafusion::logical_expr::{Expr, LogicalPlan};
use datafusion::optimizer::OptimizerRule;
use datafusion::optimizer::common_subexpr_eliminate::CommonSubexprEliminate;
use datafusion::optimizer::eliminate_duplicated_expr::EliminateDuplicatedExpr;
use datafusion::optimizer::eliminate_filter::EliminateFilter;
use datafusion::optimizer::eliminate_group_by_constant::EliminateGroupByConstant;
use datafusion::optimizer::eliminate_limit::EliminateLimit;
use datafusion::optimizer::eliminate_outer_join::EliminateOuterJoin;
use datafusion::optimizer::optimize_projections::OptimizeProjections;
use datafusion::optimizer::optimize_unions::OptimizeUnions;
use datafusion::optimizer::propagate_empty_relation::PropagateEmptyRelation;
use datafusion::optimizer::push_down_limit::PushDownLimit;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::aggregate_statistics::AggregateStatistics;
use datafusion::physical_optimizer::ensure_requirements::EnsureRequirements;
use datafusion::physical_optimizer::filter_pushdown::FilterPushdown;
use datafusion::physical_optimizer::join_selection::JoinSelection;
use datafusion::physical_optimizer::optimizer::PhysicalOptimizer;
use datafusion::physical_optimizer::projection_pushdown::ProjectionPushdown;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::prelude::SessionConfig;
use squall_catalog::Authorized;
use squall_functions::aggregate::KernelUdaf;
use squall_functions::expr::{datafusion_error, sql_error_from};
use squall_types::SqlResult;
use std::sync::Arc;

/// The caller's options of execution.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// How many partitions, and so threads, an operator may use: the number of cores for big scans, 1 for small ones.
    pub target_partitions: usize,
    /// Memory pool, disk manager and caches.
    pub runtime: Arc<RuntimeEnv>,
    /// Rules to run after DataFusion's physical ones, such as index nested-loop joins.
    pub physical_rules: Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>>,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self { target_partitions: 1, runtime: Arc::default(), physical_rules: Vec::new() }
    }
}

/// The optimizer's rules in order. Each looks whether the statement that is planned has been stopped.
pub fn optimizer_rules() -> Vec<Arc<dyn OptimizerRule + Send + Sync>> {
    let mut rules: Vec<Arc<dyn OptimizerRule + Send + Sync>> = vec![
        Arc::new(OptimizeUnions::new()),
        Arc::new(extract_keys()),
        Arc::new(EliminateDuplicatedExpr::new()),
        Arc::new(EliminateFilter::new()),
        Arc::new(join_by_keys()),
        Arc::new(EliminateLimit::new()),
        Arc::new(PropagateEmptyRelation::new()),
        Arc::new(EliminateOuterJoin::new()),
        Arc::new(PushDownLimit::new()),
        Arc::new(PushFiltersDown::default()),
        Arc::new(EliminateGroupByConstant::new()),
        Arc::new(CommonSubexprEliminate::new()),
        Arc::new(OptimizeProjections::new()),
    ];
    rules = stoppable(rules);
    rules.push(Arc::new(OptimizeSubqueries::new(rules.clone())));
    rules
}

/// A DataFusion session for one statement.
pub fn session_state(options: &EngineOptions) -> SessionState {
    let mut config = SessionConfig::new()
        .with_target_partitions(options.target_partitions.max(1))
        .with_information_schema(false)
        .with_create_default_catalog_and_schema(false);
    let settings = config.options_mut();
    // MySQL's NULLs come first in ascending order and the binder says so in every sort.
    settings.sql_parser.default_null_ordering = "nulls_min".to_string();
    settings.optimizer.max_passes = 3;
    // Big scans are split by the access path. Dealing the rows of a small input out again would only change the order
    // in which GROUP_CONCAT and user variables see them.
    settings.optimizer.enable_round_robin_repartition = false;
    // Fields carry MySQL types as metadata, which expressions of DataFusion's own do not repeat.
    settings.execution.skip_physical_aggregate_schema_check = true;
    let mut builder = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(Arc::clone(&options.runtime))
        .with_analyzer_rules(Vec::new())
        .with_optimizer_rules(optimizer_rules())
        .with_physical_optimizer_rules(physical_rules())
        .with_query_planner(Arc::new(SquallQueryPlanner));
    for rule in &options.physical_rules {
        builder = builder.with_physical_optimizer_rule(Arc::clone(rule));
    }
    builder.build()
}

/// DataFusion's physical rules, with [`HideConstants`] and [`HideBuildOrder`] before the one that decides which sorts are needed, and
/// [`JoinOrderRule`] before each that pushes projections down; [`ScanFiltersRule`] before all of them, so that they estimate well.
///
/// Without the rules that push filters down: the logical ones have done so, and these tell the columns of a join's two
/// sides apart by name alone, so that a filter on one side's `n` can end up on the other side's.
///
/// And without the one that answers aggregates from statistics, which are estimates here: a filter `x = 9` claims
/// exactly one distinct value of `x`, whether a row has it or not.
fn physical_rules() -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules = PhysicalOptimizer::new().rules;
    let unwanted = [
        FilterPushdown::new().name().to_string(),
        FilterPushdown::new_post_optimization().name().to_string(),
        AggregateStatistics::new().name().to_string(),
    ];
    rules.retain(|rule| !unwanted.iter().any(|name| rule.name() == name));
    let at = rules.iter().position(|rule| rule.name() == EnsureRequirements::new().name()).unwrap_or(0);
    rules.splice(at..at, [Arc::new(HideConstants) as _, Arc::new(HideBuildOrder) as _]);
    rules.insert(0, Arc::new(ScanFiltersRule));
    let pushing = ProjectionPushdown::new();
    let with_order = |rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>| {
        let before = (rule.name() == pushing.name()).then(|| Arc::new(JoinOrderRule) as _);
        before.into_iter().chain([rule])
    };
    rules.into_iter().flat_map(with_order).collect()
}

/// These rules, and [`ListOrderRule`] behind the one that decides which side of a join is hashed.
fn with_list_order(
    rules: &[Arc<dyn PhysicalOptimizerRule + Send + Sync>],
) -> Vec<Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
    let mut rules = rules.to_vec();
    let selection = JoinSelection::new();
    let at = rules.iter().position(|rule| rule.name() == selection.name()).map_or(0, |at| at + 1);
    rules.insert(at, Arc::new(ListOrderRule));
    rules
}

/// Optimizes a bound plan.
pub fn optimize(plan: &LogicalPlan, state: &SessionState) -> SqlResult<LogicalPlan> {
    state.optimize(plan).map_err(sql_error_from)
}

/// Optimizes a bound plan and makes it physical.
pub async fn physical_plan(plan: Authorized<&LogicalPlan>, state: &SessionState) -> SqlResult<Arc<dyn ExecutionPlan>> {
    let plan = plan.get();
    let (assigns, keeps_order) = (assigns_variables(plan)?, keeps_order(plan)?);
    let is_narrow = state.config().target_partitions() == 1;
    if !keeps_order && (is_narrow || !assigns && !is_small(plan)?) {
        return plan_with(plan, state, assigns).await;
    }
    // Rows that assign variables must be made one after another, and rows of lists must come in the same order each time. Few rows
    // are not worth a second thread, and on one their groups come out in the order in which they were met.
    let config = state.config().clone().with_target_partitions(1);
    let mut narrow = SessionStateBuilder::new_from_existing(state.clone()).with_config(config);
    if keeps_order {
        narrow = narrow.with_physical_optimizer_rules(with_list_order(state.physical_optimizers()));
    }
    plan_with(plan, &narrow.build(), assigns).await
}

async fn plan_with(plan: &LogicalPlan, state: &SessionState, assigns: bool) -> SqlResult<Arc<dyn ExecutionPlan>> {
    let plan = optimize(plan, state)?;
    let plan = match state.config().get_extension::<StatementEnv>() {
        Some(env) if !assigns => star::recognize(plan, &env.context.settings.time_zone)
            .and_then(|plan| document_values::recognize(plan, &env))
            .map_err(sql_error_from)?,
        _ => plan,
    };
    let plan = state.query_planner().create_physical_plan(&plan, state).await.map_err(sql_error_from)?;
    if state.config().target_partitions() > 1 {
        return Ok(plan);
    }
    let plan = in_order(plan).map_err(sql_error_from)?;
    if assigns { one_row_at_a_time(plan).map_err(sql_error_from) } else { Ok(plan) }
}

/// Plans a subquery that is run once for all rows, as a statement is planned.
pub(crate) async fn subquery_for_all(
    plan: &LogicalPlan,
    state: &SessionState,
) -> datafusion::common::Result<Arc<dyn ExecutionPlan>> {
    let is_wide = may_run_wide(plan).map_err(datafusion_error)?;
    let planned = if is_wide {
        plan_with(plan, state, false).await
    } else {
        let config = state.config().clone().with_target_partitions(1);
        let narrow = SessionStateBuilder::new_from_existing(state.clone()).with_config(config).build();
        plan_with(plan, &narrow, false).await
    };
    planned.map_err(datafusion_error)
}

/// Whether a subquery has so many rows that several threads are worth it, and gives the same then.
fn may_run_wide(subquery: &LogicalPlan) -> SqlResult<bool> {
    Ok(!is_small(subquery)? && !keeps_order(subquery)? && !assigns_variables(subquery)?)
}

/// Whether the tables of a plan have few rows, and few pairs of rows where it joins.
fn is_small(plan: &LogicalPlan) -> SqlResult<bool> {
    /// Fewer than a thread works off while another one is woken and given its part.
    const ROWS_MAX: usize = 100_000;
    /// The assumed rows of a table without statistics.
    const ROWS_UNKNOWN: usize = 1_000;
    let mut pairs: usize = 1;
    let visited = plan.apply(|plan| {
        if let LogicalPlan::TableScan(scan) = plan {
            let statistics = source_as_provider(&scan.source)?.statistics();
            let rows = statistics.and_then(|statistics| statistics.num_rows.get_value().copied());
            pairs = pairs.saturating_mul(rows.unwrap_or(ROWS_UNKNOWN).max(1));
        }
        Ok(TreeNodeRecursion::Continue)
    });
    visited.map_err(sql_error_from)?;
    Ok(pairs <= ROWS_MAX)
}

/// Whether a plan makes lists of rows, in the order in which these come.
fn keeps_order(plan: &LogicalPlan) -> SqlResult<bool> {
    let mut found = false;
    let visited = plan.apply(|plan| {
        let LogicalPlan::Aggregate(aggregate) = plan else { return Ok(TreeNodeRecursion::Continue) };
        for expr in &aggregate.aggr_expr {
            expr.apply(|expr| {
                if let Expr::AggregateFunction(function) = expr {
                    found |= KernelUdaf::of(&function.func).is_some_and(KernelUdaf::keeps_order);
                }
                Ok(TreeNodeRecursion::Continue)
            })?;
        }
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    visited.map_err(sql_error_from)?;
    Ok(found)
}

/// Whether a plan assigns user variables.
fn assigns_variables(plan: &LogicalPlan) -> SqlResult<bool> {
    let mut found = false;
    let visited = plan.apply(|plan| {
        plan.apply_expressions(|expr| {
            expr.apply(|expr| {
                found |= matches!(expr, Expr::ScalarFunction(call) if is_assignment(&call.func));
                Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
            })
        })
    });
    visited.map_err(sql_error_from)?;
    Ok(found)
}

/// The task context to execute a physical plan with.
pub fn task_context(state: &SessionState) -> Arc<TaskContext> {
    state.task_ctx()
}
