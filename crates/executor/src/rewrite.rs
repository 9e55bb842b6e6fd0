//! Changes of physical plans, node by node.

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::{ChildrenPropertiesMode, ReplaceChildrenOptions};
use std::sync::Arc;

/// A plan with another node in place of each for which `better` gives one, from the bottom up.
pub(crate) fn replace_nodes(
    plan: Arc<dyn ExecutionPlan>,
    better: impl Fn(&Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_up(|plan| match better(&plan)? {
        Some(better) => Ok(Transformed::yes(better)),
        None => Ok(Transformed::no(plan)),
    })
    .data()
}

/// The same for nodes of one type.
pub(crate) fn replace_each<E: ExecutionPlan>(
    plan: Arc<dyn ExecutionPlan>,
    better: impl Fn(&E) -> Result<Option<Arc<dyn ExecutionPlan>>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    replace_nodes(plan, |plan| plan.downcast_ref().map_or(Ok(None), &better))
}

/// A plan in which each node of a type for which `input` gives an input has that in place of its own.
pub(crate) fn replace_inputs<E: ExecutionPlan>(
    plan: Arc<dyn ExecutionPlan>,
    input: impl Fn(&E) -> Result<Option<Arc<dyn ExecutionPlan>>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    replace_nodes(plan, |plan| {
        let input = plan.downcast_ref().map_or(Ok(None), &input)?;
        input.map(|input| with_inputs(plan, vec![input])).transpose()
    })
}

/// A node over other inputs.
pub(crate) fn with_inputs(
    plan: &Arc<dyn ExecutionPlan>,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let options = ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute);
    Arc::clone(plan).replace_children(inputs, options)
}
