//! Orders the joins of a plan by their estimated cost.
//!
//! The binder joins tables in the order of FROM. Here a tree of inner joins, with the semi and anti joins over it, is taken apart into
//! its inputs and conditions (`graph`), the cheapest tree of them is searched (`search`), and made again (`build`). The search is
//! dynamic programming over connected sets of inputs (Moerkotte and Neumann: "Dynamic programming strikes back", 2008), or greedy for
//! many inputs (Fegaras: "A new heuristic for optimizing large queries", 1998). A semi or anti join only takes rows away, so it may come at
//! any place once the input is joined that its keys are of. Rows of a row table can be read or, one by one, looked up by an index (`lookup`): the search reckons with
//! the cheaper way, and [`super::lookup_join`] takes it later.
//!
//! The rule runs before the one that decides which side of a join is hashed. Plans that run in one partition stay as written: small ones,
//! where it does not matter, and those whose rows must come in a certain order. So do joins of locked rows.

mod build;
mod graph;
mod lookup;
mod search;

use crate::rules::join_graph::graph::Graph;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use std::sync::Arc;

/// Fewer inputs have no order: the sides of one join are chosen later.
const INPUTS_MIN: usize = 3;

/// The rule.
#[derive(Debug)]
pub struct JoinGraphRule;

impl PhysicalOptimizerRule for JoinGraphRule {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if config.execution.target_partitions <= 1 { Ok(plan) } else { reordered(plan) }
    }

    fn name(&self) -> &str {
        "join_graph"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The plan with its trees of joins in better orders, the inner ones first: how many rows an input has is asked of what will run.
fn reordered(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_down(|plan| {
        if !graph::is_join(&plan) {
            return Ok(Transformed::no(plan));
        }
        let Some(mut graph) = Graph::of(&plan)? else { return Ok(Transformed::no(plan)) };
        let mut as_written = Vec::with_capacity(graph.inputs.len());
        for input in &mut graph.inputs {
            as_written.push(Arc::clone(&input.plan));
            input.plan = reordered(Arc::clone(&input.plan))?;
        }
        let mut found = None;
        if graph.inputs.len() >= INPUTS_MIN {
            graph.estimate()?;
            found = search::cheapest(&graph);
        }
        let better = match found {
            Some(tree) => build::plan_of(&graph, &tree, &plan.schema())?,
            None => with_better_inputs(plan, &as_written, &graph)?,
        };
        // The inputs are visited once: twice would be twice as long at each level of nested joins.
        Ok(Transformed::new(better, true, TreeNodeRecursion::Jump))
    })
    .data()
}

/// A tree of joins in the order that it has, over its inputs as they are now.
fn with_better_inputs(
    plan: Arc<dyn ExecutionPlan>,
    as_written: &[Arc<dyn ExecutionPlan>],
    graph: &Graph,
) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_down(|plan| {
        let input = as_written.iter().position(|input| Arc::ptr_eq(input, &plan));
        Ok(match input {
            Some(input) => Transformed::new(Arc::clone(&graph.inputs[input].plan), true, TreeNodeRecursion::Jump),
            None => Transformed::no(plan),
        })
    })
    .data()
}
