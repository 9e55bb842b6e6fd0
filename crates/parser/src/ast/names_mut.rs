//! Walks a query to change its names.

use super::{
    AggregateCall, ColumnName, Expr, FrameBound, FunctionCall, Ident, JoinCondition, JsonResponse, JsonTable, Limit,
    ObjectName, OrderItem, Query, QueryBody, Select, SelectItem, SequenceOperation, TableReference, WindowReference,
    WindowSpecification, with_stack,
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
    /// A call of an aggregate.
    Aggregate(&'a mut AggregateCall),
    /// A call of any other function.
    Function(&'a mut FunctionCall),
}

impl Query {
    /// Calls `found` with every name in the query and its subqueries.
    pub fn for_each_name_mut(&mut self, found: &mut dyn FnMut(NameMut<'_>)) {
        Walk { common: Vec::new(), found }.query(self);
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

/// A part of an expression.
enum Part<'a> {
    Expr(&'a mut Expr),
    Query(&'a mut Query),
    Column(&'a mut ColumnName),
}

struct Walk<'f> {
    /// Names of table expressions in force.
    common: Vec<String>,
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
        if let Some(Limit { count, offset }) = &mut query.limit {
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
                self.expr(&mut item.expr);
            }
        }
        select.from.iter_mut().for_each(|table| self.reference(table));
        select.selection.iter_mut().for_each(|expr| self.expr(expr));
        if let Some(group) = &mut select.group_by {
            group.items.iter_mut().for_each(|item| self.expr(&mut item.expr));
        }
        select.having.iter_mut().for_each(|expr| self.expr(expr));
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
                    self.expr(condition);
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

    fn expr(&mut self, expr: &mut Expr) {
        // Trees are at most as deep as the parser lets them be; one level at a time keeps the stack flat.
        let mut pending = vec![Part::Expr(expr)];
        while let Some(part) = pending.pop() {
            match part {
                Part::Expr(Expr::Aggregate(call)) => {
                    (self.found)(NameMut::Aggregate(call));
                    push_aggregate(call, &mut pending);
                }
                Part::Expr(expr) => {
                    if let Expr::Function(call) = expr {
                        (self.found)(NameMut::Function(call));
                    }
                    push_parts(expr, &mut pending);
                }
                Part::Query(query) => self.query(query),
                Part::Column(name) => (self.found)(NameMut::Column(name)),
            }
        }
    }
}

/// The parts of an expression.
#[expect(clippy::too_many_lines, reason = "one arm for each expression")]
fn push_parts<'a>(expr: &'a mut Expr, parts: &mut Vec<Part<'a>>) {
    let mut push = |expr: &'a mut Expr| parts.push(Part::Expr(expr));
    match expr {
        Expr::Column(name) => parts.push(Part::Column(name)),
        Expr::Literal(_)
        | Expr::Placeholder(_)
        | Expr::UserVariable(_)
        | Expr::SystemVariable(_)
        | Expr::Default
        | Expr::DefaultOf(_)
        | Expr::InsertValue(_) => {}
        Expr::Exists(query) | Expr::Subquery(query) => parts.push(Part::Query(query)),
        Expr::InSubquery { operand: left, query, .. } | Expr::Quantified { left, query, .. } => {
            push(left);
            parts.push(Part::Query(query));
        }
        Expr::Assign { value, .. } | Expr::Interval { value, .. } => push(value),
        Expr::Unary { operand, .. }
        | Expr::Is { operand, .. }
        | Expr::ConvertUsing { operand, .. }
        | Expr::Collate { operand, .. }
        | Expr::Extract { operand, .. }
        | Expr::WeightString { operand, .. }
        | Expr::InLiterals { operand, .. }
        | Expr::JsonArrow { operand, .. } => push(operand),
        Expr::Deep(expr) => push(expr),
        Expr::Chain { first, rest } => {
            push(first);
            rest.iter_mut().for_each(|(_, operand)| push(operand));
        }
        Expr::Binary { left, right, .. } => [left, right].into_iter().for_each(|expr| push(expr)),
        Expr::And(list) | Expr::Or(list) | Expr::Row(list) | Expr::Grouping(list) => list.iter_mut().for_each(push),
        Expr::Between { operand, low, high, .. } => [operand, low, high].into_iter().for_each(|expr| push(expr)),
        Expr::InList { operand, list, .. } => {
            push(operand);
            list.iter_mut().for_each(push);
        }
        Expr::Like { operand, pattern, escape, .. } => {
            [operand, pattern].into_iter().for_each(|expr| push(expr));
            escape.iter_mut().for_each(|expr| push(expr));
        }
        Expr::Regexp { operand, pattern, .. } => [operand, pattern].into_iter().for_each(|expr| push(expr)),
        Expr::MemberOf { value, array } => [value, array].into_iter().for_each(|expr| push(expr)),
        Expr::Case { operand, branches, otherwise } => {
            [operand, otherwise].into_iter().flatten().for_each(|expr| push(expr));
            branches.iter_mut().flat_map(|branch| [&mut branch.when, &mut branch.then]).for_each(push);
        }
        Expr::Cast(cast) => push(&mut cast.operand),
        Expr::Function(call) => call.arguments.iter_mut().for_each(push),
        Expr::Aggregate(call) => push_aggregate(call, parts),
        Expr::Window(call) => {
            call.arguments.iter_mut().for_each(push);
            if let WindowReference::Specification(window) = &mut call.over {
                push_window(window, parts);
            }
        }
        Expr::Trim { remove, operand, .. } => {
            remove.iter_mut().for_each(|expr| push(expr));
            push(operand);
        }
        Expr::TimestampAdd { amount, operand, .. } => [amount, operand].into_iter().for_each(|expr| push(expr)),
        Expr::TimestampDiff { from, to, .. } => [from, to].into_iter().for_each(|expr| push(expr)),
        Expr::GetFormat { format, .. } => push(format),
        Expr::Char { arguments, .. } => arguments.iter_mut().for_each(push),
        Expr::Match { columns, against, .. } => {
            push(against);
            parts.extend(columns.iter_mut().map(Part::Column));
        }
        Expr::JsonValue(value) => {
            [&mut value.document, &mut value.path].into_iter().for_each(&mut push);
            for response in [&mut value.on_empty, &mut value.on_error].into_iter().flatten() {
                if let JsonResponse::Default(expr) = response {
                    push(expr);
                }
            }
        }
        Expr::Sequence { operation, .. } => {
            if let SequenceOperation::Set(arguments) = operation {
                arguments.iter_mut().for_each(push);
            }
        }
    }
}

fn push_aggregate<'a>(call: &'a mut AggregateCall, parts: &mut Vec<Part<'a>>) {
    parts.extend(call.arguments.iter_mut().map(Part::Expr));
    parts.extend(call.order_by.iter_mut().map(|item| Part::Expr(&mut item.expr)));
    if let Some(WindowReference::Specification(window)) = &mut call.over {
        push_window(window, parts);
    }
}

fn push_window<'a>(window: &'a mut WindowSpecification, parts: &mut Vec<Part<'a>>) {
    parts.extend(window.partition_by.iter_mut().map(Part::Expr));
    parts.extend(window.order_by.iter_mut().map(|item| Part::Expr(&mut item.expr)));
    if let Some(frame) = &mut window.frame {
        for bound in [Some(&mut frame.start), frame.end.as_mut()].into_iter().flatten() {
            if let FrameBound::Preceding(expr) | FrameBound::Following(expr) = bound {
                parts.push(Part::Expr(expr));
            }
        }
    }
}
