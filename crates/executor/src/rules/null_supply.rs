//! Stops an outer join from treating columns of its NULL-supplying side as constants.
//!
//! DataFusion's outer joins pass on the properties of both inputs. A column that is constant on the side that may have no row is not
//! constant in the joined rows, where it may be NULL as well. If it were treated as a constant, sorts would leave it out, and groups by
//! it would count as sorted. [`HideConstants`] puts `NullSupply` under such joins, which hides constants and does nothing else.

use crate::operators::pass_through::{PassThrough, PassThroughExec};
use crate::rewrite::{replace_nodes, with_inputs};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{JoinType, Result};
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, PlanProperties};
use std::sync::Arc;

/// The rule.
#[derive(Debug)]
pub struct HideConstants;

impl PhysicalOptimizerRule for HideConstants {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        replace_nodes(plan, |plan| {
            let Some(join_type) = join_type_of(plan.as_ref()) else { return Ok(None) };
            let hidden = |side: usize| match join_type {
                JoinType::Left => side == 1,
                JoinType::Right => side == 0,
                JoinType::Full => true,
                _ => false,
            };
            let mut changed = false;
            let children = plan
                .children()
                .into_iter()
                .enumerate()
                .map(|(side, child)| {
                    if !hidden(side) || child.equivalence_properties().constants().is_empty() {
                        return Arc::clone(child);
                    }
                    changed = true;
                    Arc::new(PassThroughExec::new(Arc::clone(child), NullSupply)) as Arc<dyn ExecutionPlan>
                })
                .collect();
            if !changed {
                return Ok(None);
            }
            with_inputs(plan, children).map(Some)
        })
    }

    fn name(&self) -> &str {
        "hide_constants"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn join_type_of(plan: &dyn ExecutionPlan) -> Option<JoinType> {
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return Some(*join.join_type());
    }
    if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        return Some(*join.join_type());
    }
    plan.downcast_ref::<SortMergeJoinExec>().map(SortMergeJoinExec::join_type)
}

/// Gives its input's rows.
#[derive(Clone, Debug)]
struct NullSupply;

impl PassThrough for NullSupply {
    fn label(&self) -> &str {
        "NullSupplyExec"
    }

    fn properties(&self, input: &Arc<dyn ExecutionPlan>) -> Arc<PlanProperties> {
        let order = input.output_ordering().cloned();
        Arc::new(PlanProperties::new(
            EquivalenceProperties::new_with_orderings(input.schema(), order),
            input.output_partitioning().clone(),
            input.pipeline_behavior(),
            input.boundedness(),
        ))
    }
}
