//! From conditions, bound or as DataFusion has them, to [`Predicate`]s.

use super::predicate::{CompareOp, Predicate};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use squall_catalog::TableDef;
use squall_functions::arrow_map::scalar_to_value;
use squall_functions::expr::{self, BoundExpr, CallUdf};
use squall_types::temporal::TimeZone;
use squall_types::{CollationId, DateTime, SqlType, Value};

/// What a table's filters say of its columns.
pub fn predicate_of(def: &TableDef, filters: &[Expr], zone: &TimeZone) -> Predicate {
    let reader = Reader { def, zone };
    Predicate::and(filters.iter().map(|filter| reader.condition(filter)))
}

/// What a bound condition says of a table's columns; `ordinal_of` tells which column of the table a reference is.
pub fn predicate_of_bound(
    def: &TableDef,
    condition: &BoundExpr,
    zone: &TimeZone,
    parameters: &[Value],
    ordinal_of: &dyn Fn(&expr::ColumnRef) -> Option<usize>,
) -> Predicate {
    BoundReader { reader: Reader { def, zone }, parameters, ordinal_of }.condition(condition)
}

struct Reader<'a> {
    def: &'a TableDef,
    zone: &'a TimeZone,
}

/// One side of a comparison.
enum Side {
    /// A column, compared by its own values or, for strings, by a collation.
    Column(usize, Option<CollationId>),
    /// A constant.
    Constant(Value),
    /// Anything else.
    Other,
}

