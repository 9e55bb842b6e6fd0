//! Subqueries: as values (Apply), or as joins if the answer is the same.

use super::block::BoundBlock;
use super::column::{BlockId, ColumnId};
use super::context::{Context, check_columns, placeholder_id, plan_result};
use super::pending_subquery::PendingSubquery;
use super::plans::{join_on, outer_columns};
use arrow::datatypes::Field;
use datafusion::common::{Column, DFSchema, JoinType};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use squall_executor::operators::apply::operand_name;
use squall_executor::operators::{Apply, ApplyKind, OuterValue};
use squall_functions::arrow_map::arrow_type;
use squall_functions::expr::{BoundExpr, CompareOp, boolean_type};
use squall_parser::ast;
use squall_registry::ExprType;
use squall_types::{SqlError, SqlResult};
use std::collections::HashMap;
use std::sync::Arc;

/// How EXPLAIN names the value of a subquery.
const VALUE_OF_SUBQUERY: &str = "(subquery)";

/// Whether a column of a plan has the value of a subquery. DataFusion passes on nothing of a column but its name.
pub(crate) fn is_value_of_subquery(column: &str) -> bool {
    column.starts_with(VALUE_OF_SUBQUERY)
}

impl Context<'_> {
    /// Binds the query of a subquery in an expression.
    pub fn bind_subquery(&mut self, query: &ast::Query) -> SqlResult<BoundBlock> {
        let outer = std::mem::replace(&mut self.in_subquery, true);
        let bound = self.nested(|context| context.bind_query_block(query));
        self.in_subquery = outer;
        bound
    }

    /// Binds `(query)` as values: one per column.
    pub fn bind_scalar_subquery(&mut self, query: &ast::Query) -> SqlResult<Vec<BoundExpr>> {
        let bound = self.bind_subquery(query)?;
        let block = self.frame()?.scope.block;
        if let Some(values) = self.scalar_aggregate_join(&bound, block)? {
            return Ok(values);
        }
        // A second row is an error; a third need not be made.
        let plan = plan_result(LogicalPlanBuilder::from(bound.plan).limit(0, Some(2)).and_then(|plan| plan.build()))?;
        let types = bound.outputs.iter().map(|output| {
            let ty = self.columns.get(output.id).reference.ty.clone();
            ExprType { nullable: true, ..ty }
        });
        let types: Vec<ExprType> = types.collect();
        self.pend(ApplyKind::Scalar, plan, Vec::new(), None, types)
    }

    /// Binds EXISTS (query) as a value.
    pub fn bind_exists(&mut self, query: &ast::Query) -> SqlResult<BoundExpr> {
        let bound = self.bind_subquery(query)?;
        self.exists(bound)
    }

    /// The same of a bound query.
    pub fn exists(&mut self, bound: BoundBlock) -> SqlResult<BoundExpr> {
        let plan = plan_result(LogicalPlanBuilder::from(bound.plan).limit(0, Some(1)).and_then(|plan| plan.build()))?;
        let outputs = self.pend(ApplyKind::Exists, plan, Vec::new(), None, vec![boolean_type(false)])?;
        outputs.into_iter().next().ok_or_else(|| SqlError::internal("EXISTS gives a column"))
    }

    /// Binds `operands op ANY|ALL (query)`, of which IN is a case, as a value.
    pub fn bind_quantified(
        &mut self,
        operands: Vec<BoundExpr>,
        op: CompareOp,
        all: bool,
        query: &ast::Query,
    ) -> SqlResult<BoundExpr> {
        let bound = self.bind_subquery(query)?;
        self.quantified(operands, op, all, bound)
    }

    /// The same of a bound query.
    pub fn quantified(
        &mut self,
        operands: Vec<BoundExpr>,
        op: CompareOp,
        all: bool,
        bound: BoundBlock,
    ) -> SqlResult<BoundExpr> {
        check_columns(bound.outputs.len(), operands.len())?;
        let left = operands
            .iter()
            .enumerate()
            .map(|(ordinal, operand)| BoundExpr::Opaque {
                expr: Box::new(Expr::Column(Column::new_unqualified(operand_name(ordinal)))),
                ty: operand.ty(),
                predicate: false,
            })
            .collect::<Vec<_>>();
        let right = bound.outputs.iter().map(|output| self.local(output.id)).collect::<Vec<_>>();
        let comparison = self.compare_rows(op, left, right)?;
        let comparison = plan_result(comparison.to_predicate(&self.slot))?;
        let kind = if all { ApplyKind::All } else { ApplyKind::Any };
        let outputs = self.pend(kind, bound.plan, operands, Some(comparison), vec![boolean_type(true)])?;
        outputs.into_iter().next().ok_or_else(|| SqlError::internal("ANY gives a column"))
    }

    /// A column as the rows of its own plan have it, whatever block is around.
    pub fn local(&self, id: ColumnId) -> BoundExpr {
        let ty = self.columns.get(id).reference.ty.clone();
        BoundExpr::Opaque { expr: Box::new(Expr::Column(self.columns.datafusion(id))), ty, predicate: false }
    }

    /// A comparison of rows or, with one column, of values.
    pub fn compare_rows(
        &self,
        op: CompareOp,
        mut left: Vec<BoundExpr>,
        mut right: Vec<BoundExpr>,
    ) -> SqlResult<BoundExpr> {
        let builder = self.binder.builder();
        match (left.len(), right.len()) {
            (1, 1) => match (left.pop(), right.pop()) {
                (Some(left), Some(right)) => builder.compare(op, left, right),
                _ => Err(SqlError::internal("a comparison has two sides")),
            },
            _ => builder.compare_rows(op, left, right),
        }
    }

    fn pend(
        &mut self,
        kind: ApplyKind,
        plan: LogicalPlan,
        operands: Vec<BoundExpr>,
        comparison: Option<Expr>,
        types: Vec<ExprType>,
    ) -> SqlResult<Vec<BoundExpr>> {
        let block = self.frame()?.scope.block;
        let outer = outer_columns(&plan)?;
        let outer =
            outer.into_iter().filter(|id| !self.is_outer(*id, block)).map(|id| (id, self.columns.expr(id))).collect();
        let outputs: Vec<ColumnId> =
            types.into_iter().map(|ty| self.columns.add_computed(block, VALUE_OF_SUBQUERY, ty)).collect();
        let exprs = outputs.iter().map(|id| self.columns.expr(*id)).collect();
        let pending = PendingSubquery { kind, plan, outer, operands, comparison, outputs, joined_on: None };
        self.frame()?.subqueries.push(pending);
        Ok(exprs)
    }

    /// Puts subqueries into the plan: each adds its columns.
    pub fn attach_subqueries(
        &mut self,
        mut plan: LogicalPlan,
        subqueries: Vec<PendingSubquery>,
        block: BlockId,
    ) -> SqlResult<LogicalPlan> {
        for subquery in subqueries {
            if let Some(on) = subquery.joined_on {
                plan = self.join_groups(plan, subquery.plan, on, block)?;
                continue;
            }
            let fields = subquery
                .outputs
                .iter()
                .map(|id| {
                    let reference = &self.columns.get(*id).reference;
                    let data_type = arrow_type(&reference.ty.sql_type);
                    (None, Arc::new(Field::new(reference.name.as_ref(), data_type, true)))
                })
                .collect();
            let outputs = plan_result(DFSchema::new_with_metadata(fields, HashMap::new()))?;
            let operands =
                subquery.operands.iter().map(|operand| self.value(operand, block)).collect::<SqlResult<Vec<_>>>()?;
            let outer = self.outer_values(subquery.outer, block)?;
            let apply = Apply::new(
                plan,
                Arc::new(subquery.plan),
                outer,
                subquery.kind,
                operands,
                subquery.comparison,
                &outputs,
            );
            plan = plan_result(apply)?.into_plan();
        }
        Ok(plan)
    }

    /// A left join of each row with its group.
    fn join_groups(
        &self,
        left: LogicalPlan,
        right: LogicalPlan,
        on: Vec<(BoundExpr, ColumnId)>,
        block: BlockId,
    ) -> SqlResult<LogicalPlan> {
        let on = on
            .into_iter()
            .map(|(value, key)| Ok((self.value(&value, block)?, Expr::Column(self.columns.datafusion(key)))))
            .collect::<SqlResult<Vec<_>>>()?;
        join_on(left, right, on, None, JoinType::Left, false)
    }

    /// An Apply whose added columns are the inner plan's own.
    pub fn apply(
        &mut self,
        left: LogicalPlan,
        inner: LogicalPlan,
        outer: Vec<(ColumnId, BoundExpr)>,
        kind: ApplyKind,
        outputs: &DFSchema,
        block: BlockId,
    ) -> SqlResult<LogicalPlan> {
        let outer = self.outer_values(outer, block)?;
        let apply = Apply::new(left, Arc::new(inner), outer, kind, Vec::new(), None, outputs);
        Ok(plan_result(apply)?.into_plan())
    }

    fn outer_values(&self, outer: Vec<(ColumnId, BoundExpr)>, block: BlockId) -> SqlResult<Vec<OuterValue>> {
        outer
            .into_iter()
            .map(|(id, value)| Ok(OuterValue { placeholder: placeholder_id(id), value: self.value(&value, block)? }))
            .collect()
    }
}
