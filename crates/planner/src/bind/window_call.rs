//! A call of a window function, bound.

use super::block::OrderKey;
use super::column::ColumnId;
use datafusion::logical_expr::WindowFrameUnits;
use squall_functions::aggregate::AggregateCall;
use squall_functions::expr::BoundExpr;
use squall_parser::ast;
use squall_types::{SqlType, Value};
use std::sync::Arc;

/// The kind of a window function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum WindowKind {
    /// ROW_NUMBER and its like.
    Ranking(ast::WindowFunction),
    /// An aggregate over the frame.
    Aggregate(Arc<AggregateCall>),
}

/// A bound of a frame.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Bound {
    UnboundedPreceding,
    Preceding(Value, SqlType),
    CurrentRow,
    Following(Value, SqlType),
    UnboundedFollowing,
}

/// A call of a window function.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Window {
    /// The column that stands for its result.
    pub id: ColumnId,
    pub(super) kind: WindowKind,
    pub(super) args: Vec<BoundExpr>,
    pub(super) partition: Vec<BoundExpr>,
    pub(super) order: Vec<OrderKey>,
    pub(super) units: WindowFrameUnits,
    pub(super) start: Bound,
    pub(super) end: Bound,
}
