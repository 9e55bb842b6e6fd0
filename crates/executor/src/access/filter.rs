//! Converts conditions, bound ones or DataFusion's, into [`Predicate`]s.

use super::predicate::{CompareOp, Predicate, bound_op};
use super::range::IndexRanges;
use super::terms::{self, Node};
use arrow::datatypes::{Field, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{BinaryExpr, ColumnarValue, Expr, Operator, ReturnFieldArgs, ScalarFunctionArgs};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};
use squall_catalog::TableDef;
use squall_functions::arrow_map::scalar_to_value;
use squall_functions::expr::{self, BoundExpr, CallUdf, LongLiteralUdf, ParameterUdf, TextCompareUdf};
use squall_functions::operators::convert::ConvertKernel;
use squall_functions::operators::like::{LikeKernel, PatternCache};
use squall_functions::operators::sort_key::SortKeyKernel;
use squall_registry::{ScalarKernel, Volatility};
use squall_statement_context::StatementContext;
use squall_types::collation::LikePattern;
use squall_types::temporal::TimeZone;
use squall_types::{CollationId, DateTime, SqlType, Value};
use std::sync::Arc;

/// The name of calls that make sort keys.
const SORT_KEY: &str = "convert to sort key";

const SECONDS_PER_DAY: i64 = 86_400;

/// The predicate of a table's filters.
pub fn predicate_of(def: &TableDef, filters: &[Expr], zone: &TimeZone) -> Predicate {
    let reader = Reader { def, zone };
    Predicate::and(filters.iter().map(|filter| reader.condition(filter)))
}

/// The predicate of a bound condition on a table's columns; `ordinal_of` tells which column of the table a reference
/// is, and `constant_of` the value of an expression that has one.
pub fn predicate_of_bound(
    def: &TableDef,
    condition: &BoundExpr,
    zone: &TimeZone,
    ordinal_of: &dyn Fn(&expr::ColumnRef) -> Option<usize>,
    constant_of: &dyn Fn(&BoundExpr) -> Option<Value>,
) -> Predicate {
    BoundReader { reader: Reader { def, zone }, ordinal_of, constant_of }.condition(condition)
}

/// The value of a literal or a parameter.
pub fn constant_of(expr: &BoundExpr, parameters: &[Value]) -> Option<Value> {
    match expr {
        BoundExpr::Literal(value, _) => Some(value.clone()),
        BoundExpr::Parameter { index, .. } => parameters.get(*index as usize).cloned(),
        _ => None,
    }
}

/// A condition with the values that its constant parts have in this statement, `NOW() - INTERVAL 1 HOUR` and parameters included; what
/// fails is left as it is, for the filter to fail with. Sort keys stay calls: they tell the collation of a comparison.
pub(super) fn with_constants(filter: &Expr) -> Expr {
    let folded = filter.clone().transform_up(|expr| {
        let is_sort_key = call_of(&expr).is_some_and(|(call, _)| &*call.name == SORT_KEY);
        match constant_value(&expr).filter(|_| !is_sort_key) {
            Some(value) => Ok(Transformed::yes(Expr::Literal(value, None))),
            None => Ok(Transformed::no(expr)),
        }
    });
    folded.map_or_else(|_| filter.clone(), |folded| folded.data)
}

/// Whether a constant expression has a value without an error or a warning.
pub(crate) fn has_value_silently(expr: &Expr, context: &StatementContext) -> bool {
    let noted = context.diagnostics.count();
    let folded = with_constants(expr);
    let is_silent = context.diagnostics.count() == noted;
    context.diagnostics.truncate(noted);
    is_silent
        && (matches!(folded, Expr::Literal(..)) || call_of(&folded).is_some_and(|(call, _)| &*call.name == SORT_KEY))
}

/// Whether an expression reads a parameter.
pub(crate) fn has_parameter(expr: &Expr) -> bool {
    expr.exists(|part| Ok(parameter_of(part).is_some())).unwrap_or(true)
}

