//! Turns this crate's logical operators into physical ones.

use crate::engine::{may_run_wide, subquery_for_all};
use crate::env::StatementEnv;
use crate::operators::apply::Apply;
use crate::operators::apply_exec::{ApplyExec, ApplySpec, nullable_schema};
use crate::operators::json_table::{JsonTableExec, JsonTableNode};
use crate::operators::nested_block::{NestedBlock, nested_block_exec};
use crate::operators::recursive::RecursiveUnion;
use crate::operators::recursive_exec::RecursiveUnionExec;
use crate::operators::{charge_windows, check_kill_in_joins, let_joins_spill, let_sorts_spill};
use crate::star::exec::{Beside, StarExec};
use crate::star::node::StarAggregate;
use crate::stopping;
use arrow::datatypes::DataType;
use async_trait::async_trait;
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, Result, internal_err};
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::{QueryPlanner, SessionState};
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{ExprSchemable, LogicalPlan, UserDefinedLogicalNode};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, ExtensionPlanner, PhysicalPlanner};
use squall_functions::expr::datafusion_error;
use std::sync::Arc;

/// DataFusion's planner, knowing this crate's operators too.
#[derive(Debug)]
pub struct SquallQueryPlanner;

#[async_trait]
impl QueryPlanner for SquallQueryPlanner {
    async fn create_physical_plan(
        &self,
        logical_plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        stopping::check()?;
        let plan = DefaultPhysicalPlanner::with_extension_planners(vec![Arc::new(OperatorPlanner)])
            .create_physical_plan(logical_plan, session)
            .await?;
        // Subqueries are planned here too, while their statement runs.
        let plan = match session.config().get_extension::<StatementEnv>() {
            Some(env) => check_kill_in_joins(plan, &env.execution_slot())?,
            None => plan,
        };
        charge_windows(let_sorts_spill(let_joins_spill(plan)?)?)
    }
}

/// Plans the logical operators that are not DataFusion's.
#[derive(Debug)]
pub struct OperatorPlanner;

#[async_trait]
impl ExtensionPlanner for OperatorPlanner {
    async fn plan_extension(
        &self,
        planner: &dyn PhysicalPlanner,
        node: &dyn UserDefinedLogicalNode,
        _logical_inputs: &[&LogicalPlan],
        physical_inputs: &[Arc<dyn ExecutionPlan>],
        session: &dyn Session,
        context: &PhysicalPlanningContext,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if let Some(apply) = node.as_any().downcast_ref::<Apply>() {
            let [input] = physical_inputs else { return internal_err!("Apply has one input") };
            return plan_apply(planner, apply, input, session, context).map(Some);
        }
        if let Some(recursive) = node.as_any().downcast_ref::<RecursiveUnion>() {
            return plan_recursive(planner, recursive, physical_inputs, session, context).map(Some);
        }
        if let Some(table) = node.as_any().downcast_ref::<JsonTableNode>() {
            let [input] = physical_inputs else { return internal_err!("JsonTable has one input") };
            let document = planner.create_physical_expr(&table.document, table.input.schema(), session, context)?;
            let schema = datafusion::logical_expr::UserDefinedLogicalNodeCore::schema(table);
            let schema = Arc::clone(schema.inner());
            return Ok(Some(Arc::new(JsonTableExec::new(input.clone(), document, table.spec.clone(), schema))));
        }
        if node.as_any().is::<NestedBlock>() {
            let [input] = physical_inputs else { return internal_err!("NestedBlock has one input") };
            return Ok(Some(nested_block_exec(Arc::clone(input))));
        }
        if let Some(star) = node.as_any().downcast_ref::<StarAggregate>() {
            let filter = star.spec.fact.physical_filter(star.spec.filter.clone(), session)?;
            let beside = Beside::new(star.beside.clone(), state_of(session)?.clone());
            let star = StarExec::new(star.spec.clone(), filter, beside, physical_inputs.to_vec())?;
            return Ok(Some(Arc::new(match session.config().get_extension::<StatementEnv>() {
                Some(env) => star.with_estimate(&env),
                None => star,
            })));
        }
        Ok(None)
    }
}

