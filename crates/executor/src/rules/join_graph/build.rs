//! Makes the plan of a tree of joins.

use super::graph::{Condition, Graph, Set, over};
use super::search::Tree;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::common::{JoinSide, JoinType, Result, internal_err};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::filter::FilterExecBuilder;
use datafusion::physical_plan::joins::utils::{ColumnIndex, JoinFilter};
use datafusion::physical_plan::joins::{HashJoinExecBuilder, PartitionMode};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Numbers of columns of the graph.
type Columns = BTreeSet<usize>;

/// A part of the plan, and the graph's columns that it gives, in their order.
struct Part {
    plan: Arc<dyn ExecutionPlan>,
    columns: Vec<usize>,
}

/// The plan of a tree, with the columns that the joins had.
pub(super) fn plan_of(graph: &Graph, tree: &Tree, schema: &SchemaRef) -> Result<Arc<dyn ExecutionPlan>> {
    let needed = graph.output.iter().flat_map(collect_columns).map(|column| column.index()).collect();
    let part = build(graph, tree, &needed)?;
    let projected = graph
        .output
        .iter()
        .zip(schema.fields())
        .map(|(expr, field)| Ok(ProjectionExpr { expr: part.own(expr)?, alias: field.name().clone() }));
    let projected = projected.collect::<Result<Vec<_>>>()?;
    Ok(Arc::new(ProjectionExec::try_new(projected, part.plan)?))
}

impl Part {
    fn filtered<'c>(mut self, conditions: impl Iterator<Item = &'c Condition>) -> Result<Part> {
        for condition in conditions {
            let predicate = self.own(&condition.expr)?;
            self.plan = Arc::new(FilterExecBuilder::new(predicate, self.plan).build()?);
        }
        Ok(self)
    }

    /// An expression over the graph's columns, over those of this part.
    fn own(&self, expr: &Arc<dyn PhysicalExpr>) -> Result<Arc<dyn PhysicalExpr>> {
        own(expr, &self.columns)
    }
}

fn own(expr: &Arc<dyn PhysicalExpr>, columns: &[usize]) -> Result<Arc<dyn PhysicalExpr>> {
    let read = collect_columns(expr);
    let last = read.iter().map(Column::index).max().map_or(0, |last| last + 1);
    let unread: Arc<dyn PhysicalExpr> = Arc::new(Column::new("", usize::MAX));
    let mut places = vec![unread; last];
    for column in read {
        let Some(at) = columns.iter().position(|given| *given == column.index()) else {
            return internal_err!("a join does not give {}", column.name());
        };
        places[column.index()] = Arc::new(Column::new(column.name(), at));
    }
    over(expr, &places)
}

fn build(graph: &Graph, tree: &Tree, needed: &Columns) -> Result<Part> {
    match tree {
        Tree::Input(number) => {
            let input = &graph.inputs[*number];
            let columns = (input.first..input.first + input.width).collect();
            let part = Part { plan: Arc::clone(&input.plan), columns };
            part.filtered(graph.filters.iter().filter(|filter| filter.inputs == 1 << number))
        }
        Tree::Join(left, right) => build_join(graph, left, right, needed),
    }
}

fn build_join(graph: &Graph, left: &Tree, right: &Tree, needed: &Columns) -> Result<Part> {
    let (left_set, right_set) = (left.set(), right.set());
    let semi = match right {
        Tree::Input(number) => graph.inputs[*number].semi.as_ref(),
        Tree::Join(..) => None,
    };
    let equalities = equalities_between(graph, left_set, right_set);
    let filters: Vec<&Condition> =
        graph.filters.iter().filter(|filter| is_first_read(filter, left_set, right_set)).collect();
    let own_filter = semi.and_then(|semi| semi.filter.as_ref());
    let read_above: Columns =
        needed.iter().copied().chain(filters.iter().flat_map(|filter| columns_of(&filter.expr))).collect();
    let keys = equalities.iter().flat_map(|(left, right)| columns_of(left).into_iter().chain(columns_of(right)));
    let of_filter = own_filter.into_iter().flat_map(|filter| columns_of(&filter.expr));
    let read: Columns = read_above.iter().copied().chain(keys).chain(of_filter).collect();
    let (left, right) = (build(graph, left, &read)?, build(graph, right, &read)?);
    let on = equalities.iter().map(|(left_key, right_key)| Ok((left.own(left_key)?, right.own(right_key)?)));
    let on = on.collect::<Result<Vec<_>>>()?;
    let filter = own_filter.map(|filter| join_filter(filter, &left, &right)).transpose()?;
    let join_type = match semi {
        None => JoinType::Inner,
        Some(semi) if semi.anti => JoinType::LeftAnti,
        Some(_) => JoinType::LeftSemi,
    };
    let given: Vec<usize> = match semi {
        None => left.columns.iter().chain(&right.columns).copied().collect(),
        Some(_) => left.columns.clone(),
    };
    let mut kept: Vec<usize> = (0..given.len()).filter(|at| read_above.contains(&given[*at])).collect();
    if kept.is_empty() {
        // Rows have to be counted.
        kept.extend((!given.is_empty()).then_some(0));
    }
    let columns: Vec<usize> = kept.iter().map(|at| given[*at]).collect();
    let join = HashJoinExecBuilder::new(left.plan, right.plan, on, join_type)
        .with_filter(filter)
        .with_projection((kept.len() < given.len()).then_some(kept))
        .with_partition_mode(PartitionMode::Auto)
        .build()?;
    Part { plan: Arc::new(join), columns }.filtered(filters.into_iter())
}

/// The keys by which two sets are joined: those of the first, and of the second.
fn equalities_between(graph: &Graph, left: Set, right: Set) -> Vec<(Arc<dyn PhysicalExpr>, Arc<dyn PhysicalExpr>)> {
    let pairs = graph.classes.iter().filter_map(|class| {
        // What a semi join has tested does not come out of it.
        let of = |set: Set| {
            class.iter().find(|key| {
                set >> key.input & 1 == 1 && (set == 1 << key.input || graph.inputs[key.input].semi.is_none())
            })
        };
        Some((of(left)?.expr.clone(), of(right)?.expr.clone()))
    });
    pairs.collect()
}

/// Whether a join is the first to have all that a condition reads.
fn is_first_read(filter: &Condition, left: Set, right: Set) -> bool {
    filter.inputs & !(left | right) == 0 && filter.inputs & !left != 0 && filter.inputs & !right != 0
}

fn columns_of(expr: &Arc<dyn PhysicalExpr>) -> Vec<usize> {
    collect_columns(expr).iter().map(Column::index).collect()
}

/// The condition of a semi join, over the columns that it reads of both sides.
fn join_filter(filter: &Condition, left: &Part, right: &Part) -> Result<JoinFilter> {
    let read: Vec<usize> = columns_of(&filter.expr);
    let (mut indices, mut fields) = (Vec::with_capacity(read.len()), Vec::with_capacity(read.len()));
    for column in &read {
        let found = [(left, JoinSide::Left), (right, JoinSide::Right)].into_iter().find_map(|(part, side)| {
            let index = part.columns.iter().position(|given| given == column)?;
            Some((ColumnIndex { index, side }, Arc::clone(&part.plan.schema().fields()[index])))
        });
        let Some((index, field)) = found else { return internal_err!("a semi join does not read a column") };
        indices.push(index);
        fields.push(field);
    }
    let expr = own(&filter.expr, &read)?;
    Ok(JoinFilter::new(expr, indices, Arc::new(Schema::new(fields))))
}
