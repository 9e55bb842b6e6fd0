//! Grouping: aggregates, GROUP BY, ROLLUP, DISTINCT, and the expressions that are allowed above them.

use super::block::{Aggregate, BlockExprs, OrderKey};
use super::column::{BlockId, ColumnId};
use super::context::{Context, plan_result};
use super::pending_subquery::PendingSubquery;
use super::tree::rewrite_down;
use arrow::datatypes::DataType;
use datafusion::common::Column;
use datafusion::logical_expr::{Aggregate as AggregatePlan, Cast, Expr, GroupingSet, LogicalPlan};
use squall_functions::aggregate::AggregateCall;
use squall_functions::aggregate::any_of_group::{any_of_group, determined_by_group};
use squall_functions::build::ArithmeticOp;
use squall_functions::expr::BoundExpr;
use squall_functions::operators::bits::BitOp;
use squall_registry::ExprType;
use squall_types::{ErrorCode, SqlError, SqlMode, SqlResult, SqlType, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// Where an expression stands, for errors of grouping.
#[derive(Clone, Copy, Debug)]
struct Place {
    number: usize,
    clause: &'static str,
}

/// The expressions above a grouping instead of the input's columns.
struct Grouped {
    block: BlockId,
    /// Group expressions and the columns that hold them.
    group: Vec<(BoundExpr, BoundExpr)>,
    /// Results of aggregates and other columns that stay as they are.
    kept: Vec<ColumnId>,
    /// Calls of GROUPING and what they are.
    groupings: HashMap<ColumnId, BoundExpr>,
    /// Columns taken from any row of the group, and the columns that hold them.
    any: Vec<(ColumnId, ColumnId)>,
    /// Columns that GROUP BY determines.
    determined: Vec<ColumnId>,
    full_group_by: bool,
    without_group: bool,
}

impl Context<'_> {
    /// Puts the grouping of a block into its plan and rewrites the expressions above it.
    pub fn aggregate(
        &mut self,
        plan: LogicalPlan,
        group: Vec<BoundExpr>,
        rollup: bool,
        exprs: &mut BlockExprs,
        block: BlockId,
    ) -> SqlResult<LogicalPlan> {
        let frame = self.frame()?;
        let aggregates = frame.aggregates.clone();
        let subqueries = std::mem::take(&mut frame.subqueries);
        let (below, above) = split_subqueries(subqueries, &group, &aggregates);
        let mut plan = self.attach_subqueries(plan, below, block)?;

        let group = without_repeats(group);
        let determined = self.determined_columns(&group)?;
        let redundant = if rollup { Vec::new() } else { self.redundant_keys(&group)? };
        let mut grouped = Grouped {
            block,
            group: Vec::with_capacity(group.len()),
            kept: aggregates.iter().map(|aggregate| aggregate.id).collect(),
            groupings: HashMap::new(),
            any: Vec::new(),
            determined,
            full_group_by: self.binder.context.settings.sql_mode.contains(SqlMode::ONLY_FULL_GROUP_BY),
            without_group: group.is_empty(),
        };
        grouped.kept.extend(self.frame()?.windows.iter().map(|window| window.id));
        grouped.kept.extend(above.iter().flat_map(|subquery| &subquery.outputs));

        // Keys, and for strings one of the equal ones beside its key.
        let mut keys: Vec<(Expr, ColumnId)> = Vec::with_capacity(group.len());
        let mut aggregate_exprs: Vec<Expr> = Vec::new();
        let mut representatives: Vec<(BoundExpr, ColumnId)> = Vec::new();
        for (position, expr) in group.iter().enumerate() {
            let key = self.sort_key(expr.clone());
            let display = self.display_of(expr);
            let mut ty = expr.ty();
            ty.nullable |= rollup;
            let id = self.columns.add_computed(block, &display, ty);
            if let BoundExpr::Column(column) = expr {
                let origin = self.columns.get(column.ordinal).origin.clone();
                self.columns.set_origin(id, origin);
            }
            if redundant.contains(&position) {
                let value = determined_by_group(self.value(expr, block)?);
                aggregate_exprs.push(value.alias(self.columns.name(id)));
            } else if key == *expr {
                keys.push((self.value(expr, block)?, id));
            } else {
                let key_id = self.columns.add_computed(block, &display, key.ty());
                keys.push((self.value(&key, block)?, key_id));
                aggregate_exprs.push(any_of_group(self.value(expr, block)?).alias(self.columns.name(id)));
                representatives.push((expr.clone(), id));
            }
            grouped.group.push((expr.clone(), self.columns.expr(id)));
        }

        let grouping_id = if rollup { Some(self.grouping_id(block)) } else { None };
        if let Some(grouping_id) = grouping_id {
            self.bind_groupings(&group, grouping_id, &mut grouped)?;
            for (expr, id) in &representatives {
                // In a row that sums over the column, whichever string came first means nothing.
                let position = group.iter().position(|other| other == expr).unwrap_or(0);
                let rolled_up = self.grouping_bit(grouping_id, position, group.len())?;
                let shown =
                    self.binder.builder().if_(rolled_up, null_of(&self.columns, *id), self.columns.expr(*id))?;
                if let Some(entry) = grouped.group.iter_mut().find(|(other, _)| other == expr) {
                    entry.1 = shown;
                }
            }
        }

        self.rewrite_above(exprs, above, &mut grouped)?;

        for (source, id) in &grouped.any {
            let value = self.value(&self.columns.expr(*source), block)?;
            aggregate_exprs.push(any_of_group(value).alias(self.columns.name(*id)));
        }
        for aggregate in &aggregates {
            aggregate_exprs.push(self.aggregate_expr(aggregate, block)?.alias(self.columns.name(aggregate.id)));
        }
        if let Some(grouping_id) = grouping_id {
            plan = self.rollup(plan, keys, aggregate_exprs, grouping_id)?;
            if exprs.order.is_empty() {
                plan = self.sort_rollup(plan, &grouped, grouping_id, block)?;
            }
            return Ok(plan);
        }
        let keys = keys.into_iter().map(|(expr, id)| expr.alias(self.columns.name(id))).collect();
        let aggregate = plan_result(AggregatePlan::try_new(Arc::new(plan), keys, aggregate_exprs))?;
        Ok(LogicalPlan::Aggregate(aggregate))
    }

    /// Rows without duplicates by `ids`; of `hidden` and of strings, any of the equal rows' values.
    pub fn distinct(
        &self,
        plan: LogicalPlan,
        ids: &[ColumnId],
        hidden: &[ColumnId],
        _block: BlockId,
    ) -> SqlResult<LogicalPlan> {
        let mut keys = Vec::with_capacity(ids.len());
        let mut values = Vec::new();
        for (number, id) in ids.iter().enumerate() {
            let column = self.local(*id);
            let key = self.sort_key(column.clone());
            let name = self.columns.name(*id);
            if key == column {
                keys.push(Expr::Column(Column::new_unqualified(name)));
            } else {
                keys.push(plan_result(key.to_value(&self.slot))?.alias(format!("{name}k{number}")));
                values.push(any_of_group(Expr::Column(Column::new_unqualified(name))).alias(name));
            }
        }
        for id in hidden {
            let name = self.columns.name(*id);
            values.push(any_of_group(Expr::Column(Column::new_unqualified(name))).alias(name));
        }
        let aggregate = plan_result(AggregatePlan::try_new(Arc::new(plan), keys, values))?;
        let exprs = ids
            .iter()
            .chain(hidden)
            .map(|id| (Expr::Column(Column::new_unqualified(self.columns.name(*id))), *id))
            .collect();
        self.project(LogicalPlan::Aggregate(aggregate), exprs)
    }

    /// An aggregate as DataFusion has it.
    pub fn aggregate_expr(&self, aggregate: &Aggregate, block: BlockId) -> SqlResult<Expr> {
        plan_result(self.placed_call(&aggregate.call, block).to_datafusion(&self.slot))
    }

    /// An aggregate call whose arguments are over the rows of `block`.
    pub fn placed_call(&self, call: &Arc<AggregateCall>, block: BlockId) -> Arc<AggregateCall> {
        let mut placed = call.as_ref().clone();
        placed.args = placed.args.iter().map(|arg| self.with_placeholders(arg, &[block]).into_owned()).collect();
        Arc::new(placed)
    }

    fn rewrite_above(
        &mut self,
        exprs: &mut BlockExprs,
        above: Vec<PendingSubquery>,
        grouped: &mut Grouped,
    ) -> SqlResult<()> {
        for (number, item) in exprs.items.iter_mut().enumerate() {
            let place = Place { number: number + 1, clause: "SELECT list" };
            item.expr = self.above(std::mem::replace(&mut item.expr, BoundExpr::null()), place, grouped)?;
        }
        if let Some(having) = exprs.having.take() {
            exprs.having = Some(self.above(having, Place { number: 1, clause: "HAVING clause" }, grouped)?);
        }
        for (number, key) in exprs.order.iter_mut().enumerate() {
            let place = Place { number: number + 1, clause: "ORDER BY" };
            key.expr = self.above(std::mem::replace(&mut key.expr, BoundExpr::null()), place, grouped)?;
        }
        let place = Place { number: 1, clause: "SELECT list" };
        let mut windows = std::mem::take(&mut self.frame()?.windows);
        for window in &mut windows {
            for expr in window.exprs_mut() {
                *expr = self.above(std::mem::replace(expr, BoundExpr::null()), place, grouped)?;
            }
        }
        self.frame()?.windows = windows;
        let mut subqueries = Vec::with_capacity(above.len());
        for mut subquery in above {
            for expr in subquery.values_mut() {
                *expr = self.above(std::mem::replace(expr, BoundExpr::null()), place, grouped)?;
            }
            subqueries.push(subquery);
        }
        self.frame()?.subqueries = subqueries;
        Ok(())
    }

    /// An expression over the input as one over the groups.
    fn above(&mut self, expr: BoundExpr, place: Place, grouped: &mut Grouped) -> SqlResult<BoundExpr> {
        let mut error = None;
        let rewritten = rewrite_down(expr, &mut |node| {
            if let Some((_, column)) = grouped.group.iter().find(|(group, _)| group == node) {
                return Some(column.clone());
            }
            if let BoundExpr::Call(call) = node
                && &*call.name == super::special_call::ANY_VALUE
            {
                let checked = std::mem::replace(&mut grouped.full_group_by, false);
                let [arg] = call.args.as_slice() else { return None };
                let any = self.above(arg.clone(), place, grouped);
                grouped.full_group_by = checked;
                return any.map_err(|failed| error.get_or_insert(failed)).ok();
            }
            let BoundExpr::Column(column) = node else { return None };
            let id = column.ordinal;
            if let Some(grouping) = grouped.groupings.get(&id) {
                return Some(grouping.clone());
            }
            if grouped.kept.contains(&id) || self.is_outer(id, grouped.block) {
                return Some(node.clone());
            }
            if let Some((_, any)) = grouped.any.iter().find(|(source, _)| *source == id) {
                return Some(self.columns.expr(*any));
            }
            if grouped.full_group_by && !grouped.determined.contains(&id) {
                let code = if grouped.without_group {
                    ErrorCode::MixOfGroupFuncAndFields
                } else {
                    ErrorCode::WrongFieldWithGroup
                };
                let shown = self.plain_display(id);
                error.get_or_insert(SqlError::new(code, &[&place.number, &place.clause, &shown]));
                return Some(node.clone());
            }
            let info = self.columns.get(id).clone();
            let ty = ExprType { nullable: true, ..info.reference.ty.clone() };
            let any = self.columns.add_computed(grouped.block, &info.reference.display, ty);
            self.columns.set_origin(any, info.origin);
            grouped.any.push((id, any));
            Some(self.columns.expr(any))
        });
        match error {
            Some(error) => Err(error),
            None => Ok(rewritten),
        }
    }

    fn display_of(&self, expr: &BoundExpr) -> String {
        match expr {
            BoundExpr::Column(column) => column.display.to_string(),
            other => other.to_string(),
        }
    }

    fn grouping_id(&mut self, block: BlockId) -> ColumnId {
        let ty = ExprType::numeric(SqlType::BIGINT_UNSIGNED, false);
        self.columns.add_computed(block, "(grouping)", ty)
    }

    /// 1 where a row sums over the group expression at `position`.
    fn grouping_bit(&self, grouping_id: ColumnId, position: usize, count: usize) -> SqlResult<BoundExpr> {
        let builder = self.binder.builder();
        let shift = builder.literal(Value::Int((count - 1 - position) as i64));
        let shifted = builder.bit_operation(BitOp::ShiftRight, self.columns.expr(grouping_id), shift)?;
        builder.bit_operation(BitOp::And, shifted, builder.literal(Value::Int(1)))
    }

    /// The expression of each GROUPING(…) of the block.
    fn bind_groupings(&mut self, group: &[BoundExpr], id: ColumnId, grouped: &mut Grouped) -> SqlResult<()> {
        let groupings = self.frame()?.groupings.clone();
        for (column, args) in groupings {
            let mut value: Option<BoundExpr> = None;
            for (number, arg) in args.iter().enumerate() {
                let Some(position) = group.iter().position(|expr| expr == arg) else {
                    return Err(SqlError::new(ErrorCode::FieldInGroupingNotGroupBy, &[&(number + 1)]));
                };
                let bit = self.grouping_bit(id, position, group.len())?;
                let builder = self.binder.builder();
                value = Some(match value {
                    None => bit,
                    Some(value) => {
                        let shifted =
                            builder.arithmetic(ArithmeticOp::Multiply, value, builder.literal(Value::Int(2)))?;
                        builder.arithmetic(ArithmeticOp::Add, shifted, bit)?
                    }
                });
            }
            if let Some(value) = value {
                let ty = self.columns.get(column).reference.ty.clone();
                grouped.groupings.insert(column, self.binder.builder().convert(value, &ty)?);
            }
        }
        Ok(())
    }

    fn rollup(
        &self,
        plan: LogicalPlan,
        keys: Vec<(Expr, ColumnId)>,
        aggregates: Vec<Expr>,
        grouping_id: ColumnId,
    ) -> SqlResult<LogicalPlan> {
        // Grouping sets are over plain columns, so the keys become columns first.
        let mut exprs: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
        let mut sets = Vec::with_capacity(keys.len());
        for (expr, id) in keys {
            let name = self.columns.name(id).to_string();
            exprs.push(expr.alias(name.clone()));
            sets.push(Expr::Column(Column::new_unqualified(name)));
        }
        let plan = plan_result(datafusion::logical_expr::Projection::try_new(exprs, Arc::new(plan)))?;
        let group = vec![Expr::GroupingSet(GroupingSet::Rollup(sets))];
        let input = Arc::new(LogicalPlan::Projection(plan));
        let aggregate = plan_result(AggregatePlan::try_new(input, group, aggregates))?;
        let internal = AggregatePlan::INTERNAL_GROUPING_ID;
        let exprs = aggregate
            .schema
            .columns()
            .into_iter()
            .map(|column| match column.name == internal {
                true => {
                    let cast = Expr::Cast(Cast::new(Box::new(Expr::Column(column)), DataType::UInt64));
                    cast.alias(self.columns.name(grouping_id))
                }
                false => Expr::Column(column),
            })
            .collect();
        let plan = LogicalPlan::Aggregate(aggregate);
        let projection = plan_result(datafusion::logical_expr::Projection::try_new(exprs, Arc::new(plan)))?;
        Ok(LogicalPlan::Projection(projection))
    }

    /// ROLLUP's rows in order: each group's rows before the row that sums them up.
    fn sort_rollup(
        &self,
        plan: LogicalPlan,
        grouped: &Grouped,
        grouping_id: ColumnId,
        block: BlockId,
    ) -> SqlResult<LogicalPlan> {
        let mut keys = Vec::with_capacity(grouped.group.len() * 2);
        for (position, (_, column)) in grouped.group.iter().enumerate() {
            let bit = self.grouping_bit(grouping_id, position, grouped.group.len())?;
            keys.push(OrderKey { expr: bit, descending: false });
            keys.push(OrderKey { expr: column.clone(), descending: false });
        }
        self.sort(plan, &keys, block)
    }
}