fn plan_apply(
    planner: &dyn PhysicalPlanner,
    apply: &Apply,
    input: &Arc<dyn ExecutionPlan>,
    session: &dyn Session,
    context: &PhysicalPlanningContext,
) -> Result<Arc<dyn ExecutionPlan>> {
    let input_schema = apply.input.schema();
    // What is run once may be as large as a statement.
    let is_wide = apply.outer_values.is_empty() && may_run_wide(&apply.subquery).map_err(datafusion_error)?;
    let session_of_all = outside_of_statement(state_of(session)?);
    let session = if is_wide { Arc::new(state_of(session)?.clone()) } else { inner_session(session)? };
    let written = match apply.optimized {
        true => apply.written.clone(),
        false => (!apply.outer_values.is_empty()).then(|| Arc::clone(&apply.subquery)),
    };
    let subquery = match apply.optimized {
        true => Arc::clone(&apply.subquery),
        false => Arc::new(session.optimize(&apply.subquery)?),
    };
    let create = |expr, schema: &DFSchema| planner.create_physical_expr(expr, schema, session.as_ref(), context);
    let outer_values = apply
        .outer_values
        .iter()
        .map(|outer| Ok((outer.placeholder.clone(), create(&outer.value, input_schema)?)))
        .collect::<Result<Vec<_>>>()?;
    let outer_fields =
        apply.outer_values.iter().map(|outer| Ok(outer.value.to_field(input_schema.as_ref())?.1.as_ref().clone()));
    let outer_fields = outer_fields.collect::<Result<_>>()?;
    let operands: Vec<Arc<dyn PhysicalExpr>> =
        apply.operands.iter().map(|operand| create(operand, input_schema)).collect::<Result<_>>()?;
    let types: Vec<DataType> =
        apply.operands.iter().map(|operand| operand.get_type(input_schema.as_ref())).collect::<Result<_>>()?;
    let comparison_schema = Apply::comparison_schema(&types, apply.subquery.schema())?;
    let comparison = apply.comparison.as_ref().map(|comparison| create(comparison, &comparison_schema)).transpose()?;
    let spec = ApplySpec {
        subquery_schema: nullable_schema(subquery.schema().as_arrow()),
        subquery,
        written,
        kind: apply.kind.clone(),
        outer_values,
        outer_fields,
        operands,
        comparison,
        comparison_schema: nullable_schema(comparison_schema.as_arrow()),
        session: outside_of_statement(&session),
        session_of_all,
        plan_for_all: |plan, session| Box::pin(subquery_for_all(plan, session)),
    };
    let schema = datafusion::logical_expr::UserDefinedLogicalNodeCore::schema(apply);
    Ok(Arc::new(ApplyExec::new(Arc::clone(input), Arc::new(spec), Arc::clone(schema.inner()))))
}

fn plan_recursive(
    planner: &dyn PhysicalPlanner,
    recursive: &RecursiveUnion,
    physical_inputs: &[Arc<dyn ExecutionPlan>],
    session: &dyn Session,
    context: &PhysicalPlanningContext,
) -> Result<Arc<dyn ExecutionPlan>> {
    let [seed, part] = physical_inputs else { return internal_err!("RecursiveUnion has two inputs") };
    let keys = match &recursive.distinct_keys {
        None => None,
        Some(keys) => Some(
            keys.iter()
                .map(|key| planner.create_physical_expr(key, &recursive.schema, session, context))
                .collect::<Result<Vec<_>>>()?,
        ),
    };
    Ok(Arc::new(RecursiveUnionExec::new(
        recursive.name.clone(),
        recursive.work_table,
        Arc::clone(seed),
        Arc::clone(part),
        keys,
        Arc::clone(&recursive.context),
        Arc::clone(recursive.schema.inner()),
    )))
}

fn state_of(session: &dyn Session) -> Result<&SessionState> {
    match session.as_any().downcast_ref::<SessionState>() {
        Some(state) => Ok(state),
        None => internal_err!("the session is not DataFusion's"),
    }
}

/// The session without its statement, whose snapshot it would keep alive.
fn outside_of_statement(session: &SessionState) -> Arc<SessionState> {
    let mut session = Arc::new(session.clone());
    if let Some(session) = Arc::get_mut(&mut session)
        && let Some(env) = session.config().get_extension::<StatementEnv>()
    {
        session.config_mut().set_extension(Arc::new(env.without_statement()));
    }
    session
}

/// The session that plans a subquery which is mostly small and run often, so it gets one partition.
fn inner_session(session: &dyn Session) -> Result<Arc<SessionState>> {
    let state = state_of(session)?;
    let config = state.config().clone().with_target_partitions(1);
    Ok(Arc::new(SessionStateBuilder::new_from_existing(state.clone()).with_config(config).build()))
}
