//! A correlated subquery for all rows at once.
//!
//! A subquery that is correlated by equalities, `inner = outer`, has the same rows for an outer row as the one without these conditions has
//! where `inner` is the outer row's value. So the conditions become columns, the keys, which go up through the plan: a projection gives
//! them out, an aggregation groups by them, a window is apart for each of them, and a LIMIT counts rows of each (Neumann and Kemper:
//! "Unnesting arbitrary queries", 2015; here without the join with the outer values, whose place the equalities take).

use crate::access::table::RowTable;
use crate::operators::apply::{Apply, ApplyKind, OuterValue, free_placeholders};
use crate::operators::nested_block::NestedBlock;
use crate::operators::tables_apart::are_tables_apart;
use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, JoinType, NullEquality, Result};
use datafusion::datasource::source_as_provider;
use datafusion::functions_window::row_number::row_number_udwf;
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::logical_plan::{FetchType, SkipType};
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{
    Aggregate, BinaryExpr, Distinct, Expr, ExprSchemable, Extension, Filter, Join, Limit, LogicalPlan, Operator,
    Projection, Sort, SortExpr, SubqueryAlias, Union, UserDefinedLogicalNodeCore, Window, lit,
};
use squall_parser::ast::with_stack;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// A subquery for all values of its placeholders.
#[derive(Debug)]
pub(crate) struct Unnested {
    /// The subquery's columns, and then the keys.
    pub plan: LogicalPlan,
    /// What each key equals, over the placeholders.
    pub outer: Vec<Expr>,
    /// Whether the subquery may have rows where no row has the keys: an aggregate of no rows.
    pub has_rows_of_none: bool,
}

/// A plan with its keys among its columns.
struct Part {
    plan: LogicalPlan,
    keys: Vec<Key>,
    has_rows_of_none: bool,
}

#[derive(Clone)]
struct Key {
    column: Column,
    /// What it equals.
    outer: Expr,
}

/// The subquery of an Apply of this kind, as it was bound, for all rows at once; `None` if it cannot be made so.
pub(crate) fn unnest(subquery: &LogicalPlan, kind: &ApplyKind) -> Result<Option<Unnested>> {
    if !may_run_otherwise(subquery)? {
        return Ok(None);
    }
    let columns = subquery.schema().columns();
    // The binder's own limit, which saves rows of one run.
    let written = match (kind, subquery) {
        (ApplyKind::Scalar | ApplyKind::Exists, LogicalPlan::Limit(limit)) => limit.input.as_ref(),
        _ => subquery,
    };
    let mut made = 0;
    let Some(part) = part_of(written, &mut made)? else { return Ok(None) };
    if part.keys.is_empty() {
        return Ok(None);
    }
    let keys = part.keys.iter().map(|key| Expr::Column(key.column.clone()));
    let plan = match kind {
        // Whether there is a row is all that is asked.
        ApplyKind::Exists if !part.has_rows_of_none => {
            let distinct = Aggregate::try_new(Arc::new(part.plan), keys.clone().collect(), Vec::new())?;
            let columns = columns.iter().zip(subquery.schema().fields());
            let nulls = columns.map(|(column, field)| {
                let null = Expr::Literal(field.data_type().try_into()?, None);
                Ok(null.alias_qualified(column.relation.clone(), &column.name))
            });
            let exprs = nulls.chain(keys.map(Ok)).collect::<Result<_>>()?;
            projection(LogicalPlan::Aggregate(distinct), exprs)?
        }
        _ => projection(part.plan, columns.into_iter().map(Expr::Column).chain(keys).collect())?,
    };
    let outer = part.keys.into_iter().map(|key| key.outer).collect();
    Ok(Some(Unnested { plan, outer, has_rows_of_none: part.has_rows_of_none }))
}