/// The number of the parameter that an expression is.
pub(crate) fn parameter_of(expr: &Expr) -> Option<u32> {
    let Expr::ScalarFunction(function) = expr else { return None };
    ParameterUdf::of(&function.func).map(ParameterUdf::index)
}

/// Whether an expression is a parameter that is converted.
pub(crate) fn converts_parameter(expr: &Expr) -> bool {
    call_of(expr).is_some_and(|(_, args)| args.iter().any(|arg| parameter_of(arg).is_some()))
}

/// Whether an expression calls functions, apart from parameters and their conversions: those would be literals in another plan.
pub(crate) fn calls_functions(expr: &Expr) -> bool {
    let mut calls = false;
    let visited = expr.apply(|part| {
        if converts_parameter(part) || parameter_of(part).is_some() {
            return Ok(TreeNodeRecursion::Jump);
        }
        calls |= matches!(part, Expr::ScalarFunction(_));
        Ok(if calls { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    visited.is_err() || calls
}

/// The value of a call of constants.
fn constant_value(expr: &Expr) -> Option<ScalarValue> {
    let Expr::ScalarFunction(function) = expr else { return None };
    if let Some(parameter) = ParameterUdf::of(&function.func) {
        return parameter.value().ok();
    }
    let is_constant = match CallUdf::of(&function.func) {
        Some(udf) => udf.call().volatility != Volatility::Volatile && !udf.call().kernel.waits(),
        None => LongLiteralUdf::of(&function.func).is_some(),
    };
    if !is_constant {
        return None;
    }
    let literal = |arg: &Expr| match arg {
        Expr::Literal(value, _) => Some(ColumnarValue::Scalar(value.clone())),
        _ => None,
    };
    let args = function.args.iter().map(literal).collect::<Option<Vec<_>>>()?;
    let arg_fields: Vec<FieldRef> =
        args.iter().map(|arg| Arc::new(Field::new("constant", arg.data_type(), true))).collect();
    let scalar_arguments = vec![None; args.len()];
    let fields = ReturnFieldArgs { arg_fields: &arg_fields, scalar_arguments: &scalar_arguments };
    let return_field = function.func.return_field_from_args(fields).ok()?;
    let config_options = Arc::new(ConfigOptions::default());
    let arguments = ScalarFunctionArgs { args, arg_fields, number_rows: 1, return_field, config_options };
    match function.func.invoke_with_args(arguments).ok()? {
        ColumnarValue::Scalar(value) => Some(value),
        ColumnarValue::Array(array) => ScalarValue::try_from_array(&array, 0).ok(),
    }
}

/// A MATCH of any of some words as a condition, which an index answers by itself: its place, and the entries of the rows.
pub(super) fn any_word(def: &TableDef, filter: &Expr) -> Option<(usize, IndexRanges)> {
    let call = call_as_condition(filter)?;
    terms::any_word(def, &Reader { def, zone: &TimeZone::utc() }.node(call, None))
}

/// A call as it stands as a condition: `call <> 0`.
fn call_as_condition(filter: &Expr) -> Option<&Expr> {
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::NotEq, right }) => match &**right {
            Expr::Literal(zero, _) if is_zero(zero) => Some(left),
            _ => None,
        },
        _ => None,
    }
}

/// Reads conditions as DataFusion has them.
pub(super) struct Reader<'a> {
    pub def: &'a TableDef,
    pub zone: &'a TimeZone,
}

