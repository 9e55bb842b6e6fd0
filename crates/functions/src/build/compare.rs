//! Comparisons: which type two values are compared in.

use super::vector::{check_compared, refuse_no_numbers};
use super::{BuildResult, ExprBuilder};
use crate::expr::{BoundExpr, CompareOp, boolean_type, with_operand, with_operands};
use crate::operators::json_compare::JsonCompareKernel;
use crate::typing::collation::{StringOperand, aggregate_collations};
use crate::typing::has_date;
use crate::typing::numeric::{NumericKind, decimal_digits, decimal_of_digits, numeric_kind};
use crate::typing::{display_length, string_of_length};
use squall_registry::ExprType;
use squall_types::{CollationId, ErrorCode, SqlError, SqlResult, SqlType, Value};
use std::sync::Arc;

/// Two operands brought to one physical type.
pub(super) struct Pair {
    left: BoundExpr,
    right: BoundExpr,
    collation: Option<CollationId>,
}

impl Pair {
    /// Their comparison.
    pub fn compared_by(self, op: CompareOp) -> BoundExpr {
        let Pair { left, right, collation } = self;
        BoundExpr::Compare { op, left: Box::new(left), right: Box::new(right), collation }
    }
}

impl ExprBuilder<'_> {
    /// `left op right`.
    pub fn compare(&self, op: CompareOp, left: BoundExpr, right: BoundExpr) -> BuildResult {
        check_compared(op, op.symbol(), &left.sql_type(), &right.sql_type())?;
        if left.sql_type() == SqlType::Json || right.sql_type() == SqlType::Json {
            return self.compare_json(op, left, right);
        }
        if let Some(compared) = self.compare_digits_in_order(op, &left, &right)? {
            return Ok(compared);
        }
        Ok(self.fold(self.comparable(left, right, op.symbol())?.compared_by(op)))
    }

    /// `(a, b) op (c, d)`: row constructors.
    pub fn compare_rows(&self, op: CompareOp, left: Vec<BoundExpr>, right: Vec<BoundExpr>) -> BuildResult {
        if left.len() != right.len() || left.is_empty() {
            return Err(SqlError::new(ErrorCode::OperandColumns, &[&left.len()]));
        }
        let mut pairs: Vec<_> = left.into_iter().zip(right).collect();
        match op {
            CompareOp::Equal | CompareOp::NullSafeEqual => {
                let all: SqlResult<Vec<_>> = pairs.into_iter().map(|(l, r)| self.compare(op, l, r)).collect();
                Ok(self.and(all?))
            }
            CompareOp::NotEqual => {
                let any: SqlResult<Vec<_>> = pairs.into_iter().map(|(l, r)| self.compare(op, l, r)).collect();
                Ok(self.or(any?))
            }
            _ => {
                // The first pair that differs decides.
                let strict = match op {
                    CompareOp::LessOrEqual => CompareOp::Less,
                    CompareOp::GreaterOrEqual => CompareOp::Greater,
                    other => other,
                };
                let Some((left, right)) = pairs.pop() else { return Ok(BoundExpr::null()) };
                let mut result = self.compare(op, left, right)?;
                while let Some((left, right)) = pairs.pop() {
                    result = with_operand(left, |left| {
                        with_operand(right, |right| {
                            let before = self.compare(strict, left.clone(), right.clone())?;
                            let equal = self.compare(CompareOp::Equal, left, right)?;
                            Ok(self.or(vec![before, self.and(vec![equal, result])]))
                        })
                    })?;
                }
                Ok(result)
            }
        }
    }

    /// `operand [NOT] BETWEEN low AND high`.
    pub fn between(&self, operand: BoundExpr, low: BoundExpr, high: BoundExpr, negated: bool) -> BuildResult {
        refuse_no_numbers("between", [&operand, &low, &high])?;
        let collation = self.shared_collation(&[&operand, &low, &high], "between")?;
        let all = [operand.sql_type(), low.sql_type(), high.sql_type()];
        let has_texts = all.iter().any(is_text);
        let kind = match () {
            () if has_texts && all.iter().any(has_date) => BetweenKind::Moments,
            () if has_texts && all.iter().any(SqlType::is_numeric) => BetweenKind::Numbers,
            () => BetweenKind::EachByItself,
        };
        with_operand(self.unrounded(operand), |operand| {
            let at_least = self.compare_bound(CompareOp::GreaterOrEqual, operand.clone(), low, kind, collation)?;
            let at_most = self.compare_bound(CompareOp::LessOrEqual, operand, high, kind, collation)?;
            let within = self.and(vec![at_least, at_most]);
            Ok(if negated { self.not(within) } else { within })
        })
    }

    /// An operand of BETWEEN with one of its bounds. Two strings are compared as what the third one makes of them, as
    /// `Item_func_between` of MySQL does.
    fn compare_bound(
        &self,
        op: CompareOp,
        operand: BoundExpr,
        bound: BoundExpr,
        kind: BetweenKind,
        collation: Option<CollationId>,
    ) -> BuildResult {
        if !is_text(&operand.sql_type()) || !is_text(&bound.sql_type()) {
            return self.compare_in(op, operand, bound, collation);
        }
        let moment = SqlType::DateTime { fsp: 6 };
        let pair = match kind {
            BetweenKind::EachByItself => None,
            BetweenKind::Numbers => Some(self.compared_as_numbers(operand.clone(), bound.clone())?),
            BetweenKind::Moments => {
                let left = self.to_temporal_operand(&operand, &moment)?;
                let right = self.to_temporal_operand(&bound, &moment)?;
                left.zip(right).map(|(left, right)| Pair { left, right, collation: None })
            }
        };
        match pair {
            Some(pair) => Ok(self.fold(pair.compared_by(op))),
            None => self.compare_in(op, operand, bound, collation),
        }
    }

    /// The collation that several strings are compared in together. COLLATE behind one of them counts for all.
    fn shared_collation(&self, operands: &[&BoundExpr], operation: &str) -> SqlResult<Option<CollationId>> {
        // Vectors are no texts; `check_compared` says so.
        let is_shared = |operand: &&BoundExpr| is_text(&operand.sql_type()) && !operand.sql_type().is_vector();
        if !operands.iter().all(is_shared) {
            return Ok(None);
        }
        self.string_collation(operands, operation).map(Some)
    }

    /// [`ExprBuilder::compare`] of strings in a collation that is known already.
    fn compare_in(
        &self,
        op: CompareOp,
        left: BoundExpr,
        right: BoundExpr,
        collation: Option<CollationId>,
    ) -> BuildResult {
        match collation {
            Some(collation) => Ok(self.fold(self.strings_in(left, right, collation)?.compared_by(op))),
            None => self.compare(op, left, right),
        }
    }

    /// `operand [NOT] IN (list)`.
    pub fn in_list(&self, operand: BoundExpr, list: Vec<BoundExpr>, negated: bool) -> BuildResult {
        with_operand(self.unrounded(operand), |operand| self.in_list_of(operand, list, negated))
    }

    fn in_list_of(&self, operand: BoundExpr, list: Vec<BoundExpr>, negated: bool) -> BuildResult {
        let all: Vec<&BoundExpr> = std::iter::once(&operand).chain(&list).collect();
        let collation = self.shared_collation(&all, " IN ")?;
        let mut comparisons = Vec::with_capacity(list.len());
        for item in list {
            comparisons.push(match collation {
                Some(collation) => self.strings_in(operand.clone(), item, collation)?.compared_by(CompareOp::Equal),
                None => self.in_item(&operand, item)?,
            });
        }
        // Where all comparisons take the operand as the same thing, they are one look into a set.
        let first = match comparisons.first() {
            Some(BoundExpr::Compare { left, right, collation, .. }) => {
                Some((left.clone(), physical_class(&right.sql_type()), *collation))
            }
            _ => None,
        };
        if let Some((operand, class, collation)) = first {
            let uniform = comparisons.iter().all(|comparison| {
                matches!(comparison, BoundExpr::Compare { left, right, collation: other, .. }
                    if *other == collation && physical_class(&right.sql_type()) == class && *left == operand)
            });
            if uniform {
                let list = comparisons
                    .into_iter()
                    .filter_map(|comparison| match comparison {
                        BoundExpr::Compare { right, .. } => Some(*right),
                        _ => None,
                    })
                    .collect();
                return Ok(self.fold(BoundExpr::InList { operand, list, negated, collation }));
            }
        }
        let any = self.or(comparisons);
        Ok(if negated { self.not(any) } else { any })
    }

    /// `operand = item`, not folded, so that the list can still be made a set.
    pub(super) fn in_item(&self, operand: &BoundExpr, item: BoundExpr) -> BuildResult {
        if operand.sql_type() == SqlType::Json || item.sql_type() == SqlType::Json {
            return self.compare(CompareOp::Equal, operand.clone(), item);
        }
        check_compared(CompareOp::Equal, "IN", &operand.sql_type(), &item.sql_type())?;
        Ok(self.comparable(operand.clone(), item, " IN ")?.compared_by(CompareOp::Equal))
    }

    /// `(a, b) [NOT] IN ((c, d), …)`.
    pub fn in_rows(&self, operand: Vec<BoundExpr>, rows: Vec<Vec<BoundExpr>>, negated: bool) -> BuildResult {
        with_operands(operand, |operand| {
            let any: SqlResult<Vec<_>> =
                rows.into_iter().map(|row| self.compare_rows(CompareOp::Equal, operand.clone(), row)).collect();
            let any = self.or(any?);
            Ok(if negated { self.not(any) } else { any })
        })
    }

    fn compare_json(&self, op: CompareOp, left: BoundExpr, right: BoundExpr) -> BuildResult {
        let (left, right) = (self.to_json_value(left)?, self.to_json_value(right)?);
        let ty = boolean_type(op != CompareOp::NullSafeEqual && (left.nullable() || right.nullable()));
        Ok(self.immutable(op.symbol(), Arc::new(JsonCompareKernel { op }), vec![left, right], ty))
    }

    /// Converts two operands to the type that MySQL compares them in.
    fn comparable(&self, left: BoundExpr, right: BoundExpr, operation: &str) -> SqlResult<Pair> {
        let (left_type, right_type) = (left.sql_type(), right.sql_type());
        if left_type == SqlType::Null || right_type == SqlType::Null {
            let common = if left_type == SqlType::Null { right.ty() } else { left.ty() };
            return self.compared_with_null(left, right, common);
        }
        if let Some(target) = digits_target(&left_type, &right_type) {
            let (left, right) = (self.to_digits(left, &target)?, self.to_digits(right, &target)?);
            return Ok(Pair { left, right, collation: None });
        }
        // ENUM and SET are their text to strings, dates and each other, their number to numbers.
        let left_text = is_text(&left_type);
        let right_text = is_text(&right_type);
        if left_text && right_text {
            return self.compared_as_strings(left, right, operation);
        }
        let left = if has_date(&right_type) { self.member_text(left)? } else { left };
        let right = if has_date(&left_type) { self.member_text(right)? } else { right };
        if let Some(target) = temporal_target(&left, &right)
            && let (Some(left), Some(right)) =
                (self.to_temporal_operand(&left, &target)?, self.to_temporal_operand(&right, &target)?)
        {
            return Ok(Pair { left, right, collation: None });
        }
        self.compared_as_numbers(left, right)
    }

    fn compared_with_null(&self, left: BoundExpr, right: BoundExpr, common: ExprType) -> SqlResult<Pair> {
        let typed = |expr: BoundExpr| match expr.sql_type() {
            SqlType::Null => BoundExpr::Literal(Value::Null, ExprType { nullable: true, ..common.clone() }),
            _ => expr,
        };
        Ok(Pair { left: typed(left), right: typed(right), collation: None })
    }

    pub(super) fn compared_as_strings(&self, left: BoundExpr, right: BoundExpr, operation: &str) -> SqlResult<Pair> {
        let connection = self.context.settings.collation;
        let operands = [StringOperand::of(&left.ty(), connection), StringOperand::of(&right.ty(), connection)];
        let (collation, _) = aggregate_collations(&operands, operation)?;
        self.strings_in(left, right, collation)
    }

    /// Two strings that are compared in a collation.
    fn strings_in(&self, left: BoundExpr, right: BoundExpr, collation: CollationId) -> SqlResult<Pair> {
        let left = self.to_text(left, collation)?;
        let right = self.to_text(right, collation)?;
        let collation = (collation != CollationId::BINARY).then_some(collation);
        Ok(Pair { left, right, collation })
    }

    /// The text of an expression in a collation's character set: bytes stay bytes only for `binary`.
    pub(crate) fn to_text(&self, expr: BoundExpr, collation: CollationId) -> BuildResult {
        let ty = expr.ty();
        if let SqlType::String { collation: own, .. } = ty.sql_type
            && (own == CollationId::BINARY) == (collation == CollationId::BINARY)
        {
            return Ok(expr);
        }
        let sql_type = string_of_length(display_length(&ty.sql_type), collation);
        self.convert(expr, &ExprType { sql_type, nullable: ty.nullable, coercibility: ty.coercibility })
    }

    /// An ENUM or SET as its text, anything else as it is.
    fn member_text(&self, expr: BoundExpr) -> BuildResult {
        match expr.sql_type() {
            SqlType::Enum { collation, .. } | SqlType::Set { collation, .. } => self.to_text(expr, collation),
            _ => Ok(expr),
        }
    }

    /// An operand of a comparison as a HEX or UUID; NULL, with a warning, if it is none.
    fn to_digits(&self, expr: BoundExpr, target: &SqlType) -> BuildResult {
        let ty = ExprType::numeric(target.clone(), true);
        self.convert(expr, &ty)
    }

    fn compared_as_numbers(&self, left: BoundExpr, right: BoundExpr) -> SqlResult<Pair> {
        let (left, right) = (self.bytes_as_number(left), self.bytes_as_number(right));
        let (left, right) = (self.unrounded(left), self.unrounded(right));
        let (left_type, right_type) = (left.sql_type(), right.sql_type());
        let (left, right) = (self.parameter_beside(left, &right_type)?, self.parameter_beside(right, &left_type)?);
        // A constant that the other side's type holds exactly is taken as that: `id = '5'` looks up the key 5.
        let (left, right) = match (left.as_literal().is_some(), right.as_literal().is_some()) {
            (false, true) => {
                let right = self.literal_as(right, &left.sql_type());
                (left, right)
            }
            (true, false) => {
                let left = self.literal_as(left, &right.sql_type());
                (left, right)
            }
            _ => (left, right),
        };
        let (left_type, right_type) = (left.sql_type(), right.sql_type());
        let target = match (numeric_kind(&left_type), numeric_kind(&right_type)) {
            (NumericKind::Double, _) | (_, NumericKind::Double) => SqlType::DOUBLE,
            (NumericKind::Int { unsigned: a }, NumericKind::Int { unsigned: b }) if a == b => {
                NumericKind::Int { unsigned: a }.sql_type()
            }
            _ => {
                let ((a_integer, a_scale), (b_integer, b_scale)) =
                    (decimal_digits(&left_type), decimal_digits(&right_type));
                let (precision, scale) = decimal_of_digits(a_integer.max(b_integer), a_scale.max(b_scale));
                SqlType::decimal(precision, scale)
            }
        };
        let left = self.to_number_as(left, &target)?;
        let right = self.to_number_as(right, &target)?;
        Ok(Pair { left, right, collation: None })
    }

    /// Turns a non-negative integer parameter into an unsigned one if the other operand is unsigned. Otherwise both would become
    /// decimals, for which no key of integers can be used.
    fn parameter_beside(&self, expr: BoundExpr, other: &SqlType) -> BuildResult {
        match (&expr, other) {
            (BoundExpr::Parameter { non_negative: true, .. }, SqlType::Int { unsigned: true, .. }) => {
                self.to_number_as(expr, &SqlType::BIGINT_UNSIGNED)
            }
            _ => Ok(expr),
        }
    }

    /// Converts to a numeric type unless the physical type is that already.
    pub(crate) fn to_number_as(&self, expr: BoundExpr, target: &SqlType) -> BuildResult {
        if physical_class(&expr.sql_type()) == physical_class(target) {
            return Ok(expr);
        }
        let ty = ExprType::numeric(target.clone(), expr.nullable());
        self.convert(expr, &ty)
    }
}