/// Whether it does not matter how often and in which order a plan's rows are made: nothing is locked, assigned or by chance.
fn may_run_otherwise(plan: &LogicalPlan) -> Result<bool> {
    let mut may = true;
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            let provider = source_as_provider(&scan.source)?;
            may &= RowTable::of(provider.as_ref()).is_none_or(|table| table.lock.is_none());
        }
        if let Some(apply) = Apply::of(node) {
            may &= with_stack(|| may_run_otherwise(&apply.subquery))?;
        }
        node.apply_expressions(|expr| {
            may &= !expr.is_volatile();
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(if may { TreeNodeRecursion::Continue } else { TreeNodeRecursion::Stop })
    })?;
    Ok(may)
}

fn part_of(plan: &LogicalPlan, made: &mut usize) -> Result<Option<Part>> {
    if free_placeholders(plan)?.is_empty() {
        return Ok(Some(Part { plan: plan.clone(), keys: Vec::new(), has_rows_of_none: false }));
    }
    with_stack(|| match plan {
        LogicalPlan::Filter(filter) => part_of_filter(filter, made),
        LogicalPlan::Projection(projected) => {
            let Some(part) = part_of(&projected.input, made)? else { return Ok(None) };
            let Some(exprs) = part.without_placeholders(&projected.expr)? else { return Ok(None) };
            let exprs = exprs.into_iter().chain(part.key_columns()).collect();
            part.map(|plan| projection(plan, exprs)).map(Some)
        }
        LogicalPlan::SubqueryAlias(alias) => {
            let Some(mut part) = part_of(&alias.input, made)? else { return Ok(None) };
            for key in &mut part.keys {
                key.column.relation = Some(alias.alias.clone());
            }
            let name = alias.alias.clone();
            part.map(|plan| Ok(LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(Arc::new(plan), name)?))).map(Some)
        }
        LogicalPlan::Aggregate(aggregate) => part_of_aggregate(aggregate, made),
        // The order of a subquery's rows matters to a LIMIT alone.
        LogicalPlan::Sort(sort) if sort.fetch.is_none() => part_of(&sort.input, made),
        LogicalPlan::Limit(limit) => part_of_limit(limit, made),
        LogicalPlan::Distinct(Distinct::All(input)) => {
            let Some(part) = part_of(input, made)? else { return Ok(None) };
            part.map(|plan| Ok(LogicalPlan::Distinct(Distinct::All(Arc::new(plan))))).map(Some)
        }
        LogicalPlan::Window(window) => part_of_window(window, made),
        LogicalPlan::Join(join) => part_of_join(join, made),
        LogicalPlan::Union(union) => part_of_union(union, made),
        LogicalPlan::Extension(extension) => part_of_extension(extension, made),
        _ => Ok(None),
    })
}

impl Part {
    fn map(self, to: impl FnOnce(LogicalPlan) -> Result<LogicalPlan>) -> Result<Part> {
        Ok(Part { plan: to(self.plan)?, ..self })
    }

    fn key_columns(&self) -> Vec<Expr> {
        self.keys.iter().map(|key| Expr::Column(key.column.clone())).collect()
    }

    /// Expressions with keys in place of the placeholders that these equal; `None` if there are others, or if rows of no keys read them.
    fn without_placeholders(&self, exprs: &[Expr]) -> Result<Option<Vec<Expr>>> {
        exprs.iter().map(|expr| self.without_placeholder(expr)).collect()
    }

    fn without_placeholder(&self, expr: &Expr) -> Result<Option<Expr>> {
        let mut is_known = true;
        let replaced = expr.clone().transform_up(|expr| {
            let Expr::Placeholder(placeholder) = &expr else { return Ok(Transformed::no(expr)) };
            match self.key_of(&placeholder.id) {
                Some(key) if !self.has_rows_of_none => Ok(Transformed::yes(Expr::Column(key.column.clone()))),
                _ => {
                    is_known = false;
                    Ok(Transformed::no(expr))
                }
            }
        });
        // An expression keeps the name that others know it by.
        let replaced = replaced.data()?.alias_if_changed(expr.schema_name().to_string())?;
        Ok(is_known.then_some(replaced))
    }

