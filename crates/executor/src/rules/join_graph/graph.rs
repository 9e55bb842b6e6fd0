//! The inputs and conditions of a tree of joins.

use crate::access::RowScanExec;
use crate::operator::Operator as _;
use crate::operators::as_hash_join;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinSide, JoinType, NullEquality, Result, Statistics};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr_common::physical_expr::is_volatile;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::{ExecutionPlan, PhysicalExpr};
use std::sync::Arc;

/// More inputs than a set of bits has.
pub(super) const INPUTS_MAX: usize = 64;

/// A set of inputs, by their numbers.
pub(super) type Set = u64;

/// A tree of joins taken apart. Its expressions are over the columns of all inputs one after another.
pub(super) struct Graph {
    pub(super) inputs: Vec<Input>,
    pub(super) classes: Vec<Class>,
    pub(super) filters: Vec<Condition>,
    /// What comes out.
    pub(super) output: Vec<Arc<dyn PhysicalExpr>>,
}

/// An input of the joins.
pub(super) struct Input {
    pub(super) plan: Arc<dyn ExecutionPlan>,
    /// The number of its first column.
    pub(super) first: usize,
    /// Its columns.
    pub(super) width: usize,
    pub(super) statistics: Arc<Statistics>,
    /// Set if it only decides which rows of the others stay.
    pub(super) semi: Option<Semi>,
}

/// A semi or anti join of the other inputs with one.
pub(super) struct Semi {
    pub(super) anti: bool,
    /// What has to be true of a partner besides the equalities.
    pub(super) filter: Option<Condition>,
}

/// Keys that are all equal, each of another input. Where two sets of inputs are joined that have some of them, one pair is enough: those of
/// each set are equal already.
pub(super) type Class = Vec<Key>;

/// A key of an input.
#[derive(Clone)]
pub(super) struct Key {
    pub(super) input: usize,
    pub(super) expr: Arc<dyn PhysicalExpr>,
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.input == other.input && *self.expr == *other.expr
    }
}

/// A condition, and the inputs that it reads.
#[derive(Clone)]
pub(super) struct Condition {
    pub(super) expr: Arc<dyn PhysicalExpr>,
    pub(super) inputs: Set,
}

/// Whether a plan is a join that can change its place.
pub(super) fn is_join(plan: &Arc<dyn ExecutionPlan>) -> bool {
    as_hash_join(plan).is_some_and(|join| {
        matches!(join.join_type(), JoinType::Inner | JoinType::LeftSemi | JoinType::LeftAnti)
            && !join.null_aware
            && join.null_equality() == NullEquality::NullEqualsNothing
            && join.fetch().is_none()
    })
}

/// Whether a plan is such a join below operators that only choose columns and rows.
fn is_tree(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        return projection.expr().iter().all(|projected| projected.expr.is::<Column>()) && is_tree(projection.input());
    }
    match plan.downcast_ref::<FilterExec>() {
        Some(filter) => filter.fetch().is_none() && !is_volatile(filter.predicate()) && is_tree(filter.input()),
        None => is_join(plan),
    }
}