/// What the operands of BETWEEN are compared as.
#[derive(Clone, Copy)]
enum BetweenKind {
    /// As each pair is.
    EachByItself,
    /// One is a number: texts are numbers.
    Numbers,
    /// One has a date: texts are moments.
    Moments,
}

/// What tells apart types whose values do not compare as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PhysicalClass {
    Null,
    Int,
    UInt,
    Double,
    Decimal(u8, u8),
    DateTime,
    Time,
    String,
    Bytes,
    Json,
    /// HEX and UUID, with their bytes.
    Digits(usize),
}

/// The class of a type.
pub(crate) fn physical_class(sql_type: &SqlType) -> PhysicalClass {
    match sql_type {
        SqlType::Null => PhysicalClass::Null,
        SqlType::Int { unsigned: false, .. } => PhysicalClass::Int,
        SqlType::Int { .. } | SqlType::Bit { .. } | SqlType::Year | SqlType::Enum { .. } | SqlType::Set { .. } => {
            PhysicalClass::UInt
        }
        SqlType::Float { .. } | SqlType::Double { .. } => PhysicalClass::Double,
        SqlType::Decimal { precision, scale, .. } => PhysicalClass::Decimal(*precision, *scale),
        SqlType::Date | SqlType::DateTime { .. } | SqlType::Timestamp { .. } => PhysicalClass::DateTime,
        SqlType::Time { .. } => PhysicalClass::Time,
        SqlType::String { collation, .. } if *collation == CollationId::BINARY => PhysicalClass::Bytes,
        SqlType::String { .. } => PhysicalClass::String,
        SqlType::Json => PhysicalClass::Json,
        SqlType::Hex { .. } | SqlType::Uuid => PhysicalClass::Digits(sql_type.digit_bytes().unwrap_or_default()),
    }
}