    /// The key that equals a placeholder itself.
    fn key_of(&self, placeholder: &str) -> Option<&Key> {
        self.keys.iter().find(|key| matches!(&key.outer, Expr::Placeholder(found) if found.id == placeholder))
    }
}

fn projection(plan: LogicalPlan, exprs: Vec<Expr>) -> Result<LogicalPlan> {
    Ok(LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(plan))?))
}

fn filtered(plan: LogicalPlan, conditions: Vec<Expr>) -> Result<LogicalPlan> {
    match conjunction(conditions) {
        Some(predicate) => Ok(LogicalPlan::Filter(Filter::try_new(predicate, Arc::new(plan))?)),
        None => Ok(plan),
    }
}

fn equal(left: Expr, right: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(left), Operator::Eq, Box::new(right)))
}

fn reads_placeholders(expr: &Expr) -> bool {
    expr.exists(|expr| Ok(matches!(expr, Expr::Placeholder(_)))).unwrap_or(true)
}

/// A plan with conditions that read placeholders below its subqueries, which may read the keys then; these conditions are taken away.
fn with_conditions_below(plan: &LogicalPlan, conditions: &mut Vec<&Expr>) -> Result<LogicalPlan> {
    if let LogicalPlan::Filter(filter) = plan {
        let input = with_stack(|| with_conditions_below(&filter.input, conditions))?;
        return filtered(input, vec![filter.predicate.clone()]);
    }
    let Some(apply) = Apply::of(plan) else { return Ok(plan.clone()) };
    let input = apply.input.schema();
    let is_below = |condition: &&Expr| {
        reads_placeholders(condition) && condition.column_refs().iter().all(|column| input.has_column(column))
    };
    let (mut below, above): (Vec<&Expr>, Vec<&Expr>) = conditions.iter().partition(|condition| is_below(condition));
    *conditions = above;
    let all: Vec<Expr> = below.iter().map(|condition| (*condition).clone()).collect();
    let input = with_stack(|| with_conditions_below(&apply.input, &mut below))?;
    let left = all.into_iter().filter(|condition| below.contains(&condition)).collect();
    let input = filtered(input, left)?;
    Ok(apply.over(input, apply.outer_values.clone(), apply.operands.clone())?.into_plan())
}

fn part_of_filter(filter: &Filter, made: &mut usize) -> Result<Option<Part>> {
    let mut all = split_conjunction(&filter.predicate);
    let input = with_conditions_below(&filter.input, &mut all)?;
    let Some(mut part) = part_of(&input, made)? else { return Ok(None) };
    if part.has_rows_of_none {
        // A key that is left out here is not one without rows.
        return Ok(None);
    }
    let (mut conditions, mut others, mut columns) = (Vec::new(), Vec::new(), Vec::new());
    for condition in all {
        let pair = key_pair(condition, part.plan.schema())?;
        match pair {
            _ if !reads_placeholders(condition) => conditions.push(condition.clone()),
            Some((inner, outer)) => match part.keys.iter().find(|key| key.outer == outer) {
                // What equals the same is equal.
                Some(key) if columns.is_empty() => {
                    conditions.push(equal(inner, Expr::Column(key.column.clone())));
                }
                _ => columns.push((inner, outer)),
            },
            None => others.push(condition),
        }
    }
    let known = part.key_columns();
    let keys: Vec<&Expr> = columns.iter().map(|(inner, _)| inner).chain(&known).collect();
    if are_tables_apart(&part.plan, &conditions.iter().collect::<Vec<_>>(), &keys) {
        return Ok(None);
    }
    let mut exprs: Vec<Expr> = part.plan.schema().columns().into_iter().map(Expr::Column).collect();
    for (inner, outer) in columns {
        if let Some(key) = part.keys.iter().find(|key| key.outer == outer) {
            conditions.push(equal(inner, Expr::Column(key.column.clone())));
            continue;
        }
        *made += 1;
        let name = format!("(key {made})");
        exprs.push(inner.alias(name.clone()));
        part.keys.push(Key { column: Column::new_unqualified(name), outer });
    }
    part =
        part.map(|plan| if exprs.len() > plan.schema().fields().len() { projection(plan, exprs) } else { Ok(plan) })?;
    for condition in others {
        let Some(condition) = part.without_placeholder(condition)? else { return Ok(None) };
        conditions.push(condition.unalias());
    }
    part.map(|plan| filtered(plan, conditions)).map(Some)
}

