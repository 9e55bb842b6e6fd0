//! Parts of query blocks while they are bound.

use super::column::{BlockId, ColumnId};
use super::scope::{Relation, Scope, VisibleColumn};
use datafusion::logical_expr::LogicalPlan;
use squall_functions::aggregate::AggregateCall;
use squall_functions::expr::BoundExpr;
use squall_parser::ast;
use std::sync::Arc;

/// A bound query block or set operation.
#[derive(Clone, Debug)]
pub(crate) struct BoundBlock {
    /// Its rows; the columns are `outputs` in order.
    pub plan: LogicalPlan,
    /// Its columns.
    pub outputs: Vec<BlockOutput>,
    /// The parts of a block plain enough to become a join.
    pub simple: Option<Box<SimpleBlock>>,
}

/// A column of a query's result.
#[derive(Clone, Debug)]
pub(crate) struct BlockOutput {
    /// Its name.
    pub name: Arc<str>,
    /// Its number.
    pub id: ColumnId,
}

/// A key of ORDER BY.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OrderKey {
    /// The sort expression.
    pub expr: BoundExpr,
    /// DESC.
    pub descending: bool,
}

/// The position that an ORDER BY or GROUP BY item names.
pub(crate) fn position_of(expr: &ast::Expr) -> Option<usize> {
    match expr {
        ast::Expr::Literal(ast::Literal::Integer(digits)) => Some(digits.parse().unwrap_or(usize::MAX)),
        _ => None,
    }
}

/// The parts of a block that has nothing but FROM, WHERE and a select list, perhaps of aggregates without GROUP BY.
#[derive(Clone, Debug)]
pub(crate) struct SimpleBlock {
    pub(super) block: BlockId,
    /// FROM and the conditions that read nothing of outer blocks.
    pub(super) source: LogicalPlan,
    /// The conditions that do.
    pub(super) correlated: Vec<BoundExpr>,
    /// The select list.
    pub(super) outputs: Vec<BoundExpr>,
    /// Aggregates in the select list; `None` for a block that does not group.
    pub(super) aggregates: Option<Vec<Aggregate>>,
}

impl SimpleBlock {
    /// A block that gives the rows of FROM.
    pub fn rows(block: BlockId, source: LogicalPlan, correlated: Vec<BoundExpr>, outputs: Vec<BoundExpr>) -> Self {
        Self { block, source, correlated, outputs, aggregates: None }
    }

    /// A block that gives one row of aggregates.
    pub fn aggregated(
        block: BlockId,
        source: LogicalPlan,
        correlated: Vec<BoundExpr>,
        outputs: Vec<BoundExpr>,
        aggregates: Vec<Aggregate>,
    ) -> Self {
        Self { block, source, correlated, outputs, aggregates: Some(aggregates) }
    }
}

/// A part of FROM: its rows and its names.
#[derive(Clone, Debug)]
pub(crate) struct FromItem {
    /// The rows.
    pub plan: LogicalPlan,
    /// The relations.
    pub relations: Vec<Relation>,
    /// The scope of unqualified names.
    pub visible: Vec<VisibleColumn>,
}

impl FromItem {
    /// Its names as a scope.
    pub fn scope(&self, block: BlockId) -> Scope {
        Scope { block, relations: self.relations.clone(), visible: self.visible.clone() }
    }

    pub(super) fn of(plan: LogicalPlan, relation: Relation) -> Self {
        let visible = relation.visible();
        Self { plan, relations: vec![relation], visible }
    }
}

/// An expression of the select list.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// The result column's name.
    pub name: Arc<str>,
    /// Its value.
    pub expr: BoundExpr,
    /// Whether an alias was written.
    pub aliased: bool,
}

/// The expressions of a block while operators are put under them.
#[derive(Debug, Default)]
pub(crate) struct BlockExprs {
    /// The select list.
    pub items: Vec<Item>,
    /// HAVING.
    pub having: Option<BoundExpr>,
    /// ORDER BY.
    pub order: Vec<OrderKey>,
    /// Columns that subqueries give, and those of the block that each reads for them.
    pub(super) subqueries: Vec<(Vec<ColumnId>, Vec<ColumnId>)>,
}

/// A call of an aggregate function.
#[derive(Clone, Debug)]
pub(crate) struct Aggregate {
    /// The column that stands for its result.
    pub id: ColumnId,
    /// The call.
    pub call: Arc<AggregateCall>,
}