/// `column LIKE pattern`, or NOT LIKE.
pub(super) struct LikeCondition {
    /// The column.
    pub column: usize,
    /// The pattern that its texts have to match.
    pub pattern: LikePattern,
    /// NOT LIKE.
    pub negated: bool,
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
        self.def.planned_column(name)
    }

    pub fn condition(&self, filter: &Expr) -> Predicate {
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
            Expr::ScalarFunction(_) => match text_comparison(filter) {
                Some((udf, left, right)) => match bound_op(udf.op()) {
                    Some(op) => match self.compared(op, Some(udf.collation()), left, right) {
                        Predicate::Unknown => self.document_text(op, udf.collation(), left, right),
                        predicate => predicate,
                    },
                    None => Predicate::Unknown,
                },
                None => Predicate::Unknown,
            },
            _ => Predicate::Unknown,
        }
    }

    /// A call as a condition: LIKE, and what indexes of terms answer.
    fn call_condition(&self, expr: &Expr) -> Predicate {
        match self.like_call(expr) {
            Some(like) => like.key_range(),
            None => terms::call_predicate(self.def, &self.node(expr, None)),
        }
    }

    /// An expression as indexes of terms look at it; `ty` is its type.
    fn node<'e>(&self, expr: &'e Expr, ty: Option<&SqlType>) -> Node<'e> {
        match expr {
            Expr::Column(column) => self.ordinal(&column.name).map_or(Node::Other, Node::Column),
            Expr::Literal(scalar, _) => match ty.and_then(|ty| Some((scalar_to_value(scalar, ty).ok()?, ty))) {
                Some((value, ty)) => Node::Constant(value, ty.clone()),
                None => Node::Other,
            },
            Expr::ScalarFunction(_) => match call_of(expr).filter(|(call, _)| terms::is_known_call(&call.name)) {
                Some((call, args)) => {
                    let types = call.args.iter().map(BoundExpr::sql_type);
                    Node::Call(call, args.iter().zip(types).map(|(arg, ty)| self.node(arg, Some(&ty))).collect())
                }
                None => Node::Other,
            },
            _ => Node::Other,
        }
    }

    /// A comparison of texts that are made of documents.
    fn document_text(&self, op: CompareOp, collation: CollationId, left: &Expr, right: &Expr) -> Predicate {
        let text = SqlType::longtext(collation);
        let (left, right) = (self.node(left, Some(&text)), self.node(right, Some(&text)));
        terms::text_predicate(self.def, op, collation, &left, &right)
    }

    /// LIKE as a condition stands.
    pub fn like_condition(&self, filter: &Expr) -> Option<LikeCondition> {
        self.like_call(call_as_condition(filter)?)
    }

    fn like_call(&self, expr: &Expr) -> Option<LikeCondition> {
        let (call, args) = call_of(expr)?;
        let [operand, pattern, rest @ ..] = args else { return None };
        let column = self.plain_column(operand)?;
        let text = |expr: &Expr| match self.side(expr, Some(column)) {
            Side::Constant(value) => Some(value),
            _ => None,
        };
        self.like(call, column, text(pattern), rest.first().map(text))
    }

    /// `column LIKE 'prefix%'`.
    fn like(
        &self,
        call: &expr::Call,
        column: usize,
        pattern: Option<Value>,
        escape: Option<Option<Value>>,
    ) -> Option<LikeCondition> {
        let SqlType::String { collation, .. } = self.column_type(column) else { return None };
        let kernel = |negated| LikeKernel { collation: *collation, negated, cache: PatternCache::default() };
        let negated = [false, true].into_iter().find(|negated| is_kernel(call, &kernel(*negated)))?;
        let Some(Value::String(pattern)) = pattern else { return None };
        let escape = match escape {
            None | Some(Some(Value::Null)) => None,
            Some(Some(Value::String(escape))) => escape.chars().next(),
            Some(_) => return None,
        };
        Some(LikeCondition { column, pattern: LikePattern::new(*collation, &pattern, escape), negated })
    }

    /// `column <> 'text'` in the column's collation, as the comparison of which it is the opposite.
    pub fn unequal_text(&self, filter: &Expr) -> Predicate {
        match text_comparison(filter) {
            Some((udf, left, right)) if udf.op() == expr::CompareOp::NotEqual => {
                self.compared(CompareOp::Equal, Some(udf.collation()), left, right)
            }
            _ => Predicate::Unknown,
        }
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
        match self.compared(op, None, left, right) {
            // Without a collation texts compare as bytes.
            Predicate::Unknown => self.document_text(op, CollationId::UTF8MB4_0900_BIN, left, right),
            predicate => predicate,
        }
    }

    /// A comparison in a collation, or one whose operands tell it.
    fn compared(&self, op: CompareOp, by: Option<CollationId>, left: &Expr, right: &Expr) -> Predicate {
        for (one, other, op) in [(left, right, op), (right, left, op.swapped())] {
            let Side::Column(column, collation) = self.side(one, None) else { continue };
            return match self.side(other, Some(column)) {
                Side::Constant(value) => self.compare(column, by.or(collation), op, value),
                _ => Predicate::Unknown,
            };
        }
        Predicate::Unknown
    }

    fn compare(&self, column: usize, collation: Option<CollationId>, op: CompareOp, value: Value) -> Predicate {
        if !self.collates(column, collation) {
            return Predicate::Unknown;
        }
        match self.stored(column, value) {
            Some(value) => Predicate::compare(column, self.column_type(column), op, &value),
            None => Predicate::Unknown,
        }
    }

    fn in_list(&self, column: usize, collation: Option<CollationId>, values: &[Value]) -> Predicate {
        if !self.collates(column, collation) {
            return Predicate::Unknown;
        }
        let values: Option<Vec<_>> = values.iter().map(|value| self.stored(column, value.clone())).collect();
        match values {
            Some(values) => Predicate::in_list(column, self.column_type(column), &values),
            None => Predicate::Unknown,
        }
    }

    /// Whether a comparison by `collation` is one by the order of the column's keys.
    fn collates(&self, column: usize, collation: Option<CollationId>) -> bool {
        match self.column_type(column) {
            SqlType::String { collation: own, .. } => {
                collation == Some(*own) || (collation.is_none() && compares_as_bytes(*own))
            }
            _ => collation.is_none(),
        }
    }

    /// A constant as the store has it: a TIMESTAMP in UTC, unless clocks change near it, when local times do not order
    /// as moments do.
    fn stored(&self, column: usize, value: Value) -> Option<Value> {
        match (self.column_type(column), value) {
            (SqlType::Timestamp { .. }, Value::DateTime(moment)) if !moment.is_zero() => {
                let seconds = self.zone.to_unix_micros(moment).unix_micros.div_euclid(1_000_000);
                let steady =
                    self.zone.offset_at(seconds - SECONDS_PER_DAY) == self.zone.offset_at(seconds + SECONDS_PER_DAY);
                self.zone.to_utc(moment).filter(|_| steady).map(Value::DateTime)
            }
            (_, value) => Some(value),
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
            Expr::Column(column) => {
                self.ordinal(&column.name).map_or(Side::Other, |ordinal| Side::Column(ordinal, None))
            }
            Expr::Literal(scalar, _) => {
                let Some(column) = column else { return Side::Other };
                scalar_value(scalar, self.column_type(column)).map_or(Side::Other, Side::Constant)
            }
            Expr::ScalarFunction(_) => match call_of(expr) {
                Some((call, [operand])) => self.call_side(call, operand, column),
                _ => Side::Other,
            },
            _ => Side::Other,
        }
    }

    /// A sort key or a conversion of a column or a constant.
    fn call_side(&self, call: &expr::Call, operand: &Expr, column: Option<usize>) -> Side {
        match operand {
            Expr::Column(_) => match self.plain_column(operand) {
                Some(ordinal) => match self.column_type(ordinal) {
                    SqlType::String { collation, .. } if is_kernel(call, &SortKeyKernel { collation: *collation }) => {
                        Side::Column(ordinal, Some(*collation))
                    }
                    own if keeps_order(call, own) => Side::Column(ordinal, None),
                    _ => Side::Other,
                },
                None => Side::Other,
            },
            Expr::Literal(scalar, _) => match column.map(|column| self.column_type(column)) {
                Some(own @ SqlType::String { collation, .. })
                    if is_kernel(call, &SortKeyKernel { collation: *collation }) =>
                {
                    scalar_value(scalar, own).map_or(Side::Other, Side::Constant)
                }
                _ => Side::Other,
            },
            _ => Side::Other,
        }
    }
}