/// The sides of an equality between what is inside and what is outside.
fn key_pair(condition: &Expr, schema: &DFSchema) -> Result<Option<(Expr, Expr)>> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) = condition else { return Ok(None) };
    let is_outer = |expr: &Expr| reads_placeholders(expr) && expr.column_refs().is_empty();
    let is_inner = |expr: &Expr| !reads_placeholders(expr) && !expr.column_refs().is_empty();
    let (inner, outer) = match (is_inner(left), is_inner(right)) {
        (true, false) if is_outer(right) => (left, right),
        (false, true) if is_outer(left) => (right, left),
        _ => return Ok(None),
    };
    let data_type = inner.get_type(schema)?;
    // Keys are compared as bytes, which is not how numbers with two zeros are equal.
    let is_exact = !matches!(data_type, DataType::Float16 | DataType::Float32 | DataType::Float64);
    let is_same = outer.get_type(&DFSchema::empty()).is_ok_and(|outer| outer == data_type);
    Ok((is_exact && is_same).then(|| (inner.as_ref().clone(), outer.as_ref().clone())))
}

fn part_of_aggregate(aggregate: &Aggregate, made: &mut usize) -> Result<Option<Part>> {
    let Some(mut part) = part_of(&aggregate.input, made)? else { return Ok(None) };
    let is_set = |expr: &Expr| matches!(expr, Expr::GroupingSet(_));
    let (groups, aggregates) =
        (part.without_placeholders(&aggregate.group_expr)?, part.without_placeholders(&aggregate.aggr_expr)?);
    let (Some(mut groups), Some(aggregates)) = (groups, aggregates) else { return Ok(None) };
    if groups.iter().any(is_set) {
        return Ok(None);
    }
    part.has_rows_of_none |= groups.is_empty();
    groups.extend(part.key_columns());
    part.map(|plan| Ok(LogicalPlan::Aggregate(Aggregate::try_new(Arc::new(plan), groups, aggregates)?))).map(Some)
}

/// The first rows of each key.
fn part_of_limit(limit: &Limit, made: &mut usize) -> Result<Option<Part>> {
    let (SkipType::Literal(skip), FetchType::Literal(fetch)) = (limit.get_skip_type()?, limit.get_fetch_type()?) else {
        return Ok(None);
    };
    let (input, order): (_, &[SortExpr]) = match limit.input.as_ref() {
        LogicalPlan::Sort(Sort { expr, input, fetch: None }) => (input.as_ref(), expr),
        input => (input, &[]),
    };
    let Some(part) = part_of(input, made)? else { return Ok(None) };
    if part.has_rows_of_none {
        // An aggregate of all rows has one.
        let keeps_it = skip == 0 && fetch != Some(0) && order.is_empty();
        return Ok(keeps_it.then_some(part));
    }
    let exprs: Vec<Expr> = order.iter().map(|sort| sort.expr.clone()).collect();
    let Some(exprs) = part.without_placeholders(&exprs)? else { return Ok(None) };
    let order = order.iter().zip(exprs).map(|(sort, expr)| SortExpr { expr: expr.unalias(), ..sort.clone() }).collect();
    *made += 1;
    let name = format!("(row {made})");
    let mut number = WindowFunction::new(row_number_udwf(), Vec::new());
    number.params.partition_by = part.key_columns();
    number.params.order_by = order;
    let number = Expr::from(number).alias(name.clone());
    let columns: Vec<Expr> = part.plan.schema().columns().into_iter().map(Expr::Column).collect();
    let row = Expr::Column(Column::new_unqualified(name));
    let mut conditions = Vec::new();
    if skip > 0 {
        conditions.push(row.clone().gt(lit(skip as u64)));
    }
    if let Some(fetch) = fetch {
        conditions.push(row.lt_eq(lit(skip.saturating_add(fetch) as u64)));
    }
    part.map(|plan| {
        let numbered = LogicalPlan::Window(Window::try_new(vec![number], Arc::new(plan))?);
        projection(filtered(numbered, conditions)?, columns)
    })
    .map(Some)
}

