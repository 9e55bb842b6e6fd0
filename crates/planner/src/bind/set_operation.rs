//! UNION, INTERSECT, EXCEPT and VALUES.

use super::block::{BlockOutput, BoundBlock};
use super::column::{BlockId, ColumnId};
use super::context::{Context, plan_result};
use datafusion::common::{Column, JoinType, NullEquality};
use datafusion::functions_window::row_number::row_number_udwf;
use datafusion::logical_expr::expr::{WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::{
    Expr, Join, JoinConstraint, LogicalPlan, LogicalPlanBuilder, Projection, Union, Window, WindowFrame,
    WindowFunctionDefinition,
};
use squall_executor::operators::nested_block::NestedBlock;
use squall_functions::expr::BoundExpr;
use squall_functions::typing::unify_types;
use squall_parser::ast;
use squall_registry::ExprType;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;

/// Names of the columns that number equal rows, left and right.
const ROW_NUMBER: &str = "row_number";
const OTHER_ROW_NUMBER: &str = "other_row_number";

impl Context<'_> {
    /// Binds a chain of set operations.
    pub fn bind_set_operation(&mut self, operation: &ast::SetOperation) -> SqlResult<BoundBlock> {
        // A chain of UNIONs associates to the left and may be long: it is walked, not recursed into.
        let mut chain = Vec::new();
        let mut first = &operation.left;
        chain.push((operation.kind, operation.all, &operation.right));
        while let ast::QueryBody::SetOperation(inner) = first {
            chain.push((inner.kind, inner.all, &inner.right));
            first = &inner.left;
        }
        let mut operands = vec![self.nested(|context| context.bind_operand(first))?];
        for (_, _, operand) in chain.iter().rev() {
            let bound = self.nested(|context| context.bind_operand(operand))?;
            if bound.outputs.len() != operands[0].outputs.len() {
                return Err(SqlError::new(ErrorCode::WrongNumberOfColumnsInSelect, &[]));
            }
            operands.push(bound);
        }
        let block = self.new_block();
        let types = self.unify_outputs(&operands)?;
        let names: Vec<Arc<str>> = operands[0].outputs.iter().map(|output| Arc::clone(&output.name)).collect();
        // Every operand gets the same column names, as DataFusion's union joins them by name and place.
        let outputs: Vec<BlockOutput> = names
            .into_iter()
            .zip(types)
            .map(|(name, ty)| BlockOutput { id: self.columns.add_computed(block, &name, ty), name })
            .collect();
        let mut plans = operands.into_iter();
        let mut plan = match plans.next() {
            Some(operand) => self.converted(operand, &outputs)?,
            None => return Err(SqlError::internal("a set operation without operands")),
        };
        let mut pending: Vec<LogicalPlan> = Vec::new();
        let mut steps = chain.iter().rev().zip(plans).peekable();
        while let Some(((kind, all, _), operand)) = steps.next() {
            let right = self.converted(operand, &outputs)?;
            match kind {
                ast::SetOperationKind::Union => {
                    if pending.is_empty() {
                        pending.push(plan.clone());
                    }
                    pending.push(right);
                    // UNION ALLs gather into one operator; a distinct one makes all before it distinct too.
                    let more = matches!(steps.peek(), Some(((ast::SetOperationKind::Union, next_all, _), _)) if next_all == all || !*next_all);
                    if more {
                        continue;
                    }
                    plan = union(std::mem::take(&mut pending))?;
                    if !all {
                        plan = self.distinct_rows(plan, &outputs, block)?;
                    }
                }
                ast::SetOperationKind::Intersect => plan = self.matched(plan, right, &outputs, *all, true)?,
                ast::SetOperationKind::Except => plan = self.matched(plan, right, &outputs, *all, false)?,
            }
        }
        Ok(BoundBlock { plan, outputs, simple: None })
    }

    /// The types of the columns of a set operation.
    pub fn unify_outputs(&self, operands: &[BoundBlock]) -> SqlResult<Vec<ExprType>> {
        let count = operands.first().map_or(0, |operand| operand.outputs.len());
        (0..count)
            .map(|ordinal| {
                let types: Vec<&ExprType> = operands
                    .iter()
                    .map(|operand| &self.columns.get(operand.outputs[ordinal].id).reference.ty)
                    .collect();
                unify_types(&types, "UNION", self.binder.context.settings.collation)
            })
            .collect()
    }

    /// The operand's rows in the types and under the names of the whole.
    pub fn converted(&self, operand: BoundBlock, outputs: &[BlockOutput]) -> SqlResult<LogicalPlan> {
        self.converted_by(operand, outputs, |context, value, output| {
            context.binder.builder().convert(value, &context.columns.get(output.id).reference.ty)
        })
    }

    /// [`Context::converted`] with a conversion of its own.
    pub fn converted_by(
        &self,
        operand: BoundBlock,
        outputs: &[BlockOutput],
        convert: impl Fn(&Self, BoundExpr, &BlockOutput) -> SqlResult<BoundExpr>,
    ) -> SqlResult<LogicalPlan> {
        let exprs = operand
            .outputs
            .iter()
            .zip(outputs)
            .map(|(from, to)| {
                let expr = convert(self, self.local(from.id), to)?;
                Ok((plan_result(expr.to_value(&self.slot))?, to.id))
            })
            .collect::<SqlResult<Vec<(Expr, ColumnId)>>>()?;
        self.project(NestedBlock::every(operand.plan, self.depth()), exprs)
    }

    /// Rows without duplicates. Of strings that are equal in their collation the first stays.
    pub fn distinct_rows(&self, plan: LogicalPlan, outputs: &[BlockOutput], block: BlockId) -> SqlResult<LogicalPlan> {
        let ids: Vec<ColumnId> = outputs.iter().map(|output| output.id).collect();
        self.distinct(plan, &ids, &[], block)
    }

    /// INTERSECT and EXCEPT: rows that have, or have not, an equal one on the right.
    fn matched(
        &mut self,
        left: LogicalPlan,
        right: LogicalPlan,
        outputs: &[BlockOutput],
        all: bool,
        keep: bool,
    ) -> SqlResult<LogicalPlan> {
        let block = outputs.first().map_or(0, |output| self.columns.get(output.id).block);
        // With ALL the rows that are equal are numbered, and the first of the one matches the first of the other.
        let left = if all { self.numbered(left, outputs)? } else { self.distinct_rows(left, outputs, block)? };
        let right = if all { self.numbered(right, outputs)? } else { right };
        // The right side gets names of its own: a join's columns have to differ.
        let renamed: Vec<BlockOutput> = outputs
            .iter()
            .map(|output| {
                let ty = self.columns.get(output.id).reference.ty.clone();
                BlockOutput { name: Arc::clone(&output.name), id: self.columns.add_computed(block, &output.name, ty) }
            })
            .collect();
        let mut exprs: Vec<Expr> = outputs
            .iter()
            .zip(&renamed)
            .map(|(from, to)| unqualified(self.columns.name(from.id)).alias(self.columns.name(to.id)))
            .collect();
        if all {
            exprs.push(unqualified(ROW_NUMBER).alias(OTHER_ROW_NUMBER));
        }
        let right = LogicalPlan::Projection(plan_result(Projection::try_new(exprs, Arc::new(right)))?);
        let mut on = outputs
            .iter()
            .zip(&renamed)
            .map(|(left, right)| {
                let key = |id| {
                    let expr = self.sort_key(self.local(id));
                    plan_result(expr.to_value(&self.slot))
                };
                Ok((key(left.id)?, key(right.id)?))
            })
            .collect::<SqlResult<Vec<_>>>()?;
        if all {
            on.push((unqualified(ROW_NUMBER), unqualified(OTHER_ROW_NUMBER)));
        }
        let join_type = if keep { JoinType::LeftSemi } else { JoinType::LeftAnti };
        let joined = Join::try_new(
            Arc::new(left),
            Arc::new(right),
            on,
            None,
            join_type,
            JoinConstraint::On,
            NullEquality::NullEqualsNull,
            false,
        );
        let joined = LogicalPlan::Join(plan_result(joined)?);
        if !all {
            return Ok(joined);
        }
        let exprs = outputs.iter().map(|output| (unqualified(self.columns.name(output.id)), output.id)).collect();
        self.project(joined, exprs)
    }

    /// Rows with the number that each has among those equal to it.
    fn numbered(&self, plan: LogicalPlan, outputs: &[BlockOutput]) -> SqlResult<LogicalPlan> {
        let partition_by = outputs
            .iter()
            .map(|output| plan_result(self.sort_key(self.local(output.id)).to_value(&self.slot)))
            .collect::<SqlResult<Vec<_>>>()?;
        let params = WindowFunctionParams {
            args: Vec::new(),
            partition_by,
            order_by: Vec::new(),
            window_frame: WindowFrame::new(None),
            filter: None,
            null_treatment: None,
            distinct: false,
        };
        let fun = WindowFunctionDefinition::WindowUDF(row_number_udwf());
        let number = Expr::WindowFunction(Box::new(WindowFunction { fun, params })).alias(ROW_NUMBER);
        Ok(LogicalPlan::Window(plan_result(Window::try_new(vec![number], Arc::new(plan)))?))
    }

    /// Binds `VALUES ROW(…), …`.
    pub fn bind_values(&mut self, rows: &[Vec<ast::Expr>]) -> SqlResult<BoundBlock> {
        let width = rows.first().map_or(0, Vec::len);
        let mut bound: Vec<Vec<BoundExpr>> = Vec::with_capacity(rows.len());
        let block = self.new_block();
        let scope = super::scope::Scope { block, ..super::scope::Scope::default() };
        let frame = super::context::Frame::new(scope, super::scope::Clause::Values);
        let ((), frame) = self.with_frame(frame, |context| {
            for (number, row) in rows.iter().enumerate() {
                if row.len() != width {
                    return Err(SqlError::new(ErrorCode::WrongValueCountOnRow, &[&(number + 1)]));
                }
                bound.push(row.iter().map(|expr| context.bind_expr(expr)).collect::<SqlResult<_>>()?);
            }
            Ok(())
        })?;
        let types = (0..width)
            .map(|ordinal| {
                let types: Vec<ExprType> = bound.iter().map(|row| row[ordinal].ty()).collect();
                unify_types(&types.iter().collect::<Vec<_>>(), "VALUES", self.binder.context.settings.collation)
            })
            .collect::<SqlResult<Vec<_>>>()?;
        let outputs: Vec<BlockOutput> = types
            .into_iter()
            .enumerate()
            .map(|(ordinal, ty)| {
                let name: Arc<str> = format!("column_{ordinal}").into();
                BlockOutput { id: self.columns.add_computed(block, &name, ty), name }
            })
            .collect();
        let empty = plan_result(LogicalPlanBuilder::empty(true).build())?;
        let mut source = self.attach_subqueries(empty, frame.subqueries, block)?;
        let mut plans = Vec::with_capacity(bound.len());
        if source.schema().fields().is_empty() && bound.len() > 1 {
            // Rows without subqueries are one operator.
            let values = bound
                .iter()
                .map(|row| {
                    row.iter()
                        .zip(&outputs)
                        .map(|(expr, output)| self.converted_value(expr, output, block))
                        .collect::<SqlResult<Vec<_>>>()
                })
                .collect::<SqlResult<Vec<_>>>()?;
            let plan = plan_result(LogicalPlanBuilder::values(values).and_then(|plan| plan.build()))?;
            let exprs = plan
                .schema()
                .columns()
                .into_iter()
                .map(Expr::Column)
                .zip(outputs.iter().map(|output| output.id))
                .collect();
            let plan = self.project(plan, exprs)?;
            return Ok(BoundBlock { plan, outputs, simple: None });
        }
        for row in &bound {
            let exprs = row
                .iter()
                .zip(&outputs)
                .map(|(expr, output)| Ok((self.converted_value(expr, output, block)?, output.id)))
                .collect::<SqlResult<Vec<_>>>()?;
            plans.push(self.project(source.clone(), exprs)?);
        }
        source = union(plans)?;
        Ok(BoundBlock { plan: source, outputs, simple: None })
    }

    fn converted_value(&self, expr: &BoundExpr, output: &BlockOutput, block: BlockId) -> SqlResult<Expr> {
        let target = &self.columns.get(output.id).reference.ty;
        let expr = self.binder.builder().convert(expr.clone(), target)?;
        self.value(&expr, block)
    }
}

fn unqualified(name: &str) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

/// UNION ALL of plans with the same columns.
///
/// DataFusion compares the columns of each of a union's inputs with those of all others: many are
/// taken together by dozens.
pub(crate) fn union(mut plans: Vec<LogicalPlan>) -> SqlResult<LogicalPlan> {
    const TOGETHER_MAX: usize = 64;
    while plans.len() > TOGETHER_MAX {
        let mut members = plans.into_iter();
        plans = Vec::new();
        while members.len() > 0 {
            let together = union(members.by_ref().take(TOGETHER_MAX).collect())?;
            plans.push(NestedBlock::open(together));
        }
    }
    if plans.len() == 1
        && let Some(plan) = plans.pop()
    {
        return Ok(plan);
    }
    let inputs = plans.into_iter().map(Arc::new).collect();
    Ok(LogicalPlan::Union(plan_result(Union::try_new(inputs))?))
}
