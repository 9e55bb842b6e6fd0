//! A subquery that waits for its place in the plan.

use super::column::ColumnId;
use datafusion::logical_expr::{Expr, LogicalPlan};
use squall_executor::operators::ApplyKind;
use squall_functions::expr::BoundExpr;

/// A subquery that is in an expression as columns, and has to become part of the plan below the expression.
#[derive(Debug)]
pub(crate) struct PendingSubquery {
    /// Its result.
    pub kind: ApplyKind,
    /// Its plan, with placeholders for outer columns.
    pub plan: LogicalPlan,
    /// The columns of the block around it that it reads, and their values where the subquery runs.
    pub outer: Vec<(ColumnId, BoundExpr)>,
    /// Left operands of ANY and ALL.
    pub operands: Vec<BoundExpr>,
    /// Comparison of ANY and ALL, over `left0` … and the plan's columns.
    pub comparison: Option<Expr>,
    /// The columns it gives.
    pub outputs: Vec<ColumnId>,
    /// For a subquery that is a left join of groups: values here and the key columns of `plan` that they equal.
    pub(super) joined_on: Option<Vec<(BoundExpr, ColumnId)>>,
}

impl PendingSubquery {
    /// A subquery that is a left join with `plan`.
    pub fn joined(plan: LogicalPlan, on: Vec<(BoundExpr, ColumnId)>, outputs: Vec<ColumnId>) -> Self {
        Self {
            kind: ApplyKind::Scalar,
            plan,
            outer: Vec::new(),
            operands: Vec::new(),
            comparison: None,
            outputs,
            joined_on: Some(on),
        }
    }

    /// Whether it is one value that is the same for every row.
    pub fn is_constant_value(&self) -> bool {
        self.kind == ApplyKind::Scalar && self.outer.is_empty() && self.joined_on.is_none() && self.outputs.len() == 1
    }

    /// The expressions over the rows of the block around it.
    pub fn values_mut(&mut self) -> impl Iterator<Item = &mut BoundExpr> {
        let outer = self.outer.iter_mut().map(|(_, value)| value);
        let joined_on = self.joined_on.iter_mut().flatten().map(|(value, _)| value);
        outer.chain(&mut self.operands).chain(joined_on)
    }

    /// Columns of the block around it that it needs.
    pub fn columns_read(&self) -> Vec<ColumnId> {
        let mut ids = Vec::new();
        let joined_on = self.joined_on.iter().flatten().map(|(value, _)| value);
        for expr in self.outer.iter().map(|(_, value)| value).chain(&self.operands).chain(joined_on) {
            expr.visit(&mut |node| {
                if let BoundExpr::Column(column) = node {
                    ids.push(column.ordinal);
                }
            });
        }
        ids
    }
}
