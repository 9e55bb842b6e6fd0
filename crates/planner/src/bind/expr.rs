//! Expressions.

use super::block::Aggregate;
use super::context::{Context, Frame, display_name};
use super::literal::{bind_literal, bind_negative};
use super::scope::{Clause, Found};
use super::special_call::Identity;
use super::types::interval_unit;
use squall_catalog::name::eq_ignore_case;
use squall_functions::aggregate::{AggregateCall, GroupConcatOptions};
use squall_functions::build::{ArithmeticOp, CastTarget, InConstant};
use squall_functions::expr::{BoundExpr, Call, CompareOp, with_value_of};
use squall_functions::operators::bits::BitOp;
use squall_parser::ast;
use squall_registry::{AggregateFunction, Coercibility, ExprType, Volatility};
use squall_types::{Charset, CollationId, ErrorCode, SqlError, SqlMode, SqlResult, SqlType, Value};
use std::sync::Arc;

impl Context<'_> {
    /// Binds an expression that gives one value.
    pub fn bind_expr(&mut self, expr: &ast::Expr) -> SqlResult<BoundExpr> {
        self.binder.context.kill.check()?;
        if let Some((_, name)) = self.binder.source_subqueries.iter().find(|(subquery, _)| subquery == expr) {
            return self.bind_column(name);
        }
        match expr {
            ast::Expr::Literal(literal) => bind_literal(&self.binder.builder(), literal),
            ast::Expr::Column(name) => self.bind_column(name),
            ast::Expr::Placeholder(number) => Ok(self.bind_parameter(*number)),
            ast::Expr::UserVariable(name) => self.bind_user_variable(name),
            ast::Expr::Assign { variable, value } => self.bind_assignment(variable, value),
            ast::Expr::SystemVariable(variable) => self.bind_system_variable(variable),
            ast::Expr::Unary { op, operand } => self.bind_unary(*op, operand),
            ast::Expr::Binary { op, left, right } => self.bind_binary(*op, left, right),
            ast::Expr::Deep(expr) => ast::with_stack(|| Ok(self.bind_expr(expr)?.compacted())),
            ast::Expr::Chain { first, rest } => self.bind_chain(first, rest),
            ast::Expr::And(parts) => self.bind_conditions(parts).map(|parts| self.binder.builder().and(parts)),
            ast::Expr::Or(parts) => self.bind_conditions(parts).map(|parts| self.binder.builder().or(parts)),
            ast::Expr::Is { operand, test, negated } => self.bind_is(operand, *test, *negated),
            ast::Expr::Between { operand, low, high, negated } => self.bind_between(operand, low, high, *negated),
            ast::Expr::InList { operand, list, negated } => self.bind_in_list(operand, list, *negated),
            ast::Expr::InLiterals { operand, list, negated } => self.bind_in_literals(operand, list, *negated),
            ast::Expr::InSubquery { operand, query, negated } => self.bind_in_subquery(operand, query, *negated),
            ast::Expr::Quantified { op, quantifier, left, query } => {
                self.bind_comparison_to_all(*op, *quantifier, left, query)
            }
            ast::Expr::Exists(query) => self.bind_exists(query),
            ast::Expr::Subquery(query) => self.one_column(query),
            ast::Expr::Row(values) => match &values[..] {
                [value] => self.bind_expr(value),
                _ => Err(SqlError::new(ErrorCode::OperandColumns, &[&1])),
            },
            ast::Expr::Like { operand, pattern, escape, negated } => {
                self.bind_like(operand, pattern, escape.as_deref(), *negated)
            }
            ast::Expr::Regexp { operand, pattern, negated } => self.bind_regexp(operand, pattern, *negated),
            ast::Expr::Case { operand, branches, otherwise } => {
                self.bind_case(operand.as_deref(), branches, otherwise.as_deref())
            }
            ast::Expr::Cast(cast) => self.bind_cast(cast),
            ast::Expr::ConvertUsing { operand, charset } => self.bind_convert_using(operand, charset),
            ast::Expr::Collate { operand, collation } => self.bind_collate(operand, collation),
            ast::Expr::Interval { .. } => Err(SqlError::new(ErrorCode::WrongUsage, &[&"INTERVAL", &"this expression"])),
            ast::Expr::Aggregate(call) => self.bind_aggregate(call),
            ast::Expr::Window(call) => self.bind_window_call(call),
            ast::Expr::Grouping(args) => self.bind_grouping(args),
            ast::Expr::Match { columns, against, mode } => self.bind_match(columns, against, *mode),
            ast::Expr::Default => Err(SqlError::new(ErrorCode::WrongUsage, &[&"DEFAULT", &"this expression"])),
            ast::Expr::DefaultOf(name) => self.bind_default_of(name),
            ast::Expr::InsertValue(name) => self.bind_insert_value(name),
            ast::Expr::Sequence { operation, sequence } => self.bind_sequence(operation, sequence),
            other => self.bind_special_call(other),
        }
    }

    fn bind_system_variable(&mut self, variable: &ast::SystemVariable) -> SqlResult<BoundExpr> {
        let (value, sql_type) = self.binder.tables.system_variable(variable)?;
        self.is_told_by_text = false;
        Ok(literal_of(value, sql_type))
    }

    fn bind_is(&mut self, operand: &ast::Expr, test: ast::IsTest, negated: bool) -> SqlResult<BoundExpr> {
        let operand = self.bind_compared(operand)?;
        let builder = self.binder.builder();
        Ok(match test {
            ast::IsTest::Null | ast::IsTest::Unknown => builder.is_null(operand, negated),
            ast::IsTest::True => builder.is_truth(operand, true, negated),
            ast::IsTest::False => builder.is_truth(operand, false, negated),
        })
    }

    fn bind_between(
        &mut self,
        operand: &ast::Expr,
        low: &ast::Expr,
        high: &ast::Expr,
        negated: bool,
    ) -> SqlResult<BoundExpr> {
        let (operand, low, high) = (self.bind_compared(operand)?, self.bind_expr(low)?, self.bind_expr(high)?);
        self.binder.builder().between(operand, low, high, negated)
    }

    fn bind_in_subquery(&mut self, operand: &ast::Expr, query: &ast::Query, negated: bool) -> SqlResult<BoundExpr> {
        let operands = self.bind_row(operand)?;
        let (op, all) = if negated { (CompareOp::NotEqual, true) } else { (CompareOp::Equal, false) };
        self.bind_quantified(operands, op, all, query)
    }

    /// `left op ANY (query)`, `left op ALL (query)`.
    fn bind_comparison_to_all(
        &mut self,
        op: ast::BinaryOp,
        quantifier: ast::Quantifier,
        left: &ast::Expr,
        query: &ast::Query,
    ) -> SqlResult<BoundExpr> {
        let operands = self.bind_row(left)?;
        let all = quantifier == ast::Quantifier::All;
        // Of rows there are only the comparisons that are IN and NOT IN.
        let is_in = matches!((op, all), (ast::BinaryOp::Equal, false) | (ast::BinaryOp::NotEqual, true));
        if operands.len() > 1 && !is_in {
            return Err(SqlError::new(ErrorCode::OperandColumns, &[&1]));
        }
        let op = comparison(op).ok_or_else(|| SqlError::internal("ANY and ALL take a comparison"))?;
        self.bind_quantified(operands, op, all, query)
    }

    fn bind_like(
        &mut self,
        operand: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        negated: bool,
    ) -> SqlResult<BoundExpr> {
        let (operand, pattern) = (self.bind_expr(operand)?, self.bind_expr(pattern)?);
        let escape = escape.map(|escape| self.bind_expr(escape)).transpose()?;
        self.binder.builder().like(operand, pattern, escape, negated)
    }

    fn bind_regexp(&mut self, operand: &ast::Expr, pattern: &ast::Expr, negated: bool) -> SqlResult<BoundExpr> {
        let (operand, pattern) = (self.bind_expr(operand)?, self.bind_expr(pattern)?);
        self.binder.builder().regexp(operand, pattern, negated)
    }

    fn bind_convert_using(&mut self, operand: &ast::Expr, charset: &str) -> SqlResult<BoundExpr> {
        let operand = self.bind_expr(operand)?;
        let target = match Charset::named(charset)?.default_collation() {
            collation if collation == squall_types::CollationId::BINARY => CastTarget::Binary { length: None },
            collation => CastTarget::Char { length: None, collation },
        };
        self.binder.builder().cast(operand, &target)
    }

    fn bind_collate(&mut self, operand: &ast::Expr, collation: &str) -> SqlResult<BoundExpr> {
        let operand = self.bind_expr(operand)?;
        self.binder.builder().collate(operand, CollationId::named(collation)?)
    }

    /// Binds an expression that is asked for its truth.
    pub fn bind_condition(&mut self, expr: &ast::Expr) -> SqlResult<BoundExpr> {
        let bound = match expr {
            ast::Expr::Is { operand, test: ast::IsTest::Null, negated: false } => self.bind_null_condition(operand)?,
            _ => self.bind_expr(expr)?,
        };
        Ok(self.binder.builder().condition(bound))
    }

    /// `operand IS NULL` where it decides about rows: of a DATE or DATETIME that is NOT NULL it also finds `0000-00-00`.
    fn bind_null_condition(&mut self, operand: &ast::Expr) -> SqlResult<BoundExpr> {
        let operand = self.bind_compared(operand)?;
        let builder = self.binder.builder();
        let chooses_rows = self.frames.last().is_some_and(|frame| matches!(frame.clause, Clause::Where | Clause::On));
        let is_date = matches!(operand.sql_type(), SqlType::Date | SqlType::DateTime { .. });
        if !chooses_rows || !is_date || operand.nullable() || !matches!(operand, BoundExpr::Column(_)) {
            return Ok(builder.is_null(operand, false));
        }
        let zero = builder.literal(Value::Date(squall_types::Date::default()));
        let is_zero = builder.compare(CompareOp::Equal, operand.clone(), zero)?;
        Ok(builder.or(vec![builder.is_null(operand, false), is_zero]))
    }

    fn bind_conditions(&mut self, parts: &[ast::Expr]) -> SqlResult<Vec<BoundExpr>> {
        parts.iter().map(|part| self.bind_condition(part)).collect()
    }

    /// Binds the values of a row: of `(a, b)`, of a subquery, or of one value.
    pub fn bind_row(&mut self, expr: &ast::Expr) -> SqlResult<Vec<BoundExpr>> {
        match expr {
            ast::Expr::Row(values) => values.iter().map(|value| self.bind_expr(value)).collect(),
            ast::Expr::Subquery(query) => self.bind_scalar_subquery(query),
            other => Ok(vec![self.bind_expr(other)?]),
        }
    }

    /// Binds the values of a row that is compared with another one; rows inside of a row stand across from rows of as many columns.
    fn bind_row_like(&mut self, expr: &ast::Expr, other: &ast::Expr) -> SqlResult<Vec<BoundExpr>> {
        let columns = |expr: &ast::Expr| match expr {
            ast::Expr::Row(values) => values.len(),
            _ => 1,
        };
        let (ast::Expr::Row(values), ast::Expr::Row(others)) = (expr, other) else {
            if !matches!((expr, other), (ast::Expr::Subquery(_), _) | (_, ast::Expr::Subquery(_))) {
                super::context::check_columns(columns(expr), columns(other))?;
            }
            return self.bind_row(expr);
        };
        super::context::check_columns(values.len(), others.len())?;
        let mut bound = Vec::with_capacity(values.len());
        for (value, other) in values.iter().zip(others) {
            if columns(value) > 1 || columns(other) > 1 {
                bound.append(&mut self.bind_row_like(value, other)?);
            } else {
                bound.push(self.bind_expr(value)?);
            }
        }
        Ok(bound)
    }

    fn one_column(&mut self, query: &ast::Query) -> SqlResult<BoundExpr> {
        let mut values = self.bind_scalar_subquery(query)?;
        match (values.pop(), values.is_empty()) {
            (Some(value), true) => Ok(value),
            _ => Err(SqlError::new(ErrorCode::OperandColumns, &[&1])),
        }
    }

    fn bind_column(&mut self, name: &ast::ColumnName) -> SqlResult<BoundExpr> {
        if name.table.is_none()
            && let Some(variable) = self.binder.tables.local_variable(&name.column)
        {
            self.is_told_by_text = false;
            return Ok(variable);
        }
        if let (None, Some(row)) = (&name.schema, &name.table)
            && let Some(value) = self.binder.tables.row_column(row, &name.column)
        {
            self.is_told_by_text = false;
            return Ok(value);
        }
        let (clause, in_aggregate) = match self.frames.last() {
            Some(frame) => (frame.clause, frame.in_aggregate),
            None => (Clause::FieldList, false),
        };
        if clause == Clause::Having
            && !in_aggregate
            && let Some(found) = self.having_column(name)?
        {
            return Ok(found);
        }
        if let Some(found) = self.resolve(name)? {
            if clause == Clause::Having && !in_aggregate && self.is_own_ungrouped(&found) {
                // What HAVING may not name in its own block it may find in one around it.
                let around = self.frames.len() - 1;
                let found = self.resolve_within(name, around)?;
                return found.ok_or_else(|| SqlError::new(ErrorCode::BadField, &[&display_name(name), &clause]));
            }
            return Ok(found);
        }
        // Inside an expression of ORDER BY or GROUP BY an alias comes after the columns of FROM.
        if matches!(clause, Clause::Order | Clause::Group)
            && name.table.is_none()
            && let Some(frame) = self.frames.last()
            && let Some((_, expr)) = frame.aliases.iter().find(|(alias, _)| eq_ignore_case(alias, &name.column))
        {
            let expr = expr.clone();
            if clause == Clause::Group && self.is_of_groups(&expr)? {
                let why = "reference to group function";
                return Err(SqlError::new(ErrorCode::IllegalReference, &[&name.column.as_str(), &why]));
            }
            return Ok(expr);
        }
        Err(self.unknown_column(name, clause))
    }

    /// A column of an unknown table is an unknown column, but where there are no tables at all.
    fn unknown_column(&self, name: &ast::ColumnName, clause: Clause) -> SqlError {
        let Some(table) = &name.table else {
            return SqlError::new(ErrorCode::BadField, &[&display_name(name), &clause]);
        };
        if clause == Clause::Column || self.frames.iter().any(|frame| !frame.scope.relations.is_empty()) {
            return SqlError::new(ErrorCode::BadField, &[&display_name(name), &clause]);
        }
        match &name.schema {
            Some(schema) => SqlError::new(
                ErrorCode::UnknownTable,
                &[&format_args!("{}.{}", schema.as_str(), table.as_str()), &clause],
            ),
            None => SqlError::new(ErrorCode::UnknownTable, &[&table.as_str(), &clause]),
        }
    }

    /// HAVING sees GROUP BY's columns, then the select list's names.
    fn having_column(&self, name: &ast::ColumnName) -> SqlResult<Option<BoundExpr>> {
        let Some(frame) = self.frames.last() else { return Ok(None) };
        let (database, table) = (name.schema.as_deref(), name.table.as_deref());
        if let Found::One(id) = frame.scope.find(database, table, &name.column) {
            let column = self.columns.expr(id);
            if frame.group.contains(&column) {
                return Ok(Some(column));
            }
            if table.is_some() {
                let selected = frame.aliases.iter().any(|(_, expr)| *expr == column);
                return Ok(selected.then_some(column));
            }
        }
        if table.is_some() {
            return Ok(None);
        }
        let mut named = frame.aliases.iter().filter(|(alias, _)| eq_ignore_case(alias, &name.column));
        let Some((_, first)) = named.next() else { return Ok(None) };
        if named.any(|(_, other)| other != first) {
            return Err(SqlError::new(ErrorCode::NonUniqueColumn, &[&display_name(name), &Clause::Having]));
        }
        Ok(Some(first.clone()))
    }

    /// Whether an expression is a column of the block itself that HAVING may not name.
    fn is_own_ungrouped(&self, expr: &BoundExpr) -> bool {
        let Some(frame) = self.frames.last() else { return false };
        matches!(expr, BoundExpr::Column(column) if !self.is_outer(column.ordinal, frame.scope.block))
    }

    fn bind_unary(&mut self, op: ast::UnaryOp, operand: &ast::Expr) -> SqlResult<BoundExpr> {
        if let (ast::UnaryOp::Minus, ast::Expr::Literal(literal)) = (op, operand) {
            return bind_negative(&self.binder.builder(), literal);
        }
        let bound = self.bind_expr(operand)?;
        let builder = self.binder.builder();
        match op {
            ast::UnaryOp::Minus => builder.negate(bound),
            ast::UnaryOp::Plus => Ok(bound),
            ast::UnaryOp::Not => Ok(builder.not(builder.condition(bound))),
            ast::UnaryOp::BitNot => builder.bit_not(bound),
            ast::UnaryOp::Binary => builder.cast(bound, &CastTarget::Binary { length: None }),
        }
    }

    fn bind_binary(&mut self, op: ast::BinaryOp, left: &ast::Expr, right: &ast::Expr) -> SqlResult<BoundExpr> {
        use ast::BinaryOp as Op;
        if let Some(compare) = comparison(op) {
            return self.bind_comparison(compare, left, right);
        }
        if let (Op::Add | Op::Subtract, ast::Expr::Interval { value, unit }) = (op, right) {
            return self.bind_interval(left, value, *unit, op == Op::Subtract);
        }
        if let (Op::Add, ast::Expr::Interval { value, unit }) = (op, left) {
            return self.bind_interval(right, value, *unit, false);
        }
        let left = self.bind_expr(left)?;
        self.bind_operator(op, left, right)
    }

    /// Binds many operators that associate to the left. The result of the operators before is one value for those after, so that
    /// the expression is only as deep as a part of the chain.
    fn bind_chain(&mut self, first: &ast::Expr, rest: &[(ast::BinaryOp, ast::Expr)]) -> SqlResult<BoundExpr> {
        /// Operators of a part.
        const PART: usize = 64;
        if rest.iter().all(|(op, _)| *op == ast::BinaryOp::Concat) {
            let operands = std::iter::once(first).chain(rest.iter().map(|(_, operand)| operand));
            let operands = operands.map(|operand| self.bind_expr(operand)).collect::<SqlResult<Vec<_>>>()?;
            return self.binder.builder().call("CONCAT", operands);
        }
        let (mut value, rest) = match (first, rest) {
            (ast::Expr::Interval { .. }, [(op, second), rest @ ..]) => (self.bind_binary(*op, first, second)?, rest),
            _ => (self.bind_expr(first)?, rest),
        };
        for part in rest.chunks(PART) {
            value = with_value_of(value.compacted(), |value| {
                part.iter().try_fold(value, |left, (op, right)| match right {
                    ast::Expr::Interval { value, unit } => {
                        self.bind_bound_interval(left, value, *unit, *op == ast::BinaryOp::Subtract)
                    }
                    right => self.bind_operator(*op, left, right),
                })
            })?;
        }
        Ok(value)
    }

    /// Binds an operator that is no comparison, behind its left side.
    fn bind_operator(&mut self, op: ast::BinaryOp, left: BoundExpr, right: &ast::Expr) -> SqlResult<BoundExpr> {
        use ast::BinaryOp as Op;
        let right = self.bind_expr(right)?;
        let builder = self.binder.builder();
        match op {
            Op::Add => builder.arithmetic(ArithmeticOp::Add, left, right),
            Op::Subtract => builder.arithmetic(ArithmeticOp::Subtract, left, right),
            Op::Multiply => builder.arithmetic(ArithmeticOp::Multiply, left, right),
            Op::Divide => builder.arithmetic(ArithmeticOp::Divide, left, right),
            Op::IntegerDivide => builder.arithmetic(ArithmeticOp::IntegerDivide, left, right),
            Op::Modulo => builder.arithmetic(ArithmeticOp::Modulo, left, right),
            Op::BitAnd => builder.bit_operation(BitOp::And, left, right),
            Op::BitOr => builder.bit_operation(BitOp::Or, left, right),
            Op::BitXor => builder.bit_operation(BitOp::Xor, left, right),
            Op::ShiftLeft => builder.bit_operation(BitOp::ShiftLeft, left, right),
            Op::ShiftRight => builder.bit_operation(BitOp::ShiftRight, left, right),
            Op::Xor => Ok(builder.xor(builder.condition(left), builder.condition(right))),
            Op::Concat => builder.call("CONCAT", vec![left, right]),
            Op::SoundsLike => {
                let (left, right) = (builder.call("SOUNDEX", vec![left])?, builder.call("SOUNDEX", vec![right])?);
                builder.compare(CompareOp::Equal, left, right)
            }
            _ => Err(SqlError::internal("a comparison was bound before")),
        }
    }

    fn bind_comparison(&mut self, op: CompareOp, left: &ast::Expr, right: &ast::Expr) -> SqlResult<BoundExpr> {
        let is_row = |expr: &ast::Expr| matches!(expr, ast::Expr::Row(values) if values.len() > 1);
        if is_row(left) || is_row(right) {
            let (left, right) = (self.bind_row_like(left, left)?, self.bind_row_like(right, left)?);
            super::context::check_columns(right.len(), left.len())?;
            return self.compare_rows(op, left, right);
        }
        if let (ast::Expr::Subquery(_), ast::Expr::Subquery(_)) = (left, right) {
            let (left, right) = (self.bind_row(left)?, self.bind_row(right)?);
            super::context::check_columns(right.len(), left.len())?;
            return self.compare_rows(op, left, right);
        }
        let (left, right) = (self.bind_compared(left)?, self.bind_compared(right)?);
        if op == CompareOp::Equal {
            for (text, constant) in [(&left, &right), (&right, &left)] {
                if let Some(keyed) = self.keyed_text(text, constant)? {
                    return Ok(keyed);
                }
            }
        }
        self.binder.builder().compare(op, left, right)
    }

    /// Binds what is compared: perhaps the expression of a key.
    fn bind_compared(&mut self, expr: &ast::Expr) -> SqlResult<BoundExpr> {
        let bound = self.bind_expr(expr)?;
        Ok(self.keyed_operand(bound))
    }

    /// Binds `base ± INTERVAL value unit`.
    pub fn bind_interval(
        &mut self,
        base: &ast::Expr,
        value: &ast::Expr,
        unit: ast::IntervalUnit,
        subtract: bool,
    ) -> SqlResult<BoundExpr> {
        let base = self.bind_expr(base)?;
        self.bind_bound_interval(base, value, unit, subtract)
    }

    fn bind_bound_interval(
        &mut self,
        base: BoundExpr,
        value: &ast::Expr,
        unit: ast::IntervalUnit,
        subtract: bool,
    ) -> SqlResult<BoundExpr> {
        let value = self.bind_expr(value)?;
        self.binder.builder().add_interval(base, value, interval_unit(unit), subtract)
    }

    fn bind_in_list(&mut self, operand: &ast::Expr, list: &[ast::Expr], negated: bool) -> SqlResult<BoundExpr> {
        let operands = self.bind_row_like(operand, operand)?;
        if let [single] = operands.as_slice() {
            let operand = self.keyed_operand(single.clone());
            let list = list.iter().map(|item| self.bind_expr(item)).collect::<SqlResult<Vec<_>>>()?;
            return self.binder.builder().in_list(operand, list, negated);
        }
        let rows = list
            .iter()
            .map(|item| {
                let row = self.bind_row_like(item, operand)?;
                super::context::check_columns(row.len(), operands.len())?;
                Ok(row)
            })
            .collect::<SqlResult<Vec<_>>>()?;
        self.binder.builder().in_rows(operands, rows, negated)
    }

    /// IN a list that is too long for an expression for each item.
    fn bind_in_literals(
        &mut self,
        operand: &ast::Expr,
        list: &ast::PackedValues,
        negated: bool,
    ) -> SqlResult<BoundExpr> {
        let mut operands = self.bind_row(operand)?;
        super::context::check_columns(1, operands.len())?;
        let operand = self.keyed_operand(operands.remove(0));
        let builder = self.binder.builder();
        let mut reader = list.reader();
        let literals = std::iter::from_fn(|| {
            if let Some(number) = reader.next_integer() {
                return Some(Ok(InConstant::Integer(number)));
            }
            let literal = match reader.next_value()? {
                ast::PackedValue::Leaf(ast::Expr::Literal(literal)) => bind_literal(&builder, &literal),
                ast::PackedValue::Leaf(ast::Expr::Unary { operand, .. }) => match *operand {
                    ast::Expr::Literal(literal) => bind_negative(&builder, &literal),
                    _ => return None,
                },
                _ => return None,
            };
            Some(literal.map(InConstant::Literal))
        });
        builder.in_constants(operand, literals, negated)
    }

    fn bind_case(
        &mut self,
        operand: Option<&ast::Expr>,
        branches: &[ast::CaseBranch],
        otherwise: Option<&ast::Expr>,
    ) -> SqlResult<BoundExpr> {
        let operand = operand.map(|operand| self.bind_expr(operand)).transpose()?;
        let branches = branches
            .iter()
            .map(|branch| Ok((self.bind_expr(&branch.when)?, self.bind_expr(&branch.then)?)))
            .collect::<SqlResult<Vec<_>>>()?;
        let otherwise = otherwise.map(|otherwise| self.bind_expr(otherwise)).transpose()?;
        self.binder.builder().case(operand, branches, otherwise)
    }

    fn bind_cast(&mut self, cast: &ast::Cast) -> SqlResult<BoundExpr> {
        if cast.array {
            return Err(SqlError::unsupported(super::types::ARRAY_CAST));
        }
        let operand = self.bind_expr(&cast.operand)?;
        if let ast::CastType::Geometry(kind) = &cast.target {
            let kind = super::types::geometry_kind(*kind);
            let args = vec![operand, super::spatial_key::text(kind.type_name())];
            return self.binder.builder().call("SPATIAL_CAST", args);
        }
        let target = super::types::cast_target(&cast.target, self.binder.context.settings.collation)?;
        // Digits are the number that they are; a binary string with the same bytes is a text of digits.
        let is_number = matches!(
            cast.operand.peeled(),
            ast::Expr::Literal(ast::Literal::Hex { introducer: None, .. } | ast::Literal::Bit { introducer: None, .. })
        );
        let operand = match is_number && target.is_number() {
            true => self.binder.builder().bytes_as_number(operand),
            false => operand,
        };
        match &cast.time_zone {
            None => self.binder.builder().cast(operand, &target),
            Some(_) => Err(SqlError::unsupported("AT TIME ZONE")),
        }
    }

    /// Binds a call of an aggregate. Where its arguments read only an outer block's columns it is that block's.
    fn bind_aggregate(&mut self, call: &ast::AggregateCall) -> SqlResult<BoundExpr> {
        let name = aggregate_name(call.function);
        if let Some(over) = &call.over {
            return self.bind_window_aggregate(name, call, over);
        }
        let bound = self.inside_aggregate(|context| context.aggregate_call(name, call))?;
        self.add_aggregate(bound)
    }

    /// Binds a call of an aggregate that a module declares, which the grammar does not know.
    pub fn bind_module_aggregate(&mut self, name: &str, arguments: &[ast::Expr]) -> SqlResult<BoundExpr> {
        let bound = self.inside_aggregate(|context| {
            let args = arguments.iter().map(|arg| context.bind_expr(arg)).collect::<SqlResult<Vec<_>>>()?;
            context.binder.builder().aggregate(name, args, false)
        })?;
        self.add_aggregate(bound)
    }

    /// Binds a call of a stored aggregate function.
    pub fn bind_stored_aggregate(
        &mut self,
        function: &dyn AggregateFunction,
        call: &ast::FunctionCall,
    ) -> SqlResult<BoundExpr> {
        let bound = self.inside_aggregate(|context| {
            let args = call.arguments.iter().map(|arg| context.bind_expr(arg)).collect::<SqlResult<Vec<_>>>()?;
            context.binder.builder().call_stored_aggregate(function, args, call.distinct)
        })?;
        self.add_aggregate(bound)
    }

    /// Binds what stands inside of an aggregate, where no other of the same block may.
    fn inside_aggregate<T>(&mut self, f: impl FnOnce(&mut Self) -> SqlResult<T>) -> SqlResult<T> {
        let frame = self.frame()?;
        let windows_allowed = std::mem::replace(&mut frame.windows_allowed, false);
        let in_aggregate = std::mem::replace(&mut frame.in_aggregate, true);
        let bound = f(self);
        let frame = self.frame()?;
        frame.in_aggregate = in_aggregate;
        frame.windows_allowed = windows_allowed;
        bound
    }

    /// Gives an aggregate to the block that it belongs to; the result is the column that stands for it.
    fn add_aggregate(&mut self, call: Arc<AggregateCall>) -> SqlResult<BoundExpr> {
        let at = self.aggregate_owner(&call.args);
        let owner = &self.frames[at];
        if !owner.aggregates_allowed || owner.in_aggregate {
            return Err(SqlError::new(ErrorCode::InvalidGroupFuncUse, &[]));
        }
        if let Some(known) = owner.aggregates.iter().find(|known| known.call == call) {
            return Ok(self.columns.expr(known.id));
        }
        let id = self.columns.add_computed(owner.scope.block, &call.to_string(), call.ty.clone());
        self.frames[at].aggregates.push(Aggregate { id, call });
        Ok(self.columns.expr(id))
    }

    /// Binds an aggregate call's arguments and types it.
    pub fn aggregate_call(&mut self, name: &str, call: &ast::AggregateCall) -> SqlResult<Arc<AggregateCall>> {
        let args = call.arguments.iter().map(|arg| self.bind_expr(arg)).collect::<SqlResult<Vec<_>>>()?;
        if call.function != ast::AggregateFunction::GroupConcat {
            return self.binder.builder().aggregate(name, args, call.distinct);
        }
        let order_by = call
            .order_by
            .iter()
            .map(|item| {
                let expr = match super::block::position_of(&item.expr) {
                    Some(position) => args
                        .get(position.wrapping_sub(1))
                        .cloned()
                        .ok_or_else(|| SqlError::new(ErrorCode::BadField, &[&position, &Clause::Order]))?,
                    None => self.bind_expr(&item.expr)?,
                };
                Ok((expr, item.descending))
            })
            .collect::<SqlResult<Vec<_>>>()?;
        let limit = match &call.limit {
            None => None,
            Some(limit) => {
                let limit = self.bind_limit(limit)?;
                Some((limit.offset, limit.count.unwrap_or(u64::MAX)))
            }
        };
        let separator = call.separator.as_ref().map(|separator| separator.to_str_lossy().into_owned());
        let options = GroupConcatOptions { distinct: call.distinct, order_by, separator, limit };
        self.binder.builder().group_concat(args, options)
    }

    /// The block that an aggregate belongs to: the innermost one whose columns it reads. Where that allows none, as in WHERE, it is the
    /// nearest block around the aggregate that does, or else its own.
    fn aggregate_owner(&self, args: &[BoundExpr]) -> usize {
        let own = self.frames.len() - 1;
        let mut blocks = Vec::new();
        for arg in args {
            arg.visit(&mut |node| {
                if let BoundExpr::Column(column) = node {
                    let is_aggregate = |frame: &Frame| frame.aggregates.iter().any(|known| known.id == column.ordinal);
                    if !self.frames.iter().any(is_aggregate) {
                        blocks.push(self.columns.get(column.ordinal).block);
                    }
                }
            });
        }
        let read = (0..=own).rev().find(|depth| blocks.contains(&self.frames[*depth].scope.block));
        let allowed = |depth: &usize| self.frames[*depth].aggregates_allowed;
        match read {
            Some(depth) if depth == own || allowed(&depth) => depth,
            Some(depth) => {
                let between = (depth + 1..own).rev().find(allowed);
                // Standard SQL knows no other block than the one whose columns it reads.
                let standard = self.binder.context.settings.sql_mode.contains(SqlMode::ANSI);
                between.unwrap_or(if standard { depth } else { own })
            }
            None if allowed(&own) => own,
            None => (0..own).rev().find(allowed).unwrap_or(own),
        }
    }

    fn bind_grouping(&mut self, args: &[ast::Expr]) -> SqlResult<BoundExpr> {
        if matches!(self.clause(), Clause::Where | Clause::On | Clause::Group) {
            return Err(SqlError::new(ErrorCode::InvalidGroupFuncUse, &[]));
        }
        let bound = args.iter().map(|arg| self.bind_expr(arg)).collect::<SqlResult<Vec<_>>>()?;
        let block = self.frame()?.scope.block;
        let ty = ExprType::numeric(SqlType::BIGINT, false);
        let id = self.columns.add_computed(block, "grouping", ty);
        self.frame()?.groupings.push((id, bound));
        Ok(self.columns.expr(id))
    }

    fn bind_default_of(&mut self, name: &ast::ColumnName) -> SqlResult<BoundExpr> {
        let bound = self.bind_column(name)?;
        let BoundExpr::Column(column) = &bound else {
            return Err(self.unknown_column(name, self.clause()));
        };
        let origin = self.columns.get(column.ordinal).origin.clone();
        let Some((table, ordinal)) = origin.and_then(|origin| origin.base.clone()) else {
            return Err(SqlError::new(ErrorCode::NoDefaultForField, &[&name.column.as_str()]));
        };
        let definition = &table.columns[ordinal];
        let value = match &definition.default {
            squall_catalog::ColumnDefault::Literal(value) => BoundExpr::Literal(value.clone(), column.ty.clone()),
            squall_catalog::ColumnDefault::None if definition.nullable => {
                BoundExpr::Literal(Value::Null, ExprType { nullable: true, ..column.ty.clone() })
            }
            squall_catalog::ColumnDefault::None if definition.auto_increment => {
                BoundExpr::Literal(Value::Int(0), column.ty.clone())
            }
            squall_catalog::ColumnDefault::Now => self.binder.builder().call("NOW", Vec::new())?,
            squall_catalog::ColumnDefault::Expression(_) => {
                return Err(SqlError::new(ErrorCode::DefaultAsValueGenerated, &[]));
            }
            _ => return Err(SqlError::new(ErrorCode::NoDefaultForField, &[&definition.name])),
        };
        // The column stays in the expression: its default is shown to accounts that may read it.
        let ty = value.ty();
        let call = Call::new("DEFAULT", Arc::new(Identity), vec![value, bound.clone()], ty, Volatility::Immutable);
        Ok(BoundExpr::call(call))
    }

    fn bind_insert_value(&mut self, name: &ast::ColumnName) -> SqlResult<BoundExpr> {
        // Outside of ON DUPLICATE KEY UPDATE there is no row to insert, and VALUES() is NULL.
        let bound = self.bind_column(name)?;
        match self.binder.insert_values {
            None if !matches!(bound, BoundExpr::Column(_)) => Err(self.unknown_column(name, self.clause())),
            None => Ok(BoundExpr::Literal(Value::Null, ExprType { nullable: true, ..bound.ty() })),
            Some(table) => {
                let name =
                    ast::ColumnName { schema: None, table: Some(ast::Ident::new(table)), column: name.column.clone() };
                self.bind_column(&name)
            }
        }
    }
}

