//! Joins: ON, USING, NATURAL, outer joins, LATERAL.

use super::block::FromItem;
use super::column::BlockId;
use super::context::{Context, Frame};
use super::dependencies::ConditionOf;
use super::pending_subquery::PendingSubquery;
use super::plans::{conjuncts_of, filter_plan, join, nullable, outer_columns};
use super::scope::{Clause, Found, Relation, VisibleColumn};
use datafusion::common::JoinType;
use datafusion::logical_expr::{Expr, LogicalPlan};
use squall_catalog::name::eq_ignore_case;
use squall_executor::operators::ApplyKind;
use squall_functions::expr::{BoundExpr, CompareOp};
use squall_parser::ast;
use squall_types::{ErrorCode, SqlError, SqlResult};
use std::sync::Arc;

impl Context<'_> {
    /// Every combination of the rows of two items.
    pub fn cross_join(&mut self, left: FromItem, right: FromItem) -> SqlResult<FromItem> {
        self.check_unique(&left.relations, &right.relations)?;
        let plan = join(left.plan, right.plan, None, JoinType::Inner)?;
        Ok(beside(plan, left.relations, left.visible, right.relations, right.visible))
    }

    /// Binds `left JOIN right …`.
    pub fn bind_join(&mut self, node: &ast::Join, block: BlockId) -> SqlResult<FromItem> {
        let left = self.bind_reference(&node.left, block, None)?;
        if let ast::TableReference::Derived(derived) = &node.right
            && derived.lateral
        {
            let condition = match &node.condition {
                ast::JoinCondition::None => None,
                ast::JoinCondition::On(condition) => Some(condition),
                ast::JoinCondition::Using(_) | ast::JoinCondition::Natural => {
                    return Err(SqlError::unsupported("LATERAL with USING"));
                }
            };
            return match node.kind {
                ast::JoinKind::Inner | ast::JoinKind::Straight => {
                    self.bind_lateral(derived, block, Some(left), false, condition)
                }
                ast::JoinKind::Left => self.bind_lateral(derived, block, Some(left), true, condition),
                ast::JoinKind::Right => Err(SqlError::unsupported("RIGHT JOIN LATERAL")),
            };
        }
        if let ast::TableReference::JsonTable(table) = &node.right
            && node.kind != ast::JoinKind::Right
            && let ast::JoinCondition::None | ast::JoinCondition::On(_) = &node.condition
        {
            return self.join_json_table(node.kind, left, table, &node.condition, block);
        }
        let right = self.bind_reference(&node.right, block, None)?;
        self.check_unique(&left.relations, &right.relations)?;
        match &node.condition {
            ast::JoinCondition::None if node.kind == ast::JoinKind::Inner || node.kind == ast::JoinKind::Straight => {
                self.cross_join(left, right)
            }
            ast::JoinCondition::None => self.join_on(node.kind, left, right, &[], block),
            ast::JoinCondition::On(condition) => {
                self.join_on(node.kind, left, right, conjuncts_of(condition).as_slice(), block)
            }
            ast::JoinCondition::Using(columns) => {
                let names: Vec<Arc<str>> = columns.iter().map(|column| column.value.as_ref().into()).collect();
                self.join_using(node.kind, left, right, names, block)
            }
            ast::JoinCondition::Natural => {
                let common = common_names(&left.visible, &right.visible);
                self.join_using(node.kind, left, right, common, block)
            }
        }
    }

    /// Joins with a JSON_TABLE, which may read the rows left of it.
    fn join_json_table(
        &mut self,
        kind: ast::JoinKind,
        left: FromItem,
        table: &ast::JsonTable,
        condition: &ast::JoinCondition,
        block: BlockId,
    ) -> SqlResult<FromItem> {
        let keep_unmatched = kind == ast::JoinKind::Left;
        let condition = match condition {
            ast::JoinCondition::On(condition) if !is_true(condition) => condition,
            _ => return self.bind_json_table(table, block, Some(left), keep_unmatched),
        };
        if keep_unmatched {
            return self.bind_json_table_on(table, block, left, condition);
        }
        let item = self.bind_json_table(table, block, Some(left), false)?;
        let (bound, frame) = self.with_frame(Frame::new(item.scope(block), Clause::On), |context| {
            conjuncts_of(condition).iter().map(|condition| context.bind_condition(condition)).collect::<SqlResult<_>>()
        })?;
        let plan = self.attach_subqueries(item.plan, frame.subqueries, block)?;
        let plan = self.filter(plan, bound, block)?;
        Ok(FromItem { plan, ..item })
    }

    fn join_on(
        &mut self,
        kind: ast::JoinKind,
        left: FromItem,
        right: FromItem,
        conditions: &[&ast::Expr],
        block: BlockId,
    ) -> SqlResult<FromItem> {
        let mut scope = left.scope(block);
        scope.extend(right.relations.clone(), right.visible.clone());
        let (bound, frame) = self.with_frame(Frame::new(scope, Clause::On), |context| {
            conditions.iter().map(|condition| context.bind_condition(condition)).collect::<SqlResult<Vec<_>>>()
        })?;
        let of = match join_type(kind) {
            JoinType::Inner => ConditionOf::InnerJoin,
            _ => ConditionOf::OuterJoin,
        };
        for condition in &bound {
            self.note_equality(condition, block, of);
        }
        let FromItem { plan: mut left_plan, relations: left_relations, visible: left_visible } = left;
        let FromItem { plan: mut right_plan, relations: right_relations, visible: right_visible } = right;
        let join_type = join_type(kind);
        if !frame.subqueries.is_empty() && join_type == JoinType::Inner {
            let plan = join(left_plan, right_plan, None, JoinType::Inner)?;
            let plan = self.attach_subqueries(plan, frame.subqueries, block)?;
            let plan = self.filter(plan, bound, block)?;
            return Ok(beside(plan, left_relations, left_visible, right_relations, right_visible));
        }
        let one_sided = |subquery: &PendingSubquery| {
            self.reads_only(subquery, &right_relations, block) || self.reads_only(subquery, &left_relations, block)
        };
        if !frame.subqueries.iter().all(one_sided) {
            let from_right = kind == ast::JoinKind::Right;
            let (kept, other, other_relations) = match from_right {
                false => (left_plan, right_plan, &right_relations),
                true => (right_plan, left_plan, &left_relations),
            };
            let plan = self.join_by_rows(kept, other, other_relations, bound, frame.subqueries, block)?;
            self.supply_nulls(kind, &left_relations, &right_relations);
            return Ok(beside(plan, left_relations, left_visible, right_relations, right_visible));
        }
        for subquery in frame.subqueries {
            // An added column changes no row of its side, so a subquery goes to the side whose columns it reads.
            if self.reads_only(&subquery, &right_relations, block) {
                right_plan = self.attach_subqueries(right_plan, vec![subquery], block)?;
            } else {
                left_plan = self.attach_subqueries(left_plan, vec![subquery], block)?;
            }
        }
        let condition = self.binder.builder().filter(bound)?;
        let condition = self.predicate(&condition, block)?;
        let plan = join(left_plan, right_plan, Some(condition), join_type)?;
        self.supply_nulls(kind, &left_relations, &right_relations);
        Ok(beside(plan, left_relations, left_visible, right_relations, right_visible))
    }

    /// An outer join whose condition has subqueries that read both sides: for each row of `kept` the rows of `other`
    /// are filtered again.
    fn join_by_rows(
        &mut self,
        kept: LogicalPlan,
        other: LogicalPlan,
        relations: &[Relation],
        conditions: Vec<BoundExpr>,
        mut subqueries: Vec<PendingSubquery>,
        block: BlockId,
    ) -> SqlResult<LogicalPlan> {
        let inner_block = self.new_block();
        let columns = relations.iter().flat_map(|relation| &relation.columns).map(|column| column.id);
        let own: Vec<usize> = columns.chain(subqueries.iter().flat_map(|subquery| subquery.outputs.clone())).collect();
        for value in subqueries.iter_mut().flat_map(PendingSubquery::values_mut) {
            *value = self.keep_own(value, &own);
        }
        let inner = self.attach_subqueries(other, subqueries, inner_block)?;
        let condition = self.binder.builder().filter(conditions)?;
        let predicate = self.predicate_over(&condition, inner_block, &own)?;
        self.lateral_plan(kept, filter_plan(inner, predicate)?, ApplyKind::LeftLateral, block)
    }

    fn reads_only(&self, subquery: &PendingSubquery, relations: &[Relation], block: BlockId) -> bool {
        let inside = |id: usize| {
            self.is_outer(id, block)
                || relations.iter().any(|relation| relation.columns.iter().any(|column| column.id == id))
        };
        subquery.columns_read().into_iter().all(inside)
    }

    fn join_using(
        &mut self,
        kind: ast::JoinKind,
        left: FromItem,
        right: FromItem,
        names: Vec<Arc<str>>,
        block: BlockId,
    ) -> SqlResult<FromItem> {
        let mut conditions = Vec::with_capacity(names.len());
        let mut pairs: Vec<(usize, usize)> = Vec::with_capacity(names.len());
        for name in &names {
            let pair = (find_common(&left.visible, name)?, find_common(&right.visible, name)?);
            self.mark_used(pair.0);
            self.mark_used(pair.1);
            let (left_expr, right_expr) = (self.columns.expr(pair.0), self.columns.expr(pair.1));
            conditions.push(self.binder.builder().compare(CompareOp::Equal, left_expr, right_expr)?);
            pairs.push(pair);
        }
        let condition = match conditions.is_empty() {
            true => None,
            false => Some(self.predicate(&self.binder.builder().filter(conditions)?, block)?),
        };
        let plan = join(left.plan, right.plan, condition, join_type(kind))?;
        self.supply_nulls(kind, &left.relations, &right.relations);
        // The side that always has a row gives the common columns, in its own order, then its others, then the rest.
        let from_right = kind == ast::JoinKind::Right;
        let (first, second) =
            if from_right { (&right.visible, &left.visible) } else { (&left.visible, &right.visible) };
        let first_id = |pair: &(usize, usize)| if from_right { pair.1 } else { pair.0 };
        let second_id = |pair: &(usize, usize)| if from_right { pair.0 } else { pair.1 };
        let is_first = |column: &VisibleColumn| pairs.iter().any(|pair| first_id(pair) == column.id);
        let is_second = |column: &VisibleColumn| pairs.iter().any(|pair| second_id(pair) == column.id);
        let mut visible: Vec<VisibleColumn> = first.iter().filter(|column| is_first(column)).cloned().collect();
        visible.extend(first.iter().filter(|column| !is_first(column)).cloned());
        visible.extend(second.iter().filter(|column| !is_second(column)).cloned());
        let mut relations = left.relations;
        relations.extend(right.relations);
        Ok(FromItem { plan, relations, visible })
    }

    /// The columns of the side that may have no row can be NULL.
    fn supply_nulls(&mut self, kind: ast::JoinKind, left: &[Relation], right: &[Relation]) {
        let side = match kind {
            ast::JoinKind::Left => right,
            ast::JoinKind::Right => left,
            ast::JoinKind::Inner | ast::JoinKind::Straight => return,
        };
        for column in side.iter().flat_map(|relation| &relation.columns) {
            self.columns.make_nullable(column.id);
        }
    }

    /// Joins each row of `left` with the rows that a LATERAL `item` makes for it.
    pub fn apply_lateral(
        &mut self,
        left: FromItem,
        item: FromItem,
        block: BlockId,
        keep_unmatched: bool,
        condition: Option<&ast::Expr>,
    ) -> SqlResult<FromItem> {
        let mut inner = item.plan;
        let mut conditions = Vec::new();
        if let Some(condition) = condition {
            let mut scope = left.scope(block);
            scope.extend(item.relations.clone(), item.visible.clone());
            let (bound, frame) =
                self.with_frame(Frame::new(scope, Clause::On), |context| context.bind_condition(condition))?;
            if !frame.subqueries.is_empty() {
                return Err(SqlError::unsupported("a subquery in the ON of a LATERAL table"));
            }
            conditions.push(bound);
        }
        let kind = if keep_unmatched { ApplyKind::LeftLateral } else { ApplyKind::Lateral };
        if keep_unmatched && let Some(condition) = conditions.pop() {
            // The condition decides which rows match, so it belongs inside, where the row's values are placeholders.
            let inner_block = self.new_block();
            let mut own = Vec::new();
            for column in item.relations.iter().flat_map(|relation| &relation.columns) {
                own.push(column.id);
            }
            let predicate = self.predicate_over(&condition, inner_block, &own)?;
            inner = filter_plan(inner, predicate)?;
        }
        let plan = self.lateral_plan(left.plan, inner, kind, block)?;
        if keep_unmatched {
            self.supply_nulls(ast::JoinKind::Left, &left.relations, &item.relations);
        }
        let plan = if conditions.is_empty() { plan } else { self.filter(plan, conditions, block)? };
        Ok(beside(plan, left.relations, left.visible, item.relations, item.visible))
    }

    /// A condition where only the columns in `own` are the row's; every other one is a placeholder.
    fn predicate_over(&self, condition: &BoundExpr, other_block: BlockId, own: &[usize]) -> SqlResult<Expr> {
        self.predicate(&self.keep_own(condition, own), other_block)
    }

    /// An expression whose columns in `own` stay columns wherever it is put.
    fn keep_own(&self, expr: &BoundExpr, own: &[usize]) -> BoundExpr {
        expr.clone().rewrite(&mut |node| match &node {
            BoundExpr::Column(column) if own.contains(&column.ordinal) => BoundExpr::Opaque {
                expr: Box::new(Expr::Column(self.columns.datafusion(column.ordinal))),
                ty: column.ty.clone(),
                predicate: false,
            },
            _ => node,
        })
    }

    fn lateral_plan(
        &mut self,
        left: LogicalPlan,
        inner: LogicalPlan,
        kind: ApplyKind,
        block: BlockId,
    ) -> SqlResult<LogicalPlan> {
        let outer = outer_columns(&inner)?;
        let outer: Vec<usize> = outer.into_iter().filter(|id| !self.is_outer(*id, block)).collect();
        if outer.is_empty() && kind == ApplyKind::Lateral {
            return join(left, inner, None, JoinType::Inner);
        }
        let mut outputs = inner.schema().as_ref().clone();
        if kind == ApplyKind::LeftLateral {
            outputs = nullable(&outputs)?;
        }
        self.apply(
            left,
            inner,
            outer.into_iter().map(|id| (id, self.columns.expr(id))).collect(),
            kind,
            &outputs,
            block,
        )
    }

    /// Keeps the rows that meet all conditions.
    pub fn filter(&self, plan: LogicalPlan, conditions: Vec<BoundExpr>, block: BlockId) -> SqlResult<LogicalPlan> {
        if conditions.is_empty() {
            return Ok(plan);
        }
        let condition = self.binder.builder().filter(conditions)?;
        if matches!(&condition, BoundExpr::Literal(value, _) if *value == squall_types::Value::Int(1)) {
            return Ok(plan);
        }
        let predicate = self.predicate(&condition, block)?;
        filter_plan(plan, predicate)
    }
}

