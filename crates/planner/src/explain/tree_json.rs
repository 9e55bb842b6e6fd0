//! EXPLAIN ANALYZE FORMAT=JSON: the lines of the tree as nested objects, with MySQL's names of `explain_json_format_version = 2`.

use super::json::{Node, write_node};
use super::tree::{Line, lines_of};
use datafusion::physical_plan::ExecutionPlan;
use std::iter::Peekable;
use std::slice::Iter;
use std::sync::Arc;

/// The document of a plan that has run, and the route that the statement takes.
pub fn explain_tree_json(plan: &Arc<dyn ExecutionPlan>, route: &str) -> String {
    let lines = lines_of(plan, true);
    let mut operators = below(&mut lines.iter().peekable(), 0);
    let mut members = vec![("json_schema_version", Node::Text("2.0".into()))];
    match operators.len() {
        1 => members.extend(operators.pop().map(|operator| ("query_plan", operator))),
        _ => members.push(("query_plan", Node::List(operators))),
    }
    members.push(("route", Node::Text(route.into())));
    let mut text = String::new();
    write_node(&Node::Object(members), 0, &mut text);
    text
}

/// The operators from the next line on that are at least so deep.
fn below(lines: &mut Peekable<Iter<'_, Line>>, depth: usize) -> Vec<Node> {
    let mut operators = Vec::new();
    while let Some(line) = lines.next_if(|line| line.depth >= depth) {
        let mut members = operator(line);
        let inputs = below(lines, line.depth + 1);
        if !inputs.is_empty() {
            members.push(("inputs", Node::List(inputs)));
        }
        operators.push(Node::Object(members));
    }
    operators
}

fn operator(line: &Line) -> Vec<(&'static str, Node)> {
    let mut members = vec![("operation", Node::Text(line.label.clone()))];
    members.extend(line.cost.map(|cost| ("estimated_total_cost", Node::Decimal(cost))));
    members.extend(line.rows.map(|rows| ("estimated_rows", Node::Number(rows as u64))));
    if let Some(actual) = &line.actual {
        // An operator that never ran has no rows and no loops.
        let (rows, loops) = actual.ran.map_or((0, 0), |(_, rows)| (rows as u64, 1));
        members.push(("actual_rows", Node::Number(rows)));
        members.push(("actual_loops", Node::Number(loops)));
        members.extend(actual.ran.map(|(milliseconds, _)| ("actual_last_row_ms", Node::Decimal(milliseconds))));
        if !actual.counts.is_empty() {
            members.push(("message", Node::Text(actual.counts.trim().into())));
        }
    }
    members
}
