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

fn reordered(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    plan.transform_down(|plan| {
        if !graph::is_join(&plan) {
            return Ok(Transformed::no(plan));
        }
        let Some(mut graph) = Graph::of(&plan)? else { return Ok(Transformed::no(plan)) };
        let found = match graph.inputs.len() < INPUTS_MIN {
            true => None,
            false => {
                graph.estimate()?;
                search::cheapest(&graph)
            }
        };
        // The inputs are visited once, here or below: twice would be twice as long at each level of nested joins.
        let Some(tree) = found else { return Ok(Transformed::no(plan)) };
        // What they are joins of is a matter of its own.
        for input in &mut graph.inputs {
            input.plan = reordered(Arc::clone(&input.plan))?;
        }
        let better = build::plan_of(&graph, &tree, &plan.schema())?;
        Ok(Transformed::new(better, true, TreeNodeRecursion::Jump))
    })
    .data()
}