impl LikeCondition {
    /// The sort keys of texts that match are in a range, if the pattern begins with a text.
    fn key_range(&self) -> Predicate {
        match self.pattern.key_range().filter(|_| !self.negated) {
            Some((from, to)) => Predicate::SortKeys { column: self.column, from, to },
            None => Predicate::Unknown,
        }
    }
}

/// Reads bound conditions.
struct BoundReader<'a> {
    reader: Reader<'a>,
    ordinal_of: &'a dyn Fn(&expr::ColumnRef) -> Option<usize>,
    constant_of: &'a dyn Fn(&BoundExpr) -> Option<Value>,
}

impl BoundReader<'_> {
    fn condition(&self, condition: &BoundExpr) -> Predicate {
        match condition {
            BoundExpr::And(parts) => Predicate::and(parts.iter().map(|part| self.condition(part))),
            BoundExpr::Or(parts) => Predicate::or(parts.iter().map(|part| self.condition(part))),
            BoundExpr::Literal(Value::Null | Value::Int(0) | Value::UInt(0), _) => Predicate::Never,
            BoundExpr::IsNull { operand, negated } => match self.column(operand) {
                Some(column) if *negated => Predicate::IsNotNull(column),
                Some(column) => Predicate::IsNull(column),
                None => Predicate::Unknown,
            },
            BoundExpr::Compare { op, left, right, collation } => {
                let Some(op) = bound_op(*op) else { return Predicate::Unknown };
                if let (Some(column), Some(value)) = (self.column(left), self.constant(right)) {
                    return self.reader.compare(column, *collation, op, value);
                }
                match (self.column(right), self.constant(left)) {
                    (Some(column), Some(value)) => self.reader.compare(column, *collation, op.swapped(), value),
                    _ => match collation {
                        Some(collation) => {
                            let (left, right) = (self.node(left), self.node(right));
                            terms::text_predicate(self.reader.def, op, *collation, &left, &right)
                        }
                        None => Predicate::Unknown,
                    },
                }
            }
            BoundExpr::InList { operand, list, negated: false, collation } => {
                let Some(column) = self.column(operand) else { return Predicate::Unknown };
                let values: Option<Vec<_>> = list.iter().map(|item| self.constant(item)).collect();
                values.map_or(Predicate::Unknown, |values| self.reader.in_list(column, *collation, &values))
            }
            BoundExpr::Call(call) if terms::is_known_call(&call.name) => {
                terms::call_predicate(self.reader.def, &self.node(condition))
            }
            BoundExpr::Call(call) => {
                let [operand, pattern, rest @ ..] = call.args.as_slice() else { return Predicate::Unknown };
                let Some(column) = self.column(operand) else { return Predicate::Unknown };
                let escape = rest.first().map(|escape| self.constant(escape));
                let like = self.reader.like(call, column, self.constant(pattern), escape);
                like.map_or(Predicate::Unknown, |like| like.key_range())
            }
            _ => Predicate::Unknown,
        }
    }

    fn column(&self, expr: &BoundExpr) -> Option<usize> {
        match expr {
            BoundExpr::Column(column) => (self.ordinal_of)(column),
            BoundExpr::Call(call) => match call.args.as_slice() {
                [BoundExpr::Column(column)] if keeps_order(call, &column.ty.sql_type) => (self.ordinal_of)(column),
                _ => None,
            },
            _ => None,
        }
    }

    /// An expression as indexes of terms look at it.
    fn node<'e>(&self, expr: &'e BoundExpr) -> Node<'e> {
        if let Some(value) = self.constant(expr) {
            return Node::Constant(value, expr.sql_type());
        }
        match expr {
            BoundExpr::Column(column) => (self.ordinal_of)(column).map_or(Node::Other, Node::Column),
            BoundExpr::Call(call) if terms::is_known_call(&call.name) => {
                Node::Call(call, call.args.iter().map(|arg| self.node(arg)).collect())
            }
            _ => Node::Other,
        }
    }

    fn constant(&self, expr: &BoundExpr) -> Option<Value> {
        match expr {
            BoundExpr::Literal(value, _) => Some(value.clone()),
            _ => (self.constant_of)(expr),
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

/// Whether texts of a collation compare as their bytes, without sort keys.
pub fn compares_as_bytes(collation: CollationId) -> bool {
    collation == CollationId::BINARY || collation.info().orders_as_utf8()
}

/// A comparison of a text with a constant.
fn text_comparison(expr: &Expr) -> Option<(&TextCompareUdf, &Expr, &Expr)> {
    let Expr::ScalarFunction(function) = expr else { return None };
    match function.args.as_slice() {
        [left, right] => Some((TextCompareUdf::of(&function.func)?, left, right)),
        _ => None,
    }
}

/// A call and its arguments as DataFusion has them now: its optimizer may have put other columns in their places.
pub fn call_of(expr: &Expr) -> Option<(&expr::Call, &[Expr])> {
    let Expr::ScalarFunction(function) = expr else { return None };
    CallUdf::of(&function.func).map(|udf| (udf.call().as_ref(), function.args.as_slice()))
}

/// Whether a call runs this kernel. Kernels are told apart by what they print, as DataFusion's copies of calls are.
fn is_kernel(call: &expr::Call, kernel: &dyn ScalarKernel) -> bool {
    format!("{:?}", call.kernel) == format!("{kernel:?}")
}

/// Whether a call is a conversion from one type of number to another that keeps all values apart and in order.
fn keeps_order(call: &expr::Call, from: &SqlType) -> bool {
    let to = &call.ty.sql_type;
    let keeps = match (from, to) {
        (SqlType::Int { .. }, SqlType::Double { .. }) => true,
        (SqlType::Int { .. }, SqlType::Decimal { precision, scale, .. }) => precision - scale >= 20,
        (
            SqlType::Decimal { precision: from_digits, scale: from_scale, .. },
            SqlType::Decimal { precision, scale, .. },
        ) => scale >= from_scale && precision - scale >= from_digits - from_scale,
        _ => false,
    };
    keeps && is_kernel(call, &ConvertKernel { from: from.clone(), to: to.clone() })
}

fn is_zero(scalar: &ScalarValue) -> bool {
    match scalar {
        ScalarValue::Float64(Some(number)) => *number == 0.0,
        other => matches!(other, ScalarValue::Int64(Some(0)) | ScalarValue::UInt64(Some(0))),
    }
}

/// The value of a scalar that a column of `column_type` is compared with.
pub fn scalar_value(scalar: &ScalarValue, column_type: &SqlType) -> Option<Value> {
    if scalar.is_null() {
        return Some(Value::Null);
    }
    match (scalar, column_type) {
        // Dates and moments compare as packed moments; a date's midnight is told apart from the rest of its day.
        (ScalarValue::Int64(Some(packed)), SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. }) => {
            Some(Value::DateTime(DateTime::from_packed(*packed)))
        }
        (ScalarValue::Int64(Some(number)), SqlType::Decimal { .. } | SqlType::Int { .. }) => Some(Value::Int(*number)),
        (ScalarValue::UInt64(Some(number)), SqlType::Decimal { .. } | SqlType::Int { .. }) => {
            Some(Value::UInt(*number))
        }
        (ScalarValue::Float64(Some(number)), _) => Some(Value::Double(*number)),
        (ScalarValue::Decimal128(_, precision, scale), _) | (ScalarValue::Decimal256(_, precision, scale), _) => {
            scalar_to_value(scalar, &SqlType::decimal(*precision, u8::try_from(*scale).ok()?)).ok()
        }
        (ScalarValue::Int64(Some(micros)), SqlType::Time { .. }) => {
            squall_types::Time::from_micros(*micros).map(Value::Time)
        }
        (ScalarValue::UInt64(Some(number)), SqlType::Bit { .. } | SqlType::Year) => Some(Value::UInt(*number)),
        (_, SqlType::String { .. } | SqlType::Hex { .. } | SqlType::Uuid) => scalar_to_value(scalar, column_type).ok(),
        _ => None,
    }
}

/// Conditions `column = 'text'` among filters, by ordinal of the column in `schema`.
pub fn equal_texts(schema: &arrow::datatypes::Schema, filters: &[Expr]) -> Vec<(usize, Value)> {
    let mut found = Vec::new();
    for filter in filters {
        collect_equal_texts(schema, filter, &mut found);
    }
    found
}

fn collect_equal_texts(schema: &arrow::datatypes::Schema, filter: &Expr, found: &mut Vec<(usize, Value)>) {
    let (left, right) = match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            collect_equal_texts(schema, left, found);
            collect_equal_texts(schema, right, found);
            return;
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => (left.as_ref(), right.as_ref()),
        _ => match text_comparison(filter) {
            Some((udf, left, right)) if udf.op() == expr::CompareOp::Equal => (left, right),
            _ => return,
        },
    };
    let column = |expr: &Expr| match unwrap_call(expr) {
        Expr::Column(column) => schema.index_of(&column.name).ok(),
        _ => None,
    };
    let text = |expr: &Expr| match unwrap_call(expr) {
        Expr::Literal(ScalarValue::Utf8View(Some(text)) | ScalarValue::Utf8(Some(text)), _) => {
            Some(Value::String(text.clone()))
        }
        _ => None,
    };
    for (one, other) in [(left, right), (right, left)] {
        if let (Some(column), Some(text)) = (column(one), text(other)) {
            found.push((column, text));
            return;
        }
    }
}