impl Reader<'_> {
    fn column_type(&self, ordinal: usize) -> &SqlType {
        &self.def.columns[ordinal].sql_type
    }

    fn ordinal(&self, name: &str) -> Option<usize> {
        self.def.columns.iter().position(|column| column.name == name)
    }

    fn condition(&self, filter: &Expr) -> Predicate {
        match filter {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                Predicate::and([self.condition(left), self.condition(right)])
            }
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
                Predicate::or([self.condition(left), self.condition(right)])
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                let Some(op) = compare_op(*op) else { return Predicate::Unknown };
                self.comparison(op, left, right)
            }
            Expr::IsNull(operand) => self.plain_column(operand).map_or(Predicate::Unknown, Predicate::IsNull),
            Expr::IsNotNull(operand) => self.plain_column(operand).map_or(Predicate::Unknown, Predicate::IsNotNull),
            Expr::InList(list) if !list.negated => {
                let Side::Column(column, collation) = self.side(&list.expr, None) else { return Predicate::Unknown };
                let mut values = Vec::with_capacity(list.list.len());
                for item in &list.list {
                    match self.side(item, Some(column)) {
                        Side::Constant(value) => values.push(value),
                        _ => return Predicate::Unknown,
                    }
                }
                self.in_list(column, collation, &values)
            }
            Expr::Literal(ScalarValue::Boolean(Some(false) | None), _) => Predicate::Never,
            // A call as a condition stands as `call <> 0`; that of a bare call too.
            Expr::ScalarFunction(_) => self.call_condition(filter),
            _ => Predicate::Unknown,
        }
    }

    fn call_condition(&self, expr: &Expr) -> Predicate {
        let Some(call) = call_of(expr) else { return Predicate::Unknown };
        let ordinal_of = |column: &expr::ColumnRef| self.ordinal(&column.name);
        BoundReader { reader: Reader { def: self.def, zone: self.zone }, parameters: &[], ordinal_of: &ordinal_of }
            .condition(&BoundExpr::Call(call))
    }

    fn comparison(&self, op: CompareOrNot, left: &Expr, right: &Expr) -> Predicate {
        let op = match op {
            CompareOrNot::Compare(op) => op,
            // `call <> 0` is how a call stands as a condition.
            CompareOrNot::NotEqual => {
                return match right {
                    Expr::Literal(zero, _) if is_zero(zero) => self.call_condition(left),
                    _ => Predicate::Unknown,
                };
            }
        };
        match self.side(left, None) {
            Side::Column(column, collation) => match self.side(right, Some(column)) {
                Side::Constant(value) => self.compare(column, collation, op, value),
                _ => Predicate::Unknown,
            },
            _ => match self.side(right, None) {
                Side::Column(column, collation) => match self.side(left, Some(column)) {
                    Side::Constant(value) => self.compare(column, collation, op.swapped(), value),
                    _ => Predicate::Unknown,
                },
                _ => Predicate::Unknown,
            },
        }
    }

    fn compare(&self, column: usize, collation: Option<CollationId>, op: CompareOp, value: Value) -> Predicate {
        if !self.collates(column, collation) {
            return Predicate::Unknown;
        }
        let value = self.stored(column, value);
        Predicate::compare(column, self.column_type(column), op, &value)
    }

    fn in_list(&self, column: usize, collation: Option<CollationId>, values: &[Value]) -> Predicate {
        if !self.collates(column, collation) {
            return Predicate::Unknown;
        }
        let values: Vec<_> = values.iter().map(|value| self.stored(column, value.clone())).collect();
        Predicate::in_list(column, self.column_type(column), &values)
    }

    /// Whether a comparison by `collation` is one by the order of the column's keys.
    fn collates(&self, column: usize, collation: Option<CollationId>) -> bool {
        match self.column_type(column) {
            SqlType::String { collation: own, .. } => {
                collation == Some(*own) || (collation.is_none() && *own == CollationId::BINARY)
            }
            _ => collation.is_none(),
        }
    }

    /// A constant as the store has it: a TIMESTAMP in UTC.
    fn stored(&self, column: usize, value: Value) -> Value {
        match (self.column_type(column), value) {
            (SqlType::Timestamp { .. }, Value::DateTime(moment)) if !moment.is_zero() => {
                self.zone.to_utc(moment).map_or(Value::DateTime(moment), Value::DateTime)
            }
            (_, value) => value,
        }
    }

    fn plain_column(&self, expr: &Expr) -> Option<usize> {
        match expr {
            Expr::Column(column) => self.ordinal(&column.name),
            _ => None,
        }
    }

    /// What an operand is; `column` is the one it is compared with, whose type tells what an Arrow value means.
    fn side(&self, expr: &Expr, column: Option<usize>) -> Side {
        match expr {
            Expr::Column(column) => self.ordinal(&column.name).map_or(Side::Other, |ordinal| Side::Column(ordinal, None)),
            Expr::Literal(scalar, _) => {
                let Some(column) = column else { return Side::Other };
                scalar_value(scalar, self.column_type(column)).map_or(Side::Other, Side::Constant)
            }
            Expr::ScalarFunction(_) => match call_of(expr) {
                Some(call) => self.call_side(&call),
                None => Side::Other,
            },
            _ => Side::Other,
        }
    }

    fn call_side(&self, call: &expr::Call) -> Side {
        let [operand, ..] = call.args.as_slice() else { return Side::Other };
        if let Some(collation) = sort_key_collation(call) {
            return match operand {
                BoundExpr::Column(column) => {
                    self.ordinal(&column.name).map_or(Side::Other, |ordinal| Side::Column(ordinal, Some(collation)))
                }
                BoundExpr::Literal(value, _) => Side::Constant(value.clone()),
                _ => Side::Other,
            };
        }
        if let Some(BoundExpr::Column(column)) = widened(call)
            && let Some(ordinal) = self.ordinal(&column.name)
        {
            return Side::Column(ordinal, None);
        }
        Side::Other
    }
}

/// Reads bound conditions.
struct BoundReader<'a> {
    reader: Reader<'a>,
    parameters: &'a [Value],
    ordinal_of: &'a dyn Fn(&expr::ColumnRef) -> Option<usize>,
}