/// Microseconds from one moment to another.
pub(crate) fn micros_between(
    context: &Context<'_>,
    unit: BoundExpr,
    from: BoundExpr,
    to: BoundExpr,
) -> SqlResult<BoundExpr> {
    context.binder.builder().call("TIMESTAMPDIFF", vec![unit, from, to])
}

/// A number or text as the text of an interval.
pub(crate) fn value_text(value: &Value) -> Option<String> {
    match value {
        Value::Int(number) => Some(number.to_string()),
        Value::UInt(number) => Some(number.to_string()),
        Value::Double(number) => Some(number.to_string()),
        Value::Decimal(number) => Some(number.to_string()),
        Value::String(text) => Some(text.clone()),
        _ => None,
    }
}

/// The comparison that an operator is.
fn comparison(op: ast::BinaryOp) -> Option<CompareOp> {
    Some(match op {
        ast::BinaryOp::Equal => CompareOp::Equal,
        ast::BinaryOp::NullSafeEqual => CompareOp::NullSafeEqual,
        ast::BinaryOp::NotEqual => CompareOp::NotEqual,
        ast::BinaryOp::Less => CompareOp::Less,
        ast::BinaryOp::LessOrEqual => CompareOp::LessOrEqual,
        ast::BinaryOp::Greater => CompareOp::Greater,
        ast::BinaryOp::GreaterOrEqual => CompareOp::GreaterOrEqual,
        _ => return None,
    })
}