/// Whether a condition is one that every row meets: TRUE, 1.
fn is_true(condition: &ast::Expr) -> bool {
    match condition {
        ast::Expr::Literal(ast::Literal::Boolean(truth)) => *truth,
        ast::Expr::Literal(ast::Literal::Integer(number)) => &**number == "1",
        _ => false,
    }
}

fn join_type(kind: ast::JoinKind) -> JoinType {
    match kind {
        ast::JoinKind::Inner | ast::JoinKind::Straight => JoinType::Inner,
        ast::JoinKind::Left => JoinType::Left,
        ast::JoinKind::Right => JoinType::Right,
    }
}

fn beside(
    plan: LogicalPlan,
    mut relations: Vec<Relation>,
    mut visible: Vec<VisibleColumn>,
    right_relations: Vec<Relation>,
    right_visible: Vec<VisibleColumn>,
) -> FromItem {
    relations.extend(right_relations);
    visible.extend(right_visible);
    FromItem { plan, relations, visible }
}

fn common_names(left: &[VisibleColumn], right: &[VisibleColumn]) -> Vec<Arc<str>> {
    let mut names: Vec<Arc<str>> = Vec::new();
    for column in left.iter().filter(|column| !column.invisible) {
        let common = right.iter().any(|other| !other.invisible && eq_ignore_case(&other.name, &column.name));
        if common && !names.iter().any(|name| eq_ignore_case(name, &column.name)) {
            names.push(Arc::clone(&column.name));
        }
    }
    names
}

fn find_common(visible: &[VisibleColumn], name: &str) -> SqlResult<usize> {
    let scope = super::scope::Scope { block: 0, relations: Vec::new(), visible: visible.to_vec() };
    match scope.find(None, None, name) {
        Found::One(id) => Ok(id),
        Found::None => Err(SqlError::new(ErrorCode::BadField, &[&name, &Clause::From])),
        Found::Ambiguous => Err(SqlError::new(ErrorCode::NonUniqueColumn, &[&name, &Clause::From])),
    }
}