impl BoundReader<'_> {
    fn condition(&self, condition: &BoundExpr) -> Predicate {
        match condition {
            BoundExpr::And(parts) => Predicate::and(parts.iter().map(|part| self.condition(part))),
            BoundExpr::Or(parts) => Predicate::or(parts.iter().map(|part| self.condition(part))),
            BoundExpr::Literal(value, _) => match value {
                Value::Null | Value::Int(0) | Value::UInt(0) => Predicate::Never,
                _ => Predicate::Unknown,
            },
            BoundExpr::IsNull { operand, negated } => match self.column(operand) {
                Some(column) if *negated => Predicate::IsNotNull(column),
                Some(column) => Predicate::IsNull(column),
                None => Predicate::Unknown,
            },
            BoundExpr::Compare { op, left, right, collation } => {
                let Some(op) = bound_op(*op) else { return Predicate::Unknown };
                match (self.column(left), self.constant(right)) {
                    (Some(column), Some(value)) => return self.reader.compare(column, *collation, op, value),
                    _ => {}
                }
                match (self.column(right), self.constant(left)) {
                    (Some(column), Some(value)) => self.reader.compare(column, *collation, op.swapped(), value),
                    _ => Predicate::Unknown,
                }
            }
            BoundExpr::InList { operand, list, negated: false, collation } => {
                let Some(column) = self.column(operand) else { return Predicate::Unknown };
                let values: Option<Vec<_>> = list.iter().map(|item| self.constant(item)).collect();
                values.map_or(Predicate::Unknown, |values| self.reader.in_list(column, *collation, &values))
            }
            BoundExpr::Call(call) => self.like(call),
            _ => Predicate::Unknown,
        }
    }

    /// `column LIKE 'prefix%'`.
    fn like(&self, call: &expr::Call) -> Predicate {
        if &*call.name != "LIKE" {
            return Predicate::Unknown;
        }
        let [operand, pattern, rest @ ..] = call.args.as_slice() else { return Predicate::Unknown };
        let (Some(column), Some(Value::String(pattern))) = (self.column(operand), self.constant(pattern)) else {
            return Predicate::Unknown;
        };
        let escape = match rest.first().map(|escape| self.constant(escape)) {
            None => Some('\\'),
            Some(Some(Value::String(escape))) => escape.chars().next(),
            Some(_) => return Predicate::Unknown,
        };
        let own = match self.reader.column_type(column) {
            SqlType::String { collation, .. } if *collation != CollationId::BINARY => *collation,
            _ => return Predicate::Unknown,
        };
        // The pattern's collation can only be the column's or one that was written out.
        let pattern_type = call.args[1].ty();
        if pattern_type.coercibility == squall_registry::Coercibility::Explicit
            && pattern_type.sql_type.collation() != Some(own)
        {
            return Predicate::Unknown;
        }
        let mut prefix = String::new();
        let mut chars = pattern.chars();
        while let Some(next) = chars.next() {
            match next {
                '%' | '_' => break,
                next if Some(next) == escape => match chars.next() {
                    Some(escaped) => prefix.push(escaped),
                    None => break,
                },
                next => prefix.push(next),
            }
        }
        if prefix.is_empty() { Predicate::Unknown } else { Predicate::Prefix { column, prefix } }
    }

    fn column(&self, expr: &BoundExpr) -> Option<usize> {
        match expr {
            BoundExpr::Column(column) => (self.ordinal_of)(column),
            BoundExpr::Call(call) => match widened(call) {
                Some(BoundExpr::Column(column)) => (self.ordinal_of)(column),
                _ => None,
            },
            _ => None,
        }
    }

    fn constant(&self, expr: &BoundExpr) -> Option<Value> {
        match expr {
            BoundExpr::Literal(value, _) => Some(value.clone()),
            BoundExpr::Parameter { index, .. } => self.parameters.get(*index as usize).cloned(),
            _ => None,
        }
    }
}

enum CompareOrNot {
    Compare(CompareOp),
    NotEqual,
}

fn compare_op(op: Operator) -> Option<CompareOrNot> {
    Some(CompareOrNot::Compare(match op {
        Operator::Eq => CompareOp::Equal,
        Operator::IsNotDistinctFrom => CompareOp::NullSafeEqual,
        Operator::Lt => CompareOp::Less,
        Operator::LtEq => CompareOp::LessOrEqual,
        Operator::Gt => CompareOp::Greater,
        Operator::GtEq => CompareOp::GreaterOrEqual,
        Operator::NotEq => return Some(CompareOrNot::NotEqual),
        _ => return None,
    }))
}