/// The expressions of GROUP BY, each once.
fn without_repeats(group: Vec<BoundExpr>) -> Vec<BoundExpr> {
    let mut distinct: Vec<BoundExpr> = Vec::with_capacity(group.len());
    for expr in group {
        if !distinct.contains(&expr) {
            distinct.push(expr);
        }
    }
    distinct
}

fn null_of(columns: &super::column::Columns, id: ColumnId) -> BoundExpr {
    let ty = ExprType { nullable: true, ..columns.get(id).reference.ty.clone() };
    BoundExpr::Literal(Value::Null, ty)
}

/// Subqueries inside of aggregates and group expressions run below the grouping, the others above it.
fn split_subqueries(
    subqueries: Vec<PendingSubquery>,
    group: &[BoundExpr],
    aggregates: &[Aggregate],
) -> (Vec<PendingSubquery>, Vec<PendingSubquery>) {
    let mut needed: Vec<ColumnId> = Vec::new();
    let mut note = |expr: &BoundExpr| {
        expr.visit(&mut |node| {
            if let BoundExpr::Column(column) = node {
                needed.push(column.ordinal);
            }
        });
    };
    group.iter().for_each(&mut note);
    for aggregate in aggregates {
        aggregate.call.args.iter().for_each(&mut note);
    }
    let (mut below, mut above) = (Vec::new(), Vec::new());
    // A subquery's operand may be another, earlier one.
    for subquery in subqueries.into_iter().rev() {
        if subquery.outputs.iter().any(|id| needed.contains(id)) {
            needed.extend(subquery.columns_read());
            below.push(subquery);
        } else {
            above.push(subquery);
        }
    }
    below.reverse();
    above.reverse();
    (below, above)
}
