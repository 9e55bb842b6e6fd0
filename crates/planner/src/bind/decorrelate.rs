//! WHERE, and subqueries that become joins.
//!
//! `EXISTS` and `IN` as whole conditions of WHERE become semi and anti joins, and a scalar aggregate that is correlated
//! by equalities becomes a left join with a grouping. Everything else stays an Apply.

use super::block::{Aggregate, BoundBlock, SimpleBlock};
use super::column::{BlockId, ColumnId};
use super::context::{Context, check_columns, plan_result};
use super::dependencies::ConditionOf;
use super::pending_subquery::PendingSubquery;
use super::plans::{conjuncts_of, join, join_on, outer_columns};
use super::scope::Clause;
use datafusion::common::JoinType;
use datafusion::logical_expr::{Aggregate as AggregatePlan, Expr, LogicalPlan, LogicalPlanBuilder};
use squall_executor::operators::tables_apart::are_tables_apart;
use squall_functions::expr::{BoundExpr, CompareOp};
use squall_parser::ast;
use squall_registry::{ExprType, Volatility};
use squall_types::{SqlResult, Value};
use std::sync::Arc;

/// FROM after WHERE.
#[derive(Clone, Debug)]
pub(crate) struct Filtered {
    /// The rows that meet the conditions that read nothing of outer blocks.
    pub source: LogicalPlan,
    /// The conditions that do.
    pub correlated: Vec<BoundExpr>,
}

/// A condition of WHERE that is a semi or anti join.
struct SemiJoin {
    plan: LogicalPlan,
    conditions: Vec<BoundExpr>,
    blocks: Vec<BlockId>,
    join_type: JoinType,
    null_aware: bool,
}