fn part_of_window(window: &Window, made: &mut usize) -> Result<Option<Part>> {
    let Some(part) = part_of(&window.input, made)? else { return Ok(None) };
    let Some(exprs) = part.without_placeholders(&window.window_expr)? else { return Ok(None) };
    let keys = part.key_columns();
    let apart = |expr: Expr| {
        let name = expr.schema_name().to_string();
        let apart = expr.transform_up(|expr| {
            let Expr::WindowFunction(mut function) = expr else { return Ok(Transformed::no(expr)) };
            function.params.partition_by.extend(keys.iter().cloned());
            Ok(Transformed::yes(Expr::WindowFunction(function)))
        });
        apart.data()?.alias_if_changed(name)
    };
    let exprs = exprs.into_iter().map(apart).collect::<Result<Vec<_>>>()?;
    part.map(|plan| Ok(LogicalPlan::Window(Window::try_new(exprs, Arc::new(plan))?))).map(Some)
}

fn part_of_join(join: &Join, made: &mut usize) -> Result<Option<Part>> {
    let (Some(left), Some(right)) = (part_of(&join.left, made)?, part_of(&join.right, made)?) else { return Ok(None) };
    if left.has_rows_of_none || right.has_rows_of_none || join.null_equality != NullEquality::NullEqualsNothing {
        return Ok(None);
    }
    let mut conditions: Vec<Expr> =
        join.filter.as_ref().map_or_else(Vec::new, |filter| split_conjunction(filter).into_iter().cloned().collect());
    let mut keys = left.keys.clone();
    for key in &right.keys {
        let same = left.keys.iter().find(|of_left| of_left.outer == key.outer);
        match (same, join.join_type) {
            (_, JoinType::LeftSemi | JoinType::LeftAnti | JoinType::Left) if join.null_aware => return Ok(None),
            (Some(same), JoinType::Inner | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::Left) => {
                conditions.push(equal(Expr::Column(same.column.clone()), Expr::Column(key.column.clone())));
            }
            (None, JoinType::Inner) => keys.push(key.clone()),
            _ => return Ok(None),
        }
    }
    if !matches!(join.join_type, JoinType::Inner | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::Left) {
        return Ok(None);
    }
    let both = Part { plan: join.left.as_ref().clone(), keys, has_rows_of_none: false };
    let Some(conditions) = both.without_placeholders(&conditions)? else { return Ok(None) };
    let (here, there): (Vec<Expr>, Vec<Expr>) = join.on.iter().cloned().unzip();
    let (Some(here), Some(there)) = (left.without_placeholders(&here)?, right.without_placeholders(&there)?) else {
        return Ok(None);
    };
    let on = here.into_iter().map(Expr::unalias).zip(there.into_iter().map(Expr::unalias)).collect();
    let joined = Join::try_new(
        Arc::new(left.plan),
        Arc::new(right.plan),
        on,
        conjunction(conditions.into_iter().map(Expr::unalias)),
        join.join_type,
        join.join_constraint,
        join.null_equality,
        join.null_aware,
    )?;
    Ok(Some(Part { plan: LogicalPlan::Join(joined), ..both }))
}