/// A constant of a known type.
pub(crate) fn literal_of(value: Value, sql_type: SqlType) -> BoundExpr {
    let coercibility = match sql_type.collation() {
        Some(_) => Coercibility::SystemConstant,
        None => Coercibility::Numeric,
    };
    let nullable = value.is_null();
    BoundExpr::Literal(value, ExprType { sql_type, nullable, coercibility })
}

/// The name that the registry knows an aggregate of the grammar by.
pub(crate) fn aggregate_name(function: ast::AggregateFunction) -> &'static str {
    use ast::AggregateFunction as F;
    match function {
        F::Count => "COUNT",
        F::Sum => "SUM",
        F::Avg => "AVG",
        F::Min => "MIN",
        F::Max => "MAX",
        F::BitAnd => "BIT_AND",
        F::BitOr => "BIT_OR",
        F::BitXor => "BIT_XOR",
        F::GroupConcat => "GROUP_CONCAT",
        F::JsonArrayAgg => "JSON_ARRAYAGG",
        F::JsonObjectAgg => "JSON_OBJECTAGG",
        F::StddevPop => "STDDEV_POP",
        F::StddevSamp => "STDDEV_SAMP",
        F::VarPop => "VAR_POP",
        F::VarSamp => "VAR_SAMP",
        F::StCollect => "ST_COLLECT",
    }
}