fn is_text(sql_type: &SqlType) -> bool {
    matches!(sql_type, SqlType::String { .. } | SqlType::Enum { .. } | SqlType::Set { .. })
}

/// The HEX or UUID to compare as: with each other, and with strings.
fn digits_target(left: &SqlType, right: &SqlType) -> Option<SqlType> {
    let (digits, other) = if left.digit_bytes().is_some() { (left, right) } else { (right, left) };
    let comparable = digits.digit_bytes().is_some() && (other.is_string() || other.digit_bytes().is_some());
    comparable.then(|| digits.clone())
}

/// The temporal type to compare in, if it is one: a date with a date, a string or a constant number; a TIME with a TIME
/// or a string; a TIME with a date as dates.
fn temporal_target(left: &BoundExpr, right: &BoundExpr) -> Option<SqlType> {
    let (left_type, right_type) = (left.sql_type(), right.sql_type());
    let (temporal, other, other_type) = if has_date(&left_type) || !right_type.is_temporal() {
        (&left_type, right, &right_type)
    } else {
        (&right_type, left, &left_type)
    };
    if !temporal.is_temporal() {
        return None;
    }
    let comparable = other_type.is_temporal()
        || other_type.is_string()
        || (other_type.is_numeric() && has_date(temporal) && other.as_literal().is_some());
    if !comparable {
        return None;
    }
    if has_date(temporal) || has_date(other_type) {
        Some(SqlType::DateTime { fsp: 6 })
    } else {
        Some(SqlType::Time { fsp: 6 })
    }
}