/// The parts of a union have the same keys.
fn part_of_union(union: &Union, made: &mut usize) -> Result<Option<Part>> {
    let mut inputs = Vec::with_capacity(union.inputs.len());
    let mut keys: Option<Vec<Key>> = None;
    for input in &union.inputs {
        let Some(part) = part_of(input, made)? else { return Ok(None) };
        let first = keys.get_or_insert_with(|| part.keys.clone());
        if part.has_rows_of_none || part.keys.is_empty() || part.keys.len() != first.len() {
            return Ok(None);
        }
        let mut exprs: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
        for key in first.iter() {
            let Some(same) = part.keys.iter().find(|own| own.outer == key.outer) else { return Ok(None) };
            exprs.push(Expr::Column(same.column.clone()).alias(key.column.name.clone()));
        }
        inputs.push(Arc::new(projection(part.plan, exprs)?));
    }
    let mut keys = keys.unwrap_or_default();
    for key in &mut keys {
        key.column.relation = None;
    }
    let Some(first) = inputs.first() else { return Ok(None) };
    let known: BTreeSet<&str> = keys.iter().map(|key| key.column.name.as_str()).collect();
    let of_keys = first.schema().iter().filter(|(_, field)| known.contains(field.name().as_str()));
    let of_keys = of_keys.map(|(_, field)| (None, Arc::clone(field))).collect();
    let schema = union.schema.join(&DFSchema::new_with_metadata(of_keys, HashMap::new())?)?;
    let plan = LogicalPlan::Union(Union { inputs, schema: Arc::new(schema) });
    Ok(Some(Part { plan, keys, has_rows_of_none: false }))
}

fn part_of_extension(extension: &Extension, made: &mut usize) -> Result<Option<Part>> {
    if let Some(block) = extension.node.as_any().downcast_ref::<NestedBlock>() {
        let [input] = block.inputs()[..] else { return Ok(None) };
        let Some(part) = part_of(input, made)? else { return Ok(None) };
        return part
            .map(|plan| {
                let block = block.with_exprs_and_inputs(Vec::new(), vec![plan])?;
                Ok(LogicalPlan::Extension(Extension { node: Arc::new(block) }))
            })
            .map(Some);
    }
    match extension.node.as_any().downcast_ref::<Apply>() {
        Some(apply) => part_of_apply(apply, made),
        None => Ok(None),
    }
}

/// Keys stand for the placeholders in an Apply's own subquery as values of its rows.
fn part_of_apply(apply: &Apply, made: &mut usize) -> Result<Option<Part>> {
    let Some(part) = part_of(&apply.input, made)? else { return Ok(None) };
    let own: Vec<String> = apply.outer_values.iter().map(|outer| outer.placeholder.clone()).collect();
    let values: Vec<Expr> = apply.outer_values.iter().map(|outer| outer.value.clone()).collect();
    let (values, operands) = (part.without_placeholders(&values)?, part.without_placeholders(&apply.operands)?);
    let (Some(values), Some(operands)) = (values, operands) else { return Ok(None) };
    let is_lateral = matches!(apply.kind, ApplyKind::Lateral | ApplyKind::LeftLateral);
    if apply.comparison.as_ref().is_some_and(reads_placeholders) || part.has_rows_of_none && is_lateral {
        return Ok(None);
    }
    let mut outer_values: Vec<OuterValue> = own
        .iter()
        .zip(values)
        .map(|(placeholder, value)| OuterValue { placeholder: placeholder.clone(), value: value.unalias() })
        .collect();
    for placeholder in free_placeholders(&apply.subquery)? {
        if own.contains(&placeholder) {
            continue;
        }
        match part.key_of(&placeholder) {
            Some(key) if !part.has_rows_of_none => {
                let value = Expr::Column(key.column.clone());
                outer_values.push(OuterValue { placeholder, value });
            }
            _ => return Ok(None),
        }
    }
    let operands = operands.into_iter().map(Expr::unalias).collect();
    part.map(|plan| Ok(apply.over(plan, outer_values, operands)?.into_plan())).map(Some)
}