fn bound_op(op: expr::CompareOp) -> Option<CompareOp> {
    Some(match op {
        expr::CompareOp::Equal => CompareOp::Equal,
        expr::CompareOp::NullSafeEqual => CompareOp::NullSafeEqual,
        expr::CompareOp::Less => CompareOp::Less,
        expr::CompareOp::LessOrEqual => CompareOp::LessOrEqual,
        expr::CompareOp::Greater => CompareOp::Greater,
        expr::CompareOp::GreaterOrEqual => CompareOp::GreaterOrEqual,
        expr::CompareOp::NotEqual => return None,
    })
}

fn call_of(expr: &Expr) -> Option<std::sync::Arc<expr::Call>> {
    let Expr::ScalarFunction(function) = expr else { return None };
    let inner: &dyn std::any::Any = function.func.inner().as_ref();
    inner.downcast_ref::<CallUdf>().map(|udf| udf.call().clone())
}

/// The collation of a call that makes sort keys.
fn sort_key_collation(call: &expr::Call) -> Option<CollationId> {
    squall_functions::expr::sort_key_collation(call)
}

/// The operand of a conversion between numbers that changes no value's place in the order.
fn widened(call: &expr::Call) -> Option<&BoundExpr> {
    let [operand] = call.args.as_slice() else { return None };
    let exact = |sql_type: &SqlType| matches!(sql_type, SqlType::Int { .. } | SqlType::Decimal { .. });
    let from = operand.sql_type();
    let to = &call.ty.sql_type;
    let keeps_order = match (&from, to) {
        (SqlType::Int { .. }, SqlType::Double { .. }) => true,
        (SqlType::Int { .. }, SqlType::Decimal { precision, scale, .. }) => precision - scale >= 20,
        (
            SqlType::Decimal { precision: from_digits, scale: from_scale, .. },
            SqlType::Decimal { precision, scale, .. },
        ) => scale >= from_scale && precision - scale >= from_digits - from_scale,
        _ => false,
    };
    (squall_functions::expr::is_conversion(call) && exact(&from) && keeps_order).then_some(operand)
}

fn is_zero(scalar: &ScalarValue) -> bool {
    matches!(scalar, ScalarValue::Int64(Some(0)) | ScalarValue::UInt64(Some(0)))
}

/// The value of a scalar that a column of `column_type` is compared with.
fn scalar_value(scalar: &ScalarValue, column_type: &SqlType) -> Option<Value> {
    if scalar.is_null() {
        return Some(Value::Null);
    }
    match (scalar, column_type) {
        // Dates and moments compare as packed moments; a date's midnight is told apart from the rest of its day.
        (
            ScalarValue::Int64(Some(packed)),
            SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. },
        ) => Some(Value::DateTime(DateTime::from_packed(*packed))),
        (ScalarValue::Int64(Some(number)), SqlType::Decimal { .. } | SqlType::Int { .. }) => Some(Value::Int(*number)),
        (ScalarValue::UInt64(Some(number)), SqlType::Decimal { .. } | SqlType::Int { .. }) => Some(Value::UInt(*number)),
        (ScalarValue::Float64(Some(number)), _) => Some(Value::Double(*number)),
        (ScalarValue::Decimal128(_, precision, scale), _) | (ScalarValue::Decimal256(_, precision, scale), _) => {
            scalar_to_value(scalar, &SqlType::decimal(*precision, u8::try_from(*scale).ok()?)).ok()
        }
        (ScalarValue::Int64(Some(micros)), SqlType::Time { .. }) => {
            squall_types::Time::from_micros(*micros).map(Value::Time)
        }
        (ScalarValue::UInt64(Some(number)), SqlType::Bit { .. } | SqlType::Year) => Some(Value::UInt(*number)),
        (_, SqlType::String { .. }) => scalar_to_value(scalar, column_type).ok(),
        _ => None,
    }
}