/// The operand of a sort key, or the expression itself.
fn unwrap_call(expr: &Expr) -> &Expr {
    match call_of(expr) {
        Some((call, [operand])) if &*call.name == SORT_KEY => operand,
        _ => expr,
    }
}

/// The operand of a physical sort key.
pub fn sort_key_operand(expr: &Arc<dyn PhysicalExpr>) -> Option<&Arc<dyn PhysicalExpr>> {
    let function = expr.downcast_ref::<ScalarFunctionExpr>()?;
    match function.args() {
        [operand] => Some(operand),
        _ => None,
    }
}

/// The column that an expression is the sort key of, in whichever collation.
pub fn sort_key_column(expr: &Expr) -> Option<&datafusion::common::Column> {
    match call_of(expr)? {
        (call, [Expr::Column(column)]) if &*call.name == SORT_KEY => Some(column),
        _ => None,
    }
}

/// Whether an expression is a sort key in a collation.
pub fn is_sort_key(expr: &Expr, collation: CollationId) -> bool {
    call_of(expr).is_some_and(|(call, _)| is_kernel(call, &SortKeyKernel { collation }))
}

/// Whether a physical expression is a sort key in a collation.
pub fn is_sort_key_of(expr: &Arc<dyn PhysicalExpr>, collation: CollationId) -> bool {
    let Some(function) = expr.downcast_ref::<ScalarFunctionExpr>() else { return false };
    CallUdf::of(function.fun()).is_some_and(|udf| is_kernel(udf.call(), &SortKeyKernel { collation }))
}