impl Graph {
    /// Takes the joins of a plan apart; `None` if they have to stay as they are.
    pub(super) fn of(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Graph>> {
        let mut graph = Graph { inputs: Vec::new(), classes: Vec::new(), filters: Vec::new(), output: Vec::new() };
        let Some(output) = graph.add(plan)? else { return Ok(None) };
        graph.output = output;
        Ok(Some(graph))
    }

    /// Asks the inputs how many rows they have. They look at all that they are made of.
    pub(super) fn estimate(&mut self) -> Result<()> {
        for input in &mut self.inputs {
            input.statistics = StatisticsContext::new().compute(input.plan.as_ref(), &StatisticsArgs::new())?;
        }
        Ok(())
    }

    /// Adds a tree; gives the expressions of its columns.
    fn add(&mut self, plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Vec<Arc<dyn PhysicalExpr>>>> {
        if !is_tree(plan) {
            return self.add_input(plan, None);
        }
        if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
            let Some(below) = self.add(projection.input())? else { return Ok(None) };
            return projection.expr().iter().map(|projected| over(&projected.expr, &below).map(Some)).collect();
        }
        if let Some(filter) = plan.downcast_ref::<FilterExec>() {
            let Some(below) = self.add(filter.input())? else { return Ok(None) };
            let Some(condition) = self.condition(over(filter.predicate(), &below)?) else { return Ok(None) };
            self.filters.push(condition);
            return Ok(Some(projected(below, filter.projection().as_ref().map(|columns| columns.as_ref()))));
        }
        match as_hash_join(plan) {
            Some(join) => self.add_join(join),
            None => Ok(None),
        }
    }

    fn add_join(&mut self, join: &HashJoinExec) -> Result<Option<Vec<Arc<dyn PhysicalExpr>>>> {
        let is_inner = *join.join_type() == JoinType::Inner;
        let Some(left) = self.add(join.left())? else { return Ok(None) };
        let right = match is_inner {
            true => self.add(join.right())?,
            false => self.add_input(join.right(), Some(*join.join_type() == JoinType::LeftAnti))?,
        };
        let Some(right) = right else { return Ok(None) };
        for (left_key, right_key) in join.on() {
            let (Some(left), Some(right)) = (self.key(over(left_key, &left)?), self.key(over(right_key, &right)?))
            else {
                return Ok(None);
            };
            self.add_equality(left, right);
        }
        if let Some(filter) = join.filter() {
            let sides: Vec<Arc<dyn PhysicalExpr>> = filter
                .column_indices()
                .iter()
                .map(|column| {
                    Arc::clone(if column.side == JoinSide::Left { &left[column.index] } else { &right[column.index] })
                })
                .collect();
            let Some(condition) = self.condition(over(filter.expression(), &sides)?) else { return Ok(None) };
            match self.inputs.last_mut().and_then(|input| input.semi.as_mut()) {
                Some(semi) if !is_inner => semi.filter = Some(condition),
                _ => self.filters.push(condition),
            }
        }
        let both = if is_inner { left.into_iter().chain(right).collect() } else { left };
        Ok(Some(projected(both, join.projection.as_ref().map(|columns| columns.as_ref()))))
    }

    /// Equal keys that come together by one more equality are one class, unless they are of one input, within which they may differ.
    fn add_equality(&mut self, left: Key, right: Key) {
        let of = |key: &Key| self.classes.iter().position(|class| class.contains(key));
        let old = [of(&left), of(&right)];
        if self.inputs[right.input].semi.is_some() && old[1].is_some() {
            // Two columns that equal one of rows that there are none of need not be equal.
            self.classes.push(vec![left, right]);
            return;
        }
        if old[0].is_some() && old[0] == old[1] {
            return;
        }
        let keys =
            |class: Option<usize>, key: &Key| class.map_or_else(|| vec![key.clone()], |at| self.classes[at].clone());
        let (mut all, others) = (keys(old[0], &left), keys(old[1], &right));
        if all.iter().any(|key| others.iter().any(|other| other.input == key.input)) {
            self.classes.push(vec![left, right]);
            return;
        }
        all.extend(others);
        let mut at = 0;
        self.classes.retain(|_| {
            at += 1;
            !old.contains(&Some(at - 1))
        });
        self.classes.push(all);
    }

    /// `semi` says whether it is the other side of an anti join, if it is that of a semi join at all.
    fn add_input(
        &mut self,
        plan: &Arc<dyn ExecutionPlan>,
        semi: Option<bool>,
    ) -> Result<Option<Vec<Arc<dyn PhysicalExpr>>>> {
        if self.inputs.len() == INPUTS_MAX || locks_rows(plan)? {
            return Ok(None);
        }
        let first = self.inputs.last().map_or(0, |input| input.first + input.width);
        let schema = plan.schema();
        let statistics = Arc::default();
        let semi = semi.map(|anti| Semi { anti, filter: None });
        self.inputs.push(Input { plan: Arc::clone(plan), first, width: schema.fields().len(), statistics, semi });
        let columns = schema.fields().iter().enumerate();
        let column = |(at, field): (usize, &Arc<arrow::datatypes::Field>)| {
            Arc::new(Column::new(field.name(), first + at)) as Arc<dyn PhysicalExpr>
        };
        Ok(Some(columns.map(column).collect()))
    }

    fn condition(&self, expr: Arc<dyn PhysicalExpr>) -> Option<Condition> {
        let inputs = collect_columns(&expr).iter().fold(0, |set, column| set | 1 << self.input_of(column.index()));
        (inputs != 0 && !is_volatile(&expr)).then_some(Condition { expr, inputs })
    }

    fn key(&self, expr: Arc<dyn PhysicalExpr>) -> Option<Key> {
        let condition = self.condition(expr)?;
        let input = condition.inputs.trailing_zeros() as usize;
        condition.inputs.is_power_of_two().then_some(Key { input, expr: condition.expr })
    }

    /// The input that has a column.
    pub(super) fn input_of(&self, column: usize) -> usize {
        self.inputs.partition_point(|input| input.first + input.width <= column)
    }
}

/// Whether a plan locks the rows that it reads: which ones it reads must not change.
fn locks_rows(plan: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let mut locks = false;
    plan.apply(|plan| {
        locks |= RowScanExec::of(plan.as_ref()).is_some_and(|scan| scan.source.lock.is_some());
        Ok(if locks { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(locks)
}

fn projected(columns: Vec<Arc<dyn PhysicalExpr>>, projection: Option<&[usize]>) -> Vec<Arc<dyn PhysicalExpr>> {
    match projection {
        Some(projection) => projection.iter().map(|at| Arc::clone(&columns[*at])).collect(),
        None => columns,
    }
}

/// An expression with others in place of its columns.
pub(super) fn over(expr: &Arc<dyn PhysicalExpr>, columns: &[Arc<dyn PhysicalExpr>]) -> Result<Arc<dyn PhysicalExpr>> {
    Arc::clone(expr)
        .transform_down(|expr| {
            let column = expr.downcast_ref::<Column>().and_then(|column| columns.get(column.index())).cloned();
            Ok(match column {
                Some(column) => Transformed::new(column, true, TreeNodeRecursion::Jump),
                None => Transformed::no(expr),
            })
        })
        .data()
}
