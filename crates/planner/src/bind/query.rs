//! Query expressions: WITH, set operations, VALUES, ORDER BY and LIMIT around them.

use super::block::{BlockOutput, BoundBlock, OrderKey, position_of};
use super::column::{BlockId, ColumnId};
use super::context::{Context, Frame, plan_result};
use super::output::RowLimit;
use super::pending_subquery::PendingSubquery;
use super::row_locks::RowLocks;
use super::scope::{Clause, Relation, RelationColumn, Scope};
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Projection, Sort, SortExpr};
use squall_parser::ast;
use squall_types::{ErrorCode, SqlError, SqlResult, Value};
use std::sync::Arc;

impl Context<'_> {
    /// Binds a query with everything around its body. A locking clause around it locks nothing inside.
    pub fn bind_query_block(&mut self, query: &ast::Query) -> SqlResult<BoundBlock> {
        let around = if self.locks.of_change { self.locks.clone() } else { RowLocks::default() };
        self.bind_query_with(query, around)
    }

    /// [`Context::bind_query_block`], where what has no locking clause of its own is locked as `around` says.
    pub fn bind_query_with(&mut self, query: &ast::Query, around: RowLocks) -> SqlResult<BoundBlock> {
        let locks = if query.locking.is_empty() { around } else { RowLocks::of_clauses(&query.locking) };
        let outer = std::mem::replace(&mut self.locks, locks);
        let bound = self.bind_with_and_body(query);
        self.locks = outer;
        bound
    }

    fn bind_with_and_body(&mut self, query: &ast::Query) -> SqlResult<BoundBlock> {
        let with = query.with.as_ref();
        if let Some(with) = with {
            self.push_common_tables(with)?;
        }
        let bound = self.bind_body(query);
        if with.is_some() {
            self.common_tables.pop();
        }
        bound
    }

    fn bind_body(&mut self, query: &ast::Query) -> SqlResult<BoundBlock> {
        match &query.body {
            ast::QueryBody::Select(select) => self.bind_select(select, &query.order_by, query.limit.as_ref()),
            ast::QueryBody::Table(name) => {
                let factor =
                    ast::TableFactor { name: name.clone(), partitions: Vec::new(), alias: None, hints: Vec::new() };
                let select = ast::Select {
                    items: vec![ast::SelectItem::Wildcard],
                    from: vec![ast::TableReference::Table(Box::new(factor))],
                    ..ast::Select::default()
                };
                self.bind_select(&select, &query.order_by, query.limit.as_ref())
            }
            body => {
                let bound = self.bind_operand(body)?;
                self.order_and_limit(bound, &query.order_by, query.limit.as_ref())
            }
        }
    }

    /// Binds an operand of a set operation, or a whole body without what stands behind it.
    pub fn bind_operand(&mut self, body: &ast::QueryBody) -> SqlResult<BoundBlock> {
        match body {
            ast::QueryBody::Nested(query) => {
                let locks = self.locks.clone();
                self.nested(|context| context.bind_query_with(query, locks))
            }
            ast::QueryBody::SetOperation(operation) => self.bind_set_operation(operation),
            ast::QueryBody::Values(rows) => self.bind_values(rows),
            ast::QueryBody::Select(_) | ast::QueryBody::Table(_) => {
                // Not a clone of the whole query: a block without ORDER BY and LIMIT of its own.
                match body {
                    ast::QueryBody::Select(select) => self.bind_select(select, &[], None),
                    _ => self.bind_with_and_body(&ast::Query::new(body.clone())),
                }
            }
        }
    }

    /// ORDER BY and LIMIT over the columns of a result, as for UNION and VALUES.
    pub fn order_and_limit(
        &mut self,
        bound: BoundBlock,
        order_by: &[ast::OrderItem],
        limit: Option<&ast::Limit>,
    ) -> SqlResult<BoundBlock> {
        let mut plan = bound.plan;
        let block = bound.outputs.first().map_or(0, |output| self.columns.get(output.id).block);
        let mut widened = false;
        if !order_by.is_empty() {
            let (keys, subqueries) = self.bind_result_order(&bound.outputs, order_by)?;
            widened = !subqueries.is_empty();
            plan = self.attach_subqueries(plan, subqueries, block)?;
            plan = self.sort(plan, &keys, block)?;
        }
        if let Some(limit) = limit {
            let limit = self.bind_limit(limit)?;
            plan = self.limit(plan, limit)?;
        }
        if widened {
            let columns = bound.outputs.iter().map(|output| {
                let value = self.value(&self.columns.expr(output.id), block)?;
                Ok((value, output.id))
            });
            let columns = columns.collect::<SqlResult<Vec<_>>>()?;
            plan = self.project(plan, columns)?;
        }
        Ok(BoundBlock { plan, outputs: bound.outputs, simple: None })
    }

    /// The keys, and the subqueries in them, which have to be in the plan before it is sorted.
    fn bind_result_order(
        &mut self,
        outputs: &[BlockOutput],
        order_by: &[ast::OrderItem],
    ) -> SqlResult<(Vec<OrderKey>, Vec<PendingSubquery>)> {
        let block = outputs.first().map_or(0, |output| self.columns.get(output.id).block);
        let columns = outputs
            .iter()
            .map(|output| RelationColumn {
                name: Arc::clone(&output.name),
                id: output.id,
                invisible: false,
                hidden: false,
            })
            .collect();
        let relation = Relation { alias: "".into(), database: None, columns, definition: None, any_case: false };
        let visible = relation.visible();
        let scope = Scope { block, relations: vec![relation], visible };
        let (keys, frame) = self.with_frame(Frame::new(scope, Clause::Order), |context| {
            order_by
                .iter()
                .map(|item| {
                    if let ast::Expr::Column(name) = &item.expr
                        && let Some(table) = &name.table
                    {
                        let what = "global ORDER clause";
                        return Err(SqlError::new(ErrorCode::TableNotAllowedHere, &[&table.as_str(), &what]));
                    }
                    let expr = match position_of(&item.expr) {
                        Some(position) => {
                            let output = outputs
                                .get(position.wrapping_sub(1))
                                .ok_or_else(|| SqlError::new(ErrorCode::BadField, &[&position, &Clause::Order]))?;
                            context.columns.expr(output.id)
                        }
                        None => context.bind_expr(&item.expr)?,
                    };
                    Ok(OrderKey { expr, descending: item.descending })
                })
                .collect::<SqlResult<Vec<_>>>()
        })?;
        Ok((keys, frame.subqueries))
    }

    /// Sorts rows: strings by their collation, NULL before everything else.
    pub fn sort(&self, plan: LogicalPlan, keys: &[OrderKey], block: BlockId) -> SqlResult<LogicalPlan> {
        let expr = self.sort_exprs(keys, block)?;
        if expr.is_empty() {
            return Ok(plan);
        }
        Ok(LogicalPlan::Sort(Sort { expr, input: Arc::new(plan), fetch: None }))
    }

    /// Keys as DataFusion has them.
    pub fn sort_exprs(&self, keys: &[OrderKey], block: BlockId) -> SqlResult<Vec<SortExpr>> {
        keys.iter()
            // A constant orders nothing.
            .filter(|key| key.expr.as_literal().is_none())
            .map(|key| {
                let expr = self.value(&self.sort_key(key.expr.clone()), block)?;
                Ok(SortExpr { expr, asc: !key.descending, nulls_first: !key.descending })
            })
            .collect()
    }

    /// Binds LIMIT: numbers and parameters.
    pub fn bind_limit(&mut self, limit: &ast::Limit) -> SqlResult<RowLimit> {
        let number = |expr: &ast::Expr| -> SqlResult<u64> {
            let value = match expr {
                ast::Expr::Literal(ast::Literal::Integer(digits)) => {
                    // Digits that do not fit are a limit beyond every table.
                    return Ok(digits.parse().unwrap_or(u64::MAX));
                }
                ast::Expr::Placeholder(number) => self.parameter(*number),
                ast::Expr::Column(name) => self.local_value(&name.column),
                _ => None,
            };
            match value {
                Some(Value::UInt(number)) => Ok(number),
                Some(Value::Int(number)) if number >= 0 => Ok(number.unsigned_abs()),
                Some(Value::String(text)) => text.trim().parse().map_err(|_| wrong_limit()),
                Some(Value::Null) | None if self.binder.params.is_empty() => Ok(u64::MAX),
                _ => Err(wrong_limit()),
            }
        };
        let offset = limit.offset.as_ref().map(number).transpose()?.unwrap_or(0);
        let count = limit.count.as_ref().map(number).transpose()?;
        Ok(RowLimit { offset, count })
    }

    fn local_value(&self, name: &str) -> Option<Value> {
        self.binder.tables.local_variable(name)?.as_literal().cloned()
    }

    /// Keeps some rows.
    pub fn limit(&self, plan: LogicalPlan, limit: RowLimit) -> SqlResult<LogicalPlan> {
        let most = i64::MAX as u64;
        let skip = limit.offset.min(most) as usize;
        let fetch = limit.count.filter(|count| *count <= most).map(|count| count as usize);
        if skip == 0 && fetch.is_none() {
            return Ok(plan);
        }
        plan_result(LogicalPlanBuilder::from(plan).limit(skip, fetch).and_then(|plan| plan.build()))
    }

    /// A projection that gives each expression the name of its column.
    pub fn project(&self, plan: LogicalPlan, exprs: Vec<(Expr, ColumnId)>) -> SqlResult<LogicalPlan> {
        let exprs = exprs.into_iter().map(|(expr, id)| expr.alias(self.columns.name(id))).collect();
        Ok(LogicalPlan::Projection(plan_result(Projection::try_new(exprs, Arc::new(plan)))?))
    }
}

fn wrong_limit() -> SqlError {
    SqlError::new(ErrorCode::WrongArguments, &[&"LIMIT"])
}
