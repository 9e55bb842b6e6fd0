//! Walks a query to change its names.

use super::expr_parts::{PartMut, push_aggregate_mut, push_parts_mut};
use super::{
    AggregateCall, ColumnName, Expr, FunctionCall, Ident, JoinCondition, JsonTable, Limit, ObjectName, OrderItem,
    Query, QueryBody, Select, SelectItem, TableReference, WindowSpecification, with_stack,
};

/// The parts of a query that may be changed.
#[derive(Debug)]
pub enum NameMut<'a> {
    /// A table or view that is read. Names of table expressions (WITH) are none.
    Table(&'a mut ObjectName),
    /// The alias of a table or view.
    Alias(&'a mut Ident),
    /// A column, wherever an expression has one.
    Column(&'a mut ColumnName),
    /// A sequence whose values an expression takes.
    Sequence(&'a mut ObjectName),
    /// A call of an aggregate.
    Aggregate(&'a mut AggregateCall),
    /// A call of any other function.
    Function(&'a mut FunctionCall),
    /// A condition: WHERE, HAVING, or what a join is ON. What is inside of it comes later. Those of subqueries in an item without an
    /// alias are left out: the item's text is the name of a column.
    Condition(&'a mut Expr),
}

impl Query {
    /// Calls `found` with every name in the query and its subqueries.
    pub fn for_each_name_mut(&mut self, found: &mut dyn FnMut(NameMut<'_>)) {
        Walk { common: Vec::new(), is_in_column_name: false, found }.query(self);
    }

    /// Calls `found` with the name of every table that the query and its subqueries read.
    pub fn for_each_table_mut(&mut self, found: &mut dyn FnMut(&mut ObjectName)) {
        self.for_each_name_mut(&mut |name| {
            if let NameMut::Table(name) = name {
                found(name);
            }
        });
    }
}

struct Walk<'f> {
    /// Names of table expressions in force.
    common: Vec<String>,
    /// Whether the text that is walked names a column.
    is_in_column_name: bool,
    found: &'f mut dyn FnMut(NameMut<'_>),
}

impl Walk<'_> {
    fn query(&mut self, query: &mut Query) {
        with_stack(|| self.query_here(query));
    }

    fn query_here(&mut self, query: &mut Query) {
        let before = self.common.len();
        if let Some(with) = &mut query.with {
            for table in &mut with.tables {
                if with.recursive {
                    self.common.push(table.name.to_string());
                }
                self.query(&mut table.query);
                self.common.push(table.name.to_string());
            }
        }
        self.body(&mut query.body);
        self.order(&mut query.order_by);
        if let Some(Limit { count, offset, .. }) = &mut query.limit {
            [count, offset].into_iter().flatten().for_each(|expr| self.expr(expr));
        }
        self.common.truncate(before);
    }

    fn body(&mut self, body: &mut QueryBody) {
        match body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Table(name) => self.name(name),
            QueryBody::SetOperation(operation) => {
                with_stack(|| self.body(&mut operation.left));
                self.body(&mut operation.right);
            }
            QueryBody::Nested(query) => self.query(query),
            QueryBody::Values(rows) => rows.iter_mut().flatten().for_each(|expr| self.expr(expr)),
        }
    }

    fn select(&mut self, select: &mut Select) {
        for item in &mut select.items {
            if let SelectItem::Expr(item) = item {
                let outside = self.is_in_column_name;
                self.is_in_column_name |= item.alias.is_none();
                self.expr(&mut item.expr);
                self.is_in_column_name = outside;
            }
        }
        select.from.iter_mut().for_each(|table| self.reference(table));
        select.selection.iter_mut().for_each(|expr| self.condition(expr));
        if let Some(group) = &mut select.group_by {
            group.items.iter_mut().for_each(|item| self.expr(&mut item.expr));
        }
        select.having.iter_mut().for_each(|expr| self.condition(expr));
        select.windows.iter_mut().for_each(|window| self.window(&mut window.window));
    }

    fn reference(&mut self, table: &mut TableReference) {
        match table {
            TableReference::Table(factor) => {
                self.name(&mut factor.name);
                factor.alias.iter_mut().for_each(|alias| (self.found)(NameMut::Alias(alias)));
            }
            TableReference::Derived(derived) => self.query(&mut derived.query),
            TableReference::Join(join) => {
                self.reference(&mut join.left);
                self.reference(&mut join.right);
                if let JoinCondition::On(condition) = &mut join.condition {
                    self.condition(condition);
                }
            }
            TableReference::JsonTable(table) => {
                let JsonTable { document, .. } = &mut **table;
                self.expr(document);
            }
            TableReference::Function(call) => {
                call.arguments.iter_mut().for_each(|argument| self.expr(argument));
                call.alias.iter_mut().for_each(|alias| (self.found)(NameMut::Alias(alias)));
            }
        }
    }

    fn window(&mut self, window: &mut WindowSpecification) {
        window.partition_by.iter_mut().for_each(|expr| self.expr(expr));
        self.order(&mut window.order_by);
    }

    fn order(&mut self, items: &mut [OrderItem]) {
        items.iter_mut().for_each(|item| self.expr(&mut item.expr));
    }

    fn name(&mut self, name: &mut ObjectName) {
        let is_common = name.schema.is_none() && self.common.iter().any(|other| other.eq_ignore_ascii_case(&name.name));
        if !is_common {
            (self.found)(NameMut::Table(name));
        }
    }

    fn condition(&mut self, condition: &mut Expr) {
        if !self.is_in_column_name {
            (self.found)(NameMut::Condition(condition));
        }
        self.expr(condition);
    }

    fn expr(&mut self, expr: &mut Expr) {
        // Trees are at most as deep as the parser lets them be; one level at a time keeps the stack flat.
        let mut pending = vec![PartMut::Expr(expr)];
        while let Some(part) = pending.pop() {
            match part {
                PartMut::Expr(Expr::Aggregate(call)) => {
                    (self.found)(NameMut::Aggregate(call));
                    push_aggregate_mut(call, &mut pending);
                }
                PartMut::Expr(expr) => {
                    match expr {
                        Expr::Function(call) => (self.found)(NameMut::Function(call)),
                        Expr::Sequence { sequence, .. } => (self.found)(NameMut::Sequence(sequence)),
                        _ => {}
                    }
                    push_parts_mut(expr, &mut pending);
                }
                PartMut::Query(query) => self.query(query),
                PartMut::Column(name) => (self.found)(NameMut::Column(name)),
            }
        }
    }
}