impl Context<'_> {
    /// Binds WHERE.
    pub fn bind_where(
        &mut self,
        plan: LogicalPlan,
        selection: Option<&ast::Expr>,
        block: BlockId,
    ) -> SqlResult<Filtered> {
        let Some(selection) = selection else { return Ok(Filtered { source: plan, correlated: Vec::new() }) };
        self.frame()?.clause = Clause::Where;
        let mut conditions = Vec::new();
        let mut semi_joins = Vec::new();
        for conjunct in conjuncts_of(selection) {
            if let Some(semi_join) = self.bind_semi_join(conjunct, block, &mut conditions)? {
                semi_joins.push(semi_join);
            }
        }
        let pending: Vec<ColumnId> =
            self.frame()?.subqueries.iter().flat_map(|subquery| subquery.outputs.clone()).collect();
        let (mut local, mut correlated, mut with_subqueries) = (Vec::new(), Vec::new(), Vec::new());
        for condition in conditions {
            self.note_equality(&condition, block, ConditionOf::Where);
            if reads_any(&condition, &pending) {
                with_subqueries.push(condition);
            } else if self.has_outer(&condition, block) {
                correlated.push(condition);
            } else {
                local.push(condition);
            }
        }
        let mut plan = self.filter(plan, local, block)?;
        for semi_join in semi_joins {
            plan = self.semi_join(plan, semi_join, block)?;
        }
        plan = self.join_single_values(plan, &mut with_subqueries, block)?;
        let subqueries = std::mem::take(&mut self.frame()?.subqueries);
        plan = self.attach_subqueries(plan, subqueries, block)?;
        plan = self.filter(plan, with_subqueries, block)?;
        Ok(Filtered { source: plan, correlated })
    }

    /// Makes `value = (subquery)` a join with the subquery's one row where that reads nothing of the block, so that an
    /// index can find the rows.
    fn join_single_values(
        &mut self,
        mut plan: LogicalPlan,
        conditions: &mut Vec<BoundExpr>,
        block: BlockId,
    ) -> SqlResult<LogicalPlan> {
        let mut at = 0;
        while let Some(condition) = conditions.get(at) {
            let Some(number) = self.single_value(condition, conditions, at)? else {
                at += 1;
                continue;
            };
            let condition = conditions.remove(at);
            let subquery = self.frame()?.subqueries.remove(number);
            let one_row = plan_result(LogicalPlanBuilder::empty(true).build())?;
            let value = self.attach_subqueries(one_row, vec![subquery], block)?;
            let predicate = self.predicate(&condition, block)?;
            plan = join(plan, value, Some(predicate), JoinType::Inner)?;
        }
        Ok(plan)
    }

    /// The pending subquery that a condition compares something of the block with, if nothing else reads it.
    fn single_value(&mut self, condition: &BoundExpr, conditions: &[BoundExpr], at: usize) -> SqlResult<Option<usize>> {
        let BoundExpr::Compare { op: CompareOp::Equal, left, right, .. } = condition else { return Ok(None) };
        let subqueries = &self.frame()?.subqueries;
        let reads = |expr: &BoundExpr, number: usize| reads_any(expr, &subqueries[number].outputs);
        let found = (0..subqueries.len()).find(|number| {
            let subquery = &subqueries[*number];
            let plain =
                |expr: &BoundExpr| matches!(expr, BoundExpr::Column(column) if subquery.outputs == [column.ordinal]);
            let apart =
                |expr: &BoundExpr| !expr.is_constant() && !(0..subqueries.len()).any(|other| reads(expr, other));
            let compared = (plain(left) && apart(right)) || (plain(right) && apart(left));
            let alone = conditions.iter().enumerate().all(|(other, expr)| other == at || !reads(expr, *number));
            let unread =
                subqueries.iter().all(|other| !other.columns_read().iter().any(|id| subquery.outputs.contains(id)));
            compared && alone && unread && subquery.is_constant_value()
        });
        Ok(found)
    }

    fn semi_join(&self, left: LogicalPlan, semi_join: SemiJoin, block: BlockId) -> SqlResult<LogicalPlan> {
        let mut blocks = semi_join.blocks;
        blocks.push(block);
        if let ([condition @ BoundExpr::Compare { left: here, right: there, .. }], true) =
            (semi_join.conditions.as_slice(), semi_join.null_aware)
        {
            // The keys of a NOT IN join have to be its keys from the start: as a condition they would be an anti join's.
            let (here, there) = self.comparison_keys(condition, here, there);
            let on = (self.value_of(&here, &blocks)?, self.value_of(&there, &blocks)?);
            return join_on(left, semi_join.plan, vec![on], None, semi_join.join_type, true);
        }
        let condition = self.binder.builder().filter(semi_join.conditions)?;
        let condition = self.predicate_of(&condition, &blocks)?;
        join(left, semi_join.plan, Some(condition), semi_join.join_type)
    }

    /// Binds a condition: as a semi join if it is one, otherwise into `conditions`.
    fn bind_semi_join(
        &mut self,
        condition: &ast::Expr,
        block: BlockId,
        conditions: &mut Vec<BoundExpr>,
    ) -> SqlResult<Option<SemiJoin>> {
        match condition {
            ast::Expr::Unary { op: ast::UnaryOp::Not, operand } => match operand.as_ref() {
                ast::Expr::Exists(query) => self.exists_join(query, true, block, conditions),
                ast::Expr::InSubquery { operand, query, negated } => {
                    self.in_join(operand, query, !negated, block, conditions)
                }
                _ => {
                    conditions.push(self.bind_condition(condition)?);
                    Ok(None)
                }
            },
            ast::Expr::Exists(query) => self.exists_join(query, false, block, conditions),
            ast::Expr::InSubquery { operand, query, negated } => {
                self.in_join(operand, query, *negated, block, conditions)
            }
            _ => {
                let condition = self.bind_condition(condition)?;
                conditions.push(self.with_spatial_keys(condition)?);
                Ok(None)
            }
        }
    }

    fn exists_join(
        &mut self,
        query: &ast::Query,
        negated: bool,
        block: BlockId,
        conditions: &mut Vec<BoundExpr>,
    ) -> SqlResult<Option<SemiJoin>> {
        let bound = self.bind_subquery(query)?;
        if let Some(simple) = &bound.simple
            && simple.aggregates.is_none()
            && !simple.correlated.is_empty()
            && self.is_joinable(simple, block)?
        {
            let join_type = if negated { JoinType::LeftAnti } else { JoinType::LeftSemi };
            return Ok(Some(SemiJoin {
                plan: simple.source.clone(),
                conditions: simple.correlated.clone(),
                blocks: vec![simple.block],
                join_type,
                null_aware: false,
            }));
        }
        let exists = self.exists(bound)?;
        conditions.push(if negated { self.binder.builder().not(exists) } else { exists });
        Ok(None)
    }

    fn in_join(
        &mut self,
        operand: &ast::Expr,
        query: &ast::Query,
        negated: bool,
        block: BlockId,
        conditions: &mut Vec<BoundExpr>,
    ) -> SqlResult<Option<SemiJoin>> {
        let operands = self.bind_row(operand)?;
        let bound = self.bind_subquery(query)?;
        check_columns(bound.outputs.len(), operands.len())?;
        let volatile = operands.iter().any(|operand| operand.volatility() == Volatility::Volatile);
        let pending: Vec<ColumnId> =
            self.frame()?.subqueries.iter().flat_map(|subquery| subquery.outputs.clone()).collect();
        let over_subquery = operands.iter().any(|operand| reads_any(operand, &pending));
        if !volatile
            && !over_subquery
            && let Some(semi_join) = self.in_semi_join(&operands, &bound, negated, block)?
        {
            return Ok(Some(semi_join));
        }
        let (op, all) = if negated { (CompareOp::NotEqual, true) } else { (CompareOp::Equal, false) };
        conditions.push(self.quantified(operands, op, all, bound)?);
        Ok(None)
    }

    fn in_semi_join(
        &self,
        operands: &[BoundExpr],
        bound: &BoundBlock,
        negated: bool,
        block: BlockId,
    ) -> SqlResult<Option<SemiJoin>> {
        let simple = match &bound.simple {
            Some(simple) if simple.aggregates.is_none() && self.is_joinable(simple, block)? => Some(simple),
            _ => None,
        };
        // The values of all rows are made, also of those that have other keys than the outer rows.
        if simple.is_some_and(|simple| !simple.correlated.is_empty() && !simple.outputs.iter().all(BoundExpr::is_quiet))
        {
            return Ok(None);
        }
        let (plan, values, mut conditions, blocks) = match simple {
            Some(simple) => {
                (simple.source.clone(), simple.outputs.clone(), simple.correlated.clone(), vec![simple.block])
            }
            None => {
                if outer_columns(&bound.plan)?.iter().any(|id| !self.is_outer(*id, block)) {
                    return Ok(None);
                }
                let values: Vec<BoundExpr> = bound.outputs.iter().map(|output| self.columns.expr(output.id)).collect();
                let blocks = bound.outputs.iter().map(|output| self.columns.get(output.id).block).collect();
                (bound.plan.clone(), values, Vec::new(), blocks)
            }
        };
        let never_null = operands.iter().chain(&values).all(|expr| !expr.nullable());
        let mut null_aware = false;
        if negated && !never_null {
            // One pair of keys without further conditions is what DataFusion's NOT IN join takes; each is its side's alone.
            let of_subquery = |expr: &BoundExpr| self.blocks_of(expr).iter().all(|found| blocks.contains(found));
            if operands.len() != 1 || !conditions.is_empty() || !values.iter().all(of_subquery) {
                return Ok(None);
            }
            null_aware = true;
        }
        let mut left_is_here = true;
        for (operand, value) in operands.iter().zip(values) {
            let equal = self.binder.builder().compare(CompareOp::Equal, operand.clone(), value)?;
            left_is_here &= matches!(&equal, BoundExpr::Compare { op: CompareOp::Equal, .. });
            conditions.push(equal);
        }
        if null_aware && !left_is_here {
            return Ok(None);
        }
        let join_type = if negated { JoinType::LeftAnti } else { JoinType::LeftSemi };
        Ok(Some(SemiJoin { plan, conditions, blocks, join_type, null_aware }))
    }

    /// Whether a block can be joined with the one around it: FROM reads nothing of that.
    fn is_joinable(&self, simple: &SimpleBlock, block: BlockId) -> SqlResult<bool> {
        let volatile = |expr: &BoundExpr| expr.volatility() == Volatility::Volatile;
        if simple.correlated.iter().chain(&simple.outputs).any(volatile) {
            return Ok(false);
        }
        Ok(outer_columns(&simple.source)?.iter().all(|id| self.is_outer(*id, block)))
    }

    /// A correlated scalar aggregate as a left join with its groups: the select list's values over the joined rows.
    pub fn scalar_aggregate_join(&mut self, bound: &BoundBlock, block: BlockId) -> SqlResult<Option<Vec<BoundExpr>>> {
        let Some(simple) = &bound.simple else { return Ok(None) };
        let Some(aggregates) = &simple.aggregates else { return Ok(None) };
        if simple.correlated.is_empty() || aggregates.is_empty() || !self.is_joinable(simple, block)? {
            return Ok(None);
        }
        let inside = |expr: &BoundExpr| self.blocks_of(expr).iter().all(|found| *found == simple.block);
        let mut pairs: Vec<(BoundExpr, BoundExpr)> = Vec::with_capacity(simple.correlated.len());
        for condition in &simple.correlated {
            let BoundExpr::Compare { op: CompareOp::Equal, left, right, .. } = condition else { return Ok(None) };
            let here = |expr: &BoundExpr| self.blocks_of(expr) == [block];
            // The two sides may be compared through keys of a collation, which the comparison itself knows how to make.
            let (left, right) = self.comparison_keys(condition, left, right);
            if inside(&left) && here(&right) {
                pairs.push((right, left));
            } else if inside(&right) && here(&left) {
                pairs.push((left, right));
            } else {
                return Ok(None);
            }
        }
        let only_aggregates = |expr: &BoundExpr| {
            let mut only = true;
            expr.visit(&mut |node| {
                if let BoundExpr::Column(column) = node {
                    only &= aggregates.iter().any(|aggregate| aggregate.id == column.ordinal);
                }
            });
            only
        };
        // The groups of all keys are made, also of those that no outer row has.
        let args = || aggregates.iter().flat_map(|aggregate| &aggregate.call.args);
        let is_quiet = args().chain(pairs.iter().map(|(_, key)| key)).all(BoundExpr::is_quiet);
        if !is_quiet || args().any(|arg| !inside(arg)) || !simple.outputs.iter().all(only_aggregates) {
            return Ok(None);
        }
        let keys = pairs.iter().map(|(_, key)| self.value(key, simple.block)).collect::<SqlResult<Vec<_>>>()?;
        if are_tables_apart(&simple.source, &[], &keys.iter().collect::<Vec<_>>()) {
            return Ok(None);
        }
        self.group_join(simple.clone(), aggregates.clone(), pairs, block).map(Some)
    }

    fn group_join(
        &mut self,
        simple: Box<SimpleBlock>,
        aggregates: Vec<Aggregate>,
        pairs: Vec<(BoundExpr, BoundExpr)>,
        block: BlockId,
    ) -> SqlResult<Vec<BoundExpr>> {
        let mut keys = Vec::with_capacity(pairs.len());
        let mut joined_on = Vec::with_capacity(pairs.len());
        for (here, inside) in pairs {
            let id = self.columns.add_computed(block, "(key)", inside.ty());
            keys.push(self.value(&inside, simple.block)?.alias(self.columns.name(id)));
            joined_on.push((here, id));
        }
        let mut results: Vec<(ColumnId, BoundExpr)> = Vec::with_capacity(aggregates.len());
        let mut exprs: Vec<Expr> = Vec::with_capacity(aggregates.len());
        for aggregate in &aggregates {
            let ty = aggregate.call.ty.clone();
            let nullable = ExprType { nullable: true, ..ty.clone() };
            let id = self.columns.add_computed(block, "(aggregate)", nullable);
            exprs.push(self.aggregate_expr(aggregate, simple.block)?.alias(self.columns.name(id)));
            let column = self.columns.expr(id);
            // A row without a group has what the aggregate of no rows is.
            let result = match value_of_no_rows(&aggregate.call.name) {
                Some(value) => {
                    let empty = self.binder.builder().convert(self.binder.builder().literal(value), &ty)?;
                    self.binder.builder().coalesce(vec![column, empty], "coalesce")?
                }
                None => column,
            };
            results.push((aggregate.id, result));
        }
        let plan = plan_result(AggregatePlan::try_new(Arc::new(simple.source.clone()), keys, exprs))?;
        let values = simple
            .outputs
            .iter()
            .map(|output| {
                output.clone().rewrite(&mut |node| match &node {
                    BoundExpr::Column(column) => results
                        .iter()
                        .find(|(id, _)| *id == column.ordinal)
                        .map_or_else(|| node.clone(), |(_, result)| result.clone()),
                    _ => node,
                })
            })
            .collect();
        let outputs = results
            .iter()
            .flat_map(|(_, result)| {
                let mut ids = Vec::new();
                result.visit(&mut |node| {
                    if let BoundExpr::Column(column) = node {
                        ids.push(column.ordinal);
                    }
                });
                ids
            })
            .collect();
        let pending = PendingSubquery::joined(LogicalPlan::Aggregate(plan), joined_on, outputs);
        self.frame()?.subqueries.push(pending);
        Ok(values)
    }

    /// Both sides of an equality as values that are equal as bytes exactly when the sides are equal.
    fn comparison_keys(&self, condition: &BoundExpr, left: &BoundExpr, right: &BoundExpr) -> (BoundExpr, BoundExpr) {
        match condition {
            BoundExpr::Compare { collation: Some(collation), .. } => (
                squall_functions::expr::sort_key_in(left.clone(), *collation),
                squall_functions::expr::sort_key_in(right.clone(), *collation),
            ),
            _ => (left.clone(), right.clone()),
        }
    }

    pub fn blocks_of(&self, expr: &BoundExpr) -> Vec<BlockId> {
        let mut blocks = Vec::new();
        expr.visit(&mut |node| {
            if let BoundExpr::Column(column) = node {
                let block = self.columns.get(column.ordinal).block;
                if !blocks.contains(&block) {
                    blocks.push(block);
                }
            }
        });
        blocks
    }
}

/// The value of an aggregate over no rows, if it is not NULL.
fn value_of_no_rows(name: &str) -> Option<Value> {
    match name {
        "COUNT" => Some(Value::Int(0)),
        "BIT_AND" => Some(Value::UInt(u64::MAX)),
        "BIT_OR" | "BIT_XOR" => Some(Value::UInt(0)),
        _ => None,
    }
}

pub(super) fn reads_any(expr: &BoundExpr, ids: &[ColumnId]) -> bool {
    let mut reads = false;
    expr.visit(&mut |node| {
        if let BoundExpr::Column(column) = node {
            reads |= ids.contains(&column.ordinal);
        }
    });
    reads
}
